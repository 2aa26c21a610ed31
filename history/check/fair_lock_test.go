package check_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

func TestLegalHistories(t *testing.T) {
	var c check.Checker
	rapid.Check(t, func(t *rapid.T) {
		fair := eventtest.PlayFairLock(t, true)
		events := fair.Events
		for range 2 {
			for _, p := range check.Properties() {
				if v := c.Check(p, events); v != nil {
					t.Fatalf("%+v in\n%v", *v, events)
				}
			}
			fair.Finish()
			events = fair.Events
		}
	})
}

// TestIllegalGrants uses the lock legally until one process holds it and all others wait, and then
// grants it to one of them.
func TestIllegalGrants(t *testing.T) {
	var c check.Checker
	rapid.Check(t, func(t *rapid.T) {
		fair := eventtest.PlayFairLock(t, false)
		queue := fair.QueueAll()
		place := rapid.IntRange(1, len(queue)-1).Draw(t, "place")
		at := len(fair.Events)
		fair.GrantAnyway(queue[place])
		want := map[history.Property]int{
			history.ServerMutualExclusion: at, history.Linearizable: at,
			history.ClientMutualExclusion: at + 1,
		}
		if place > 1 {
			want[history.FIFO] = at
		}
		for _, property := range check.Properties() {
			v := c.Check(property, fair.Events)
			event, wanted := want[property]
			switch {
			case v != nil && !wanted:
				t.Logf("%v", fair.Events)
				t.Fatalf("add %s to want if this illegal grant breaks it: %+v", property, *v)
			case wanted && (v == nil || v.Event != event):
				t.Logf("%v", fair.Events)
				t.Fatalf("%s: %+v, want a violation at %d", property, v, event)
			}
		}
	})
}
