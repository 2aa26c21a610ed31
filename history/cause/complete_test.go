package cause_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
)

// A hold of c1 while c2 asks for the lock, gives up and asks again. c3 has nothing to do with it.
var held = []history.Event{
	0:  {Kind: history.LockCall, Process: 1, Attempt: 1},
	1:  {Kind: history.LockReturn, Process: 1, Attempt: 1},
	2:  {Kind: history.LockCall, Process: 2, Attempt: 1},
	3:  {Kind: history.LockCall, Process: 3, Attempt: 1},
	4:  {Kind: history.LockReturn, Process: 3, Attempt: 1},
	5:  {Kind: history.Fault, Process: 2, Name: "cut"},
	6:  {Kind: history.LockReturn, Process: 2, Attempt: 1, Err: "no"},
	7:  {Kind: history.UnlockCall, Process: 1, Attempt: 1},
	8:  {Kind: history.UnlockReturn, Process: 1, Attempt: 1},
	9:  {Kind: history.LockCall, Process: 2, Attempt: 2},
	10: {Kind: history.Tick},
	11: {Kind: history.LockReturn, Process: 2, Attempt: 2},
	12: {Kind: history.Finished, Process: 2},
}

func TestComplete(t *testing.T) {
	for _, test := range []struct {
		name        string
		toEnd       bool
		shown, want []int
	}{
		{"nothing", false, nil, nil},
		// c1 has no lane, and c2's first call returns later than the last event.
		{"call without its return", false, []int{2, 5}, []int{2, 5}},
		{"call with its return", false, []int{2, 9}, []int{2, 6, 9}},
		// The lane of c1 shows a hold at event 5: its grant is shown, and its release if in range.
		{"hold", false, []int{0, 5}, []int{0, 1, 5}},
		{"released hold", false, []int{0, 5, 10}, []int{0, 1, 5, 8, 10}},
		{"hold that began before", false, []int{5, 7}, []int{1, 5, 7}},
		// The end of the history shows that c2 has finished.
		{"to the end", true, []int{9}, []int{9, 11, 12}},
		{"after the hold", false, []int{9, 10}, []int{9, 10}},
	} {
		got := cause.New(held).Complete(slices.Clone(test.shown), test.toEnd)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
