package history_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

func logOf(events ...history.Event) *history.Log {
	log := new(history.Log)
	for _, e := range events {
		log.Append(e)
	}
	return log
}

// full has a nonzero value in every field, as the tests verify.
var full = history.Event{
	At: 1, Relaxes: true, MayEndLock: true, Kind: history.WatchFired, Process: 2, Attempt: 3, Request: 4, Watch: 5,
	Connection: 12, Server: 8, Peer: 10, Bytes: 9, Zxid: 6, Session: 7,
	Op: "op", Path: "/päth", Name: "name\n", Err: `"err"`,
	Validity: 11,
	Ago:      3, Facts: &history.Facts{
		Line:     "billing/lock.go:42",
		Children: []history.Child{{Name: "n-1", Process: 1, Live: true}},
	},
}

func TestLogRoundTrip(t *testing.T) {
	log := logOf(full)
	for kind := history.LockCall; kind < history.Kinds; kind++ {
		log.Append(history.Event{Kind: kind})
	}
	var file bytes.Buffer
	if err := log.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, err := history.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read.Events(), log.Events()) {
		t.Errorf("read %+v, wrote %+v", read.Events(), log.Events())
	}
	if read.Hash() != log.Hash() {
		t.Error("what was read has another hash than what was written")
	}
}

func TestReadSkipsUnknownFields(t *testing.T) {
	log, err := history.Read(strings.NewReader(`{"at_ns":1,"kind":"tick","colour":"red"}`))
	if err != nil || log.Len() != 1 ||
		log.Events()[0] != (history.Event{At: 1, Kind: history.Tick}) {
		t.Errorf("log %+v, error %v", log, err)
	}
}

func TestReadError(t *testing.T) {
	const good = `{"at_ns":0,"kind":"tick"}` + "\n"
	for _, test := range []struct{ name, file, want string }{
		{"no JSON", good + good + "nonsense\n", "line 3: "},
		{"empty line", good + "\n", "line 2: "},
		{"unknown kind", good + `{"kind":"tock"}`, `line 2: unknown kind of event "tock"`},
		{"no kind", `{"at_ns":1}`, "line 1: no kind of event"},
		{"wrong type", good + `{"kind":"tick","zxid":"x"}`, "line 2: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			log, err := history.Read(strings.NewReader(test.file))
			if log != nil || err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("log %v, error %v, want %q", log, err, test.want)
			}
		})
	}
}

// A process can die while it writes an event.
func TestReadTornLine(t *testing.T) {
	const good = `{"at_ns":0,"kind":"tick"}` + "\n"
	for _, torn := range []string{`{`, `{"at_ns":1,"ki`, `{"at_ns":1,"kind":"tick"`} {
		log, err := history.Read(strings.NewReader(good + torn))
		if !errors.Is(err, history.ErrTorn) || !strings.HasPrefix(err.Error(), "line 2: ") ||
			log.Len() != 1 {
			t.Errorf("%s: log %v, error %v", torn, log, err)
		}
		if _, err := history.Read(strings.NewReader(good + torn + "\n" + good)); err == nil ||
			errors.Is(err, history.ErrTorn) {
			t.Errorf("%s and another line: error %v", torn, err)
		}
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteError(t *testing.T) {
	if err := logOf(full).Write(broken{}); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

func TestHash(t *testing.T) {
	log := logOf(full, full)
	base := log.Hash()
	if again := logOf(full, full).Hash(); again != base || log.Hash() != base {
		t.Error("equal logs have different hashes")
	}
	for i := range reflect.TypeFor[history.Event]().NumField() {
		e := full
		field := reflect.ValueOf(&e).Elem().Field(i)
		if field.IsZero() {
			t.Fatalf("the test's event lacks field %d", i)
		}
		eventtest.Alter(field)
		name := reflect.TypeFor[history.Event]().Field(i).Name
		if slices.Contains([]string{"Facts", "Ago", "MayEndLock"}, name) {
			if logOf(full, e).Hash() != base {
				t.Errorf("%s counts", name)
			}
		} else if logOf(full, e).Hash() == base {
			t.Errorf("field %s does not count", reflect.TypeFor[history.Event]().Field(i).Name)
		}
	}
	moved := full
	moved.Op, moved.Path = full.Op+full.Path[:1], full.Path[1:]
	swapped := logOf(full, moved).Hash() == logOf(moved, full).Hash()
	if swapped || logOf(full, moved).Hash() == base || logOf(full).Hash() == base {
		t.Error("order, length or the bounds of fields do not count")
	}
}

func TestLogReset(t *testing.T) {
	log := logOf(full)
	log.Reset()
	if log.Len() != 0 || len(log.Events()) != 0 || log.Hash() != new(history.Log).Hash() {
		t.Error("a reset log is not empty")
	}
}

func TestKindText(t *testing.T) {
	if got := history.Kind(200).String(); got != "kind(200)" {
		t.Errorf("got %q", got)
	}
	seen := make(map[string]bool)
	for kind := history.LockCall; kind <= history.ResourceWrite; kind++ {
		text, err := kind.MarshalText()
		if err != nil || len(text) == 0 || seen[string(text)] {
			t.Errorf("kind %d: text %q, error %v", kind, text, err)
		}
		seen[string(text)] = true
	}
}

// A log truncated to a mark has the events and the hash of a log that was never longer.
func TestMarks(t *testing.T) {
	var log history.Log
	event := func(i int) history.Event {
		return history.Event{
			Kind: history.Send, Process: int32(i),
			Path: "/lock",
		}
	}
	var marks []history.Mark
	for i := range 5 {
		marks = append(marks, log.Mark())
		log.Append(event(i))
		log.Append(event(10 + i))
	}
	for n := len(marks) - 1; n >= 0; n-- {
		log.Return(marks[n])
		want := history.NewLog(slices.Clone(log.Events()))
		if log.Len() != 2*n || log.Hash() != want.Hash() {
			t.Errorf("mark %d: %d events with hash %x, want %d and %x", n, log.Len(), log.Hash(),
				2*n,
				want.Hash())
		}
		log.Append(event(20))
		want.Append(event(20))
		if log.Hash() != want.Hash() {
			t.Errorf("mark %d: hash %x after one more event, want %x", n, log.Hash(), want.Hash())
		}
	}
}
