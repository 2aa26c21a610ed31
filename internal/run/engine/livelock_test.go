package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
)

// A livelock leads before the call that does not return because of it, unless the call is what was
// recorded. Its report is bounded, and does not say that the process has stopped.
func TestLivelockLeads(t *testing.T) {
	s := scenarios.Scenario{Clients: 1, Cycles: 1, Subject: scenarios.Subject{
		Name: "busy", Claims: []history.Property{history.Progress, history.NoLivelock},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			return scenarios.Mutex(func(ctx context.Context) error {
				for ctx.Err() == nil {
					node, err := p.Client.Create(p.Directory+"/n-", nil,
						zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
					if err != nil {
						return err
					}
					p.Client.Children(p.Directory)
					p.Client.Delete(node, -1)
				}
				return ctx.Err()
			}, func(context.Context) error { return nil }), nil
		},
	}}
	r := engine.NewRunner(t).Run(&s, &engine.Replay{})
	if !r.Fails(&s) || len(r.Violations) != 2 || r.Violations[0].Property != history.NoLivelock {
		t.Fatalf("violations %v, want no-livelock and progress", r.Violations)
	}
	text := r.Describe(&s)
	if n := strings.Count(text, "\n"); n > 250 || !strings.Contains(text, "… events left out: ") ||
		!strings.Contains(text, "It still sends requests: ") {
		t.Errorf("%d lines, want at most 250:\n%.9000s", n, text)
	}
	r.Lead(&s, r.Violations[1].Signature())
	if r.Violations[0].Property != history.Progress {
		t.Errorf("violations %v, want progress first, as recorded", r.Violations)
	}
}
