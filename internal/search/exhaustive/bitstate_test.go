package exhaustive_test

import (
	"context"
	"testing"
)

// With room for all states, bitstate hashing enters the states that a search which distinguishes
// local histories enters, and does not call itself complete. With little room it omits some, and
// says so.
func TestBitstate(t *testing.T) {
	e := searchOf(t, "textbook", 2, 2, 1, "none")
	e.NoMerge = true
	all := e.Run(context.Background(), t)
	e.Bitstate = 1 << 20
	roomy := e.Run(context.Background(), t)
	if roomy.States != all.States || roomy.Schedules != all.Schedules {
		t.Errorf("%d states in %d schedules, want %d in %d", roomy.States, roomy.Schedules,
			all.States, all.Schedules)
	}
	if roomy.Complete || roomy.Untried > 0 || roomy.Bitstate.Omits() > 0.001 {
		t.Errorf("complete %v, %d steps untried, %+v", roomy.Complete, roomy.Untried,
			roomy.Bitstate)
	}
	e.Bitstate = 1 << 8
	cramped := e.Run(context.Background(), t)
	if cramped.States >= all.States || cramped.Bitstate.Omissions < 1 {
		t.Errorf("%d states, %+v; there are %d", cramped.States, cramped.Bitstate, all.States)
	}
}

func TestBitstateFindsViolations(t *testing.T) {
	e := searchOf(t, "exists-then-wait", 2, 1, 1, "none")
	e.Bitstate = 1 << 20
	if r := e.Run(context.Background(), t); r.Failure == nil {
		t.Error("a broken lock passes")
	}
}
