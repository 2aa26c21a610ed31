package engine_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
)

// A lock that goes on for ever reaches the bound of a run at any moment, also while an event of a
// watch is on its way on a slow link. That event is not lost.
func TestEventsArriveAtTheBoundOfARun(t *testing.T) {
	open := func(p *scenarios.Process) (scenarios.Locker, error) {
		return scenarios.Mutex(func(context.Context) error {
			for {
				path, err := p.Client.Create("/lock/n", nil, zk.FlagEphemeral|zk.FlagSequence,
					zk.WorldACL(zk.PermAll))
				if err == nil {
					_, _, _, err = p.Client.GetW(path)
				}
				if err == nil {
					err = p.Client.Delete(path, -1)
				}
				if err != nil {
					return err
				}
			}
		}, func(context.Context) error { return nil }), nil
	}
	scenario := scenarios.Scenario{
		Clients: 1, Cycles: 1, Faults: faults.MustParse("slow-link=1"),
		Subject: scenarios.Subject{
			Name: "endless", Open: open, Claims: []history.Property{history.NoLostWatch},
		},
	}
	runner := engine.NewRunner(t)
	for schedule := range 100 {
		for _, v := range runner.Run(&scenario, strategy.NewRandom(1, schedule)).Violations {
			t.Fatalf("schedule %d: %s: %s: %s", schedule, v.Property, v.Reason, v.Detail)
		}
	}
}
