package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestBeliefExclusion(t *testing.T) {
	const two = "a process entered its critical section while another was inside"
	const enter, leave, lost, crashed = history.Enter, history.Leave, history.Lost, history.Crashed
	judge(t, history.ClientMutualExclusion, check.ClientMutualExclusion, []verdict{
		{name: "nothing"},
		{name: "two inside", reason: two, event: 1, events: []history.Event{
			on(enter, 1),
			on(enter, 2),
		}},
		{name: "another left", reason: two, event: 2, events: []history.Event{
			on(enter, 1), on(leave, 2),
			on(enter, 3),
		}},
		{name: "another lost", reason: two, event: 2, events: []history.Event{
			on(enter, 1), on(lost, 2),
			on(enter, 3),
		}},
		{name: "another crashed", reason: two, event: 2, events: []history.Event{
			on(enter, 1),
			on(crashed, 2), on(enter, 2),
		}},
		{
			name: "notified after the other entered", reason: two, event: 1,
			events: []history.Event{on(enter, 1), on(enter, 2), on(lost, 1)},
		},
		{name: "enters again", events: []history.Event{on(enter, 1), on(enter, 1)}},
		{name: "left", events: []history.Event{on(enter, 1), on(leave, 1), on(enter, 2)}},
		{name: "notified of the loss", events: []history.Event{
			on(enter, 1), on(lost, 1), on(enter, 2),
			on(leave, 1), on(leave, 2),
		}},
		{name: "crashed", events: []history.Event{on(enter, 1), on(crashed, 1), on(enter, 2)}},
		{
			name: "notified of the loss, and the next is inside", reason: two, event: 4,
			events: []history.Event{
				on(enter, 1), on(lost, 1), on(enter, 2), on(leave, 1), on(enter, 1),
			},
		},
	})
}
