package everylock

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A Contact is the access of a process to a service: a request, and the events of its client, if it
// has such.
type Contact struct {
	Request func() error
	Events  <-chan zk.Event
}

// A ContactKind is a kind of client, as code of a process uses it.
type ContactKind struct {
	Name    string
	Service sim.Service // nil for ZooKeeper
	Client  scenarios.ClientKind
	Open    func(*scenarios.Process) Contact
}

// crashing returns a lock without contention whose processes do in a loop what a behaviour does
// once, and also request in a loop without a pause. None of them expects a request to fail.
func crashing(kind ContactKind, behaviour func(Contact) func()) scenarios.Subject {
	return scenarios.Subject{
		Name: "crashing", Service: kind.Service, Claims: []history.Property{history.Progress},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			c := kind.Open(p)
			insist := func(context.Context) error {
				for c.Request() != nil {
				}
				return nil
			}
			var stopped atomic.Bool
			act := behaviour(Contact{Events: c.Events, Request: func() error {
				if err := c.Request(); !stopped.Load() {
					return err
				}
				return nil
			}})
			go func() {
				for !stopped.Load() && act != nil {
					act()
				}
			}()
			return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
				return &scenarios.Hold{Unlock: func(ctx context.Context) error {
					stopped.Store(true)
					return insist(ctx)
				}}, insist(ctx)
			}), nil
		},
	}
}

// CrashedProcess tests that what the code of a crashed process does is not judged: its calls do not
// return, whatever loop they are in, and it gets no events.
func CrashedProcess(t *testing.T, kinds []ContactKind) {
	t.Helper()
	behaviours := map[string]func(Contact) func(){
		"retries": func(Contact) func() { return nil },
		"polls": func(c Contact) func() {
			return func() {
				time.Sleep(300 * time.Millisecond)
				c.Request()
			}
		},
		"panics": func(c Contact) func() {
			return func() {
				time.Sleep(300 * time.Millisecond)
				if err := c.Request(); err != nil {
					panic(err)
				}
			}
		},
		"events": func(c Contact) func() {
			if c.Events == nil {
				return nil
			}
			return func() {
				for range c.Events {
				}
				c.Request()
			}
		},
	}
	for _, kind := range kinds {
		for name, behaviour := range behaviours {
			t.Run(kind.Name+"/"+name, func(t *testing.T) {
				s := &scenarios.Scenario{
					Subject: crashing(kind, behaviour), Clients: 2, Cycles: 1, Client: kind.Client,
				}
				s.Faults.Add(faults.Entry{Kind: faults.Crash, Left: 1})
				// At the end of a run, connections to services other than ZooKeeper fail.
				engine.KeepStopped = name == "panics" && kind.Service != nil
				defer func() { engine.KeepStopped = false }()
				runner, crashes := engine.NewRunner(t), 0
				for schedule := range long.Count(40, 1000) {
					result := runner.Run(s, strategy.NewRandom(1, schedule))
					crashes += result.Coverage.Total(faults.Crash)
					if len(result.Violations) > 0 {
						t.Fatalf("schedule %d: %s", schedule, result.Describe(s))
					}
				}
				if crashes == 0 {
					t.Error("no process crashes")
				}
			})
		}
	}
}
