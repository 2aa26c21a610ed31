package engine_test

import (
	"context"
	"net"
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
	"github.com/interlock-sim/interlock/sim/simredis"
	"github.com/interlock-sim/interlock/sim/simsql"
	"github.com/interlock-sim/interlock/simzk/dial"
)

// A contact is the access of a process to a service: a request, and the events of its client, if it
// has such.
type contact struct {
	request func() error
	events  <-chan zk.Event
}

// A contactKind is a kind of client, as code of a process uses it.
type contactKind struct {
	name    string
	service sim.Service // nil for ZooKeeper
	client  scenarios.ClientKind
	open    func(*scenarios.Process) contact
}

func contactKinds() []contactKind {
	conn := func(p *scenarios.Process) contact {
		if c := p.Client; c != nil {
			return contact{func() error { _, _, err := c.Exists("/lock"); return err }, c.Events()}
		}
		own, events, err := zk.Connect(p.Servers(), time.Second,
			zk.WithDialer(func(network, address string, limit time.Duration) (net.Conn, error) {
				return dial.Dial(nil, network, address, limit)
			}), zk.WithLogInfo(false), zk.WithLogger(silent{}))
		if err != nil {
			panic(err)
		}
		context.AfterFunc(p.Context(), own.Close)
		return contact{func() error {
			if err := dial.Call(p.Address()); err != nil { // as patched libraries do
				return err
			}
			defer dial.Return(p.Address())
			_, _, err := own.Exists("/lock")
			return err
		}, events}
	}
	return []contactKind{
		{"model", nil, scenarios.Model, conn},
		{"real", nil, scenarios.Real, conn},
		{"dialed", nil, scenarios.Dialed, conn},
		{"redis", simredis.Service{}, scenarios.Model, func(p *scenarios.Process) contact {
			c := p.Handle.(*simredis.Client).Redis(0)
			return contact{request: func() error { return c.Set(context.Background(), "k", 1, 0).Err() }}
		}},
		{"sql", simsql.Service{Schema: "CREATE TABLE t (n INT)"}, scenarios.Model, func(p *scenarios.Process) contact {
			db := p.Handle.(*simsql.Client).DB()
			return contact{request: func() error {
				_, err := db.Exec("UPDATE t SET n = 1")
				return err
			}}
		}},
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// crashing returns a lock without contention whose processes do in a loop what a behaviour does
// once, and also request in a loop without a pause. None of them expects a request to fail.
func crashing(kind contactKind, behaviour func(contact) func()) scenarios.Subject {
	return scenarios.Subject{
		Name: "crashing", Service: kind.service, Claims: []history.Property{history.Progress},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			c := kind.open(p)
			insist := func(context.Context) error {
				for c.request() != nil {
				}
				return nil
			}
			var stopped atomic.Bool
			act := behaviour(contact{events: c.events, request: func() error {
				if err := c.request(); !stopped.Load() {
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

// What the code of a crashed process does is not judged: its calls do not return, whatever loop they
// are in, and it gets no events.
func TestCrashedProcess(t *testing.T) {
	behaviours := map[string]func(contact) func(){
		"retries": func(contact) func() { return nil },
		"polls": func(c contact) func() {
			return func() {
				time.Sleep(300 * time.Millisecond)
				c.request()
			}
		},
		"panics": func(c contact) func() {
			return func() {
				time.Sleep(300 * time.Millisecond)
				if err := c.request(); err != nil {
					panic(err)
				}
			}
		},
		"events": func(c contact) func() {
			if c.events == nil {
				return nil
			}
			return func() {
				for range c.events {
				}
				c.request()
			}
		},
	}
	for _, kind := range contactKinds() {
		for name, behaviour := range behaviours {
			t.Run(kind.name+"/"+name, func(t *testing.T) {
				s := &scenarios.Scenario{
					Subject: crashing(kind, behaviour), Clients: 2, Cycles: 1, Client: kind.client,
				}
				s.Faults.Of[faults.Crash] = 1
				// At the end of a run, connections to these services fail.
				engine.KeepStopped = name == "panics" && (kind.name == "redis" || kind.name == "sql")
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
