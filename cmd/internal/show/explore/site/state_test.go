package site_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/internal/show/page"
	"github.com/interlock-sim/interlock/scenarios"
)

// nameless is a lock whose holds do not name their nodes.
type nameless struct{ scenarios.Locker }

func (l nameless) Lock(ctx context.Context) (*scenarios.Hold, error) {
	h, err := l.Locker.Lock(ctx)
	if h != nil {
		h.Node = ""
	}
	return h, err
}

// A state and its page show by which node a process holds the lock as checkers derive it, even if
// the lock does not say so.
func TestNodeThatTheLockDoesNotName(t *testing.T) {
	s := newScenario(t, "textbook", 1, "expire=1")
	open := s.Subject.Open
	s.Subject.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		l, err := open(p)
		return nameless{l}, err
	}
	e, ctx := exploring(t, s, ""), t.Context()
	state := must(t)(e.At(ctx, explore.Path{}))
	for !state.Ended && !state.Processes[0].Inside {
		state = must(t)(e.Choose(ctx, state.Path, usual(t, state).Step))
	}
	if p := state.Processes[0]; p.Node != "c1#0" || !p.NodeLive {
		t.Errorf("c1: %+v", p)
	}
	shown := slices.ContainsFunc(state.Page.Steps, func(s page.Step) bool {
		return s.Change != nil && slices.ContainsFunc(s.Change.Processes,
			func(p page.ProcessState) bool { return p.Belief == page.Holds && p.Node != nil })
	})
	if !shown {
		t.Error("the page shows no node")
	}
	state = must(t)(e.Choose(ctx, state.Path, step(t, "expire c1")))
	for !state.Ended && len(state.System.Sessions) > 0 {
		state = must(t)(e.Choose(ctx, state.Path, step(t, "tick")))
	}
	if p := state.Processes[0]; p.Node != "c1#0" || p.NodeLive ||
		!strings.Contains(p.Text, "that znode is gone") {
		t.Errorf("after the end of its session, c1: %+v", p)
	}
}
