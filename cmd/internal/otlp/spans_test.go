package otlp_test

import (
	"bufio"
	"errors"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/otlp"
	"github.com/interlock-sim/interlock/history"
)

// document returns a TracesData with an attempt's span, given the attributes of its resource.
func document(resource string) string {
	return `{"resourceSpans":[{"resource":{"attributes":[` + resource + `]},"scopeSpans":[
{"scope":{"name":"github.com/interlock-sim/interlock/lock/lockotel"},"spans":[{"traceId":"ab","spanId":"cd",
"name":"interlock.acquire","startTimeUnixNano":"5","endTimeUnixNano":"9","attributes":[
{"key":"interlock.outcome","value":{"stringValue":"busy"}}],"laterField":1}]}]}]}
`
}

const (
	instance = `{"key":"service.instance.id","value":{"stringValue":"one"}}`
	host     = `{"key":"host.name","value":{"stringValue":"db"}}`
	pid      = `{"key":"process.pid","value":{"intValue":"7"}}`
)

func TestProcesses(t *testing.T) {
	var spans otlp.Spans
	text := document(instance) + document(host+","+pid) + document(instance) +
		strings.ReplaceAll(document(""), "lock/lockotel", "other")
	if err := spans.Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	logs, names, _ := spans.Histories()
	if strings.Join(names, " ") != "one db/7" || logs[0].Len() != 3 || logs[1].Len() != 3 {
		t.Errorf("histories %v of %v", logs, names)
	}
	if e := logs[0].Events()[2]; e.Kind != history.LockReturn || e.Err != "busy" || e.At != 9 {
		t.Errorf("the last event is %+v", e)
	}
}

func TestBadInput(t *testing.T) {
	good := document(instance)
	for _, tc := range []struct{ name, text, err string }{
		{"no process", good + document(host), "line 5: a resource does not identify its process: "},
		{"torn", good + good[:40], "line 5: the last line is incomplete"},
		{"no JSON", good + "spans", "line 5: invalid character"},
		{"another type", `{"resourceSpans":5}`, "line 1: not OTLP JSON: "},
	} {
		var spans otlp.Spans
		err := spans.Read(strings.NewReader(tc.text))
		if err == nil || !strings.HasPrefix(err.Error(), tc.err) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.err)
		}
		if torn := errors.Is(err, history.ErrTorn); torn != (tc.name == "torn") {
			t.Errorf("%s: torn %v", tc.name, torn)
		}
		if logs, _, _ := spans.Histories(); len(logs) != strings.Count(tc.text, instance) {
			t.Errorf("%s: %d histories before the error", tc.name, len(logs))
		}
	}
}

func TestIsJSON(t *testing.T) {
	padded := strings.Repeat(" \n", 100)
	for text, want := range map[string]bool{
		document(instance):                       true,
		padded + "{" + padded + document("")[1:]: true,
		`{"at_ns":1,"kind":"resourceSpans"}`:     false,
		"":                                       false,
		padded:                                   false,
		"{":                                      false,
		"spans":                                  false,
	} {
		if got := otlp.IsJSON(bufio.NewReader(strings.NewReader(text))); got != want {
			t.Errorf("IsJSON(%.30q) = %v", text, got)
		}
	}
}
