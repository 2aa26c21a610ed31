package strategy

import (
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/sim"
)

// The smallest margins are kept, each once. A margin is added if it is new and small enough.
func TestNearMisses(t *testing.T) {
	var near nearMisses
	var want []time.Duration
	for i := range time.Duration(nearMissesMax) {
		var added bool
		if near, added = near.with(&nearMiss{margin: 10 * i}); !added {
			t.Errorf("the margin %v was not added", 10*i)
		}
		want = append(want, 10*i)
	}
	for _, test := range []struct {
		margin time.Duration
		added  bool
	}{{20, false}, {10 * nearMissesMax, false}, {15, true}, {15, false}, {-1, true}} {
		before := slices.Clone(near)
		after, added := near.with(&nearMiss{margin: test.margin})
		if added != test.added {
			t.Errorf("margin %v: added %v", test.margin, added)
		}
		if !slices.Equal(near, before) {
			t.Errorf("margin %v: the receiver has changed", test.margin)
		}
		near = after
	}
	want = slices.Insert(slices.Insert(want, 2, 15), 0, -1)[:nearMissesMax]
	var got []time.Duration
	for _, n := range near {
		got = append(got, n.margin)
	}
	if !slices.Equal(got, want) {
		t.Errorf("margins %v, want %v", got, want)
	}
}

// A strategy that finds near misses gets more turns in later rounds, and their configuration more
// schedules.
func TestNearMissesAreNewBehaviour(t *testing.T) {
	profile := &Profile{Shifts: []sim.Step{{}}}
	later := func(finds bool) (turns int, share float64) {
		r := NewRounds(PortfolioName, []Configuration{{profile, 1}, {profile, 1}}, 1, nil)
		for schedule := range roundSchedules {
			shown := Feedback{steps: 1, tried: -1}
			configuration, name := r.Turn(schedule)
			switch {
			case name != MarginName:
				shown.behaviours = []uint64{uint64(schedule)}
			case finds && configuration == 1:
				shown.near = &nearMiss{margin: time.Duration(-schedule)}
			}
			r.Count(schedule, shown)
		}
		next := r.round(roundsAhead * roundSchedules)
		for _, at := range next.configurations[1].turns {
			if r.scores[1].strategies[at].name == MarginName {
				turns++
			}
		}
		return turns, next.shares[1]
	}
	turns, share := later(false)
	if more, larger := later(true); more <= turns || larger <= share {
		t.Errorf("with near misses %d turns and a share of %.2f, without %d and %.2f", more, larger,
			turns, share)
	}
}
