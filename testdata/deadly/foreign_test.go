package deadly

import (
	"context"
	"sync"
	"testing"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// shared is a client of the first process that wants one, in whatever run.
var shared struct {
	sync.Mutex
	ask func() error
}

// sharing checks a lock whose processes all use the first one's client.
func sharing(t *testing.T, kind scenarios.ClientKind) {
	interlock.Check(t, scenarios.Scenario{
		Clients: 2, Cycles: 1, Client: kind,
		Subject: scenarios.Subject{
			Name: "sharing", Claims: []history.Property{history.Progress},
			Open: func(p *scenarios.Process) (scenarios.Locker, error) {
				shared.Lock()
				defer shared.Unlock()
				if shared.ask == nil {
					shared.ask = func() error {
						_, _, err := p.Client.Exists(p.Directory)
						return err
					}
				}
				return scenarios.Mutex(shared.ask, shared.ask), nil
			},
		},
	})
}

func TestSharedModel(t *testing.T) { sharing(t, scenarios.Model) }
func TestSharedReal(t *testing.T)  { sharing(t, scenarios.Real) }

// The processes share a channel that the first of them has made.
func TestSharedChannel(t *testing.T) {
	var once sync.Once
	var tokens chan struct{}
	interlock.Check(t, scenarios.Scenario{
		Clients: 2, Cycles: 1,
		Subject: scenarios.Subject{
			Name: "sharing", Claims: []history.Property{history.Progress},
			Open: func(p *scenarios.Process) (scenarios.Locker, error) {
				once.Do(func() { tokens = make(chan struct{}, 2) })
				return scenarios.LockerFunc(func(context.Context) (*scenarios.Hold, error) {
					tokens <- struct{}{}
					return &scenarios.Hold{Unlock: func(context.Context) error {
						<-tokens
						return nil
					}}, nil
				}), nil
			},
		},
	})
}

var outside = make(chan struct{})

// A process waits for a channel of the package.
func TestSharedOutside(t *testing.T) {
	check(t, "outside", func(*scenarios.Process) { <-outside })
}
