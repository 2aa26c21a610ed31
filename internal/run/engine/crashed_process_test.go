package engine_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/internal/testkit/everylock"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/dial"
)

func contactKinds() []everylock.ContactKind {
	conn := func(p *scenarios.Process) everylock.Contact {
		if c := p.Client; c != nil {
			return everylock.Contact{
				Request: func() error { _, _, err := c.Exists("/lock"); return err },
				Events:  c.Events(),
			}
		}
		own, events, err := zk.Connect(p.Servers(), time.Second,
			zk.WithDialer(func(network, address string, limit time.Duration) (net.Conn, error) {
				return dial.Dial(nil, network, address, limit)
			}), zk.WithLogInfo(false), zk.WithLogger(silent{}))
		if err != nil {
			panic(err)
		}
		context.AfterFunc(p.Context(), own.Close)
		return everylock.Contact{Request: func() error {
			if err := dial.Call(p.Address()); err != nil { // as patched libraries do
				return err
			}
			defer dial.Return(p.Address())
			_, _, err := own.Exists("/lock")
			return err
		}, Events: events}
	}
	return []everylock.ContactKind{
		{Name: "model", Client: scenarios.Model, Open: conn},
		{Name: "real", Client: scenarios.Real, Open: conn},
		{Name: "dialed", Client: scenarios.Dialed, Open: conn},
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// What the code of a crashed process does is not judged.
func TestCrashedProcess(t *testing.T) { everylock.CrashedProcess(t, contactKinds()) }
