package strategy

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// follow lets a timing decide among steps that stay enabled, and returns the steps of one decision
// after the other.
func follow(t *timing, decisions int, enabled ...sim.Step) (steps []sim.Step) {
	m := &Margin{timing: t, strikes: slices.Clone(t.strikes)}
	var listed []sim.EnabledStep
	for i, step := range enabled {
		listed = append(listed, sim.EnabledStep{Step: step, Age: uint64(i)})
	}
	for range decisions {
		steps = append(steps, engine.Chosen(m.Choose(0, listed, 0), listed))
	}
	return steps
}

func TestTimingDecides(t *testing.T) {
	serve1, serve2 := sim.Step{Process: 1}, sim.Step{Process: 2}
	tick := sim.Step{Kind: sim.Tick}
	cut := serve1.StruckBy(faults.Cut)
	for name, test := range map[string]struct {
		timing  timing
		enabled []sim.Step
		want    []sim.Step
	}{
		"nothing is held back": {
			timing{}, []sim.Step{serve1, serve2, tick}, []sim.Step{serve1, serve1, serve1},
		},
		"a delay holds back the thread that comes next": {
			timing{delays: []delay{{messages: 1, lasts: 1}}},
			[]sim.Step{serve1, serve2, tick},
			[]sim.Step{serve1, serve2, serve2},
		},
		"a delay ends": {
			timing{delays: []delay{{messages: 1, lasts: 2}}},
			[]sim.Step{serve1, tick},
			[]sim.Step{serve1, tick, tick, serve1},
		},
		"a fault waits for messages": {
			timing{strikes: []strike{{messages: 2}}},
			[]sim.Step{serve1, tick, cut},
			[]sim.Step{serve1, serve1, cut, serve1},
		},
		"a fault strikes before time passes": {
			timing{strikes: []strike{{time: 1, messages: 2, passes: sim.Before}}},
			[]sim.Step{tick, cut},
			[]sim.Step{{Kind: sim.Before}, cut, tick},
		},
		"a fault waits for the section": {
			timing{strikes: []strike{{section: 1}}},
			[]sim.Step{serve1, tick, cut},
			[]sim.Step{serve1, serve1, serve1},
		},
		"an effect lasts": {
			timing{strikes: []strike{{lasts: 1}}},
			[]sim.Step{{Kind: sim.Heal, Process: 1}, tick, cut},
			[]sim.Step{cut, tick, {Kind: sim.Heal, Process: 1}},
		},
	} {
		if got := follow(&test.timing, len(test.want), test.enabled...); !slices.Equal(got,
			test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A process is kept for its stay, and leaves then.
func TestTimingKeepsInside(t *testing.T) {
	m := &Margin{timing: &timing{stays: [sections]uint8{1: 2}}}
	tick := sim.EnabledStep{Step: sim.Step{Kind: sim.Tick}}
	m.Choose(0, []sim.EnabledStep{{Step: sim.Step{Kind: sim.Enter, Process: 1}}, tick}, 0)
	inside := []sim.EnabledStep{{Step: sim.Step{Kind: sim.Leave, Process: 1}}, tick}
	var got []int
	for range 3 {
		got = append(got, m.Choose(0, inside, 0))
	}
	if want := []int{1, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("chosen %v, want %v", got, want)
	}
}

// A mutation leaves its parent as it was, and stays within the bounds of what is drawn.
func TestMutatedTimings(t *testing.T) {
	p := &Profile{Shifts: make([]sim.Step, 3)}
	draw := NewRandom(1, 0)
	parent := drawTiming(draw, p)
	changed := 0
	for range 2000 {
		before := *parent
		before.phases = slices.Clone(parent.phases)
		before.strikes, before.delays = slices.Clone(parent.strikes), slices.Clone(parent.delays)
		child := parent.mutated(draw)
		if !equalTimings(parent, &before) {
			t.Fatalf("the parent is %+v, was %+v", parent, before)
		}
		if !equalTimings(child, parent) {
			changed++
		}
		for _, phase := range child.phases {
			if phase >= sim.PhaseParts {
				t.Fatalf("phase %d of %d", phase, sim.PhaseParts)
			}
		}
		for _, s := range child.strikes {
			if s.time >= timeMax || s.section == 0 || s.section > sectionsDrawn {
				t.Fatalf("%+v", s)
			}
		}
		for _, d := range child.delays {
			if d.lasts >= lateMax || d.messages >= messagesMax || len(child.delays) > delaysMax {
				t.Fatalf("%+v", child.delays)
			}
		}
		parent = child
	}
	if changed < 1000 {
		t.Errorf("%d of 2000 mutations changed something", changed)
	}
}

func equalTimings(a, b *timing) bool {
	return a.stays == b.stays && slices.Equal(a.phases, b.phases) &&
		slices.Equal(a.strikes, b.strikes) && slices.Equal(a.delays, b.delays)
}
