package guarantee_test

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

var (
	armed       = eventtest.Armed
	changed     = eventtest.Changed
	crash       = eventtest.Crash
	created     = eventtest.Created
	deleted     = eventtest.Deleted
	delivered   = eventtest.Delivered
	expired     = eventtest.Expired
	fired       = eventtest.Fired
	gone        = eventtest.Gone
	notWatching = eventtest.NotWatching
	on          = eventtest.On
	persistent  = eventtest.Persistent
	reply       = eventtest.Reply
	session     = eventtest.Session
	state       = eventtest.State
)

// A verdict is a history and the expected result of a checker.
type verdict struct {
	name   string
	events []history.Event
	reason string // of the violation, empty if there must be none
	event  int    // of the violation
}

func judge(t *testing.T, property history.Property, check func([]history.Event) *history.Violation,
	verdicts []verdict,
) {
	t.Helper()
	for _, want := range verdicts {
		t.Run(want.name, func(t *testing.T) {
			v := check(want.events)
			switch {
			case v == nil && want.reason != "":
				t.Fatalf("no violation, want %q at %d", want.reason, want.event)
			case v == nil:
				return
			case v.Property != property || v.Reason != want.reason || v.Event != want.event:
				t.Fatalf("violation %+v, want %q at %d", *v, want.reason, want.event)
			}
			if strings.ContainsAny(v.Reason, "0123456789/") {
				t.Errorf("the reason %q has specifics", v.Reason)
			}
			if !strings.Contains(v.Detail, "c") || v.Detail == v.Reason {
				t.Errorf("the detail %q has no specifics", v.Detail)
			}
			checkExplained(t, want.events, v)
		})
	}
}

// checkExplained checks that a failure of the ensemble or of the client library is explained by
// more than its reason.
func checkExplained(t *testing.T, events []history.Event, v *history.Violation) {
	t.Helper()
	why := explain.Of(events, []*history.Violation{v}).Whys[0].Text
	if strings.Contains(strings.ToLower(why), v.Reason+":") || !strings.Contains(why, "event") {
		t.Errorf("explained as %q", why)
	}
	if strings.Contains(why, "  ") || strings.Contains(why, "%!") {
		t.Errorf("explained as %q", why)
	}
}
