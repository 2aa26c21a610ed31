package scenarios

import (
	"context"
	"reflect"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/conversion"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/zookeeper"
	"github.com/interlock-sim/interlock/sim"
)

func init() {
	conversion.Subject = func(subject any) engine.Subject {
		s := subject.(Subject)
		return s.engine()
	}
	conversion.Scenario = func(scenario any) engine.Scenario {
		s := scenario.(Scenario)
		return s.engine()
	}
}

// engine returns the scenario for the engine, which knows nothing of ZooKeeper.
func (s *Scenario) engine() engine.Scenario {
	return engine.Scenario{
		Subject: s.Subject.engine(), Clients: s.Clients, Cycles: s.Cycles, Faults: s.Faults,
		Client: engine.ClientKind(s.Client), Severity: s.Severity, Servers: s.servers(),
	}
}

// servers returns the number of servers that the scenario sets, or else that the lock needs. One
// server is 0, as in scenarios that set none.
func (s *Scenario) servers() int {
	if s.Servers == 0 && s.Subject.Servers > 1 {
		return s.Subject.Servers
	}
	return s.Servers
}

// adapter is the prefix of the full names of this package's functions.
var adapter = reflect.TypeFor[Scenario]().PkgPath() + "."

// A service is a service other than ZooKeeper.
type service struct{ sim.Service }

// OwnsFrame reports whether a function belongs to the service or to this package.
func (s service) OwnsFrame(function string) bool {
	return strings.HasPrefix(function, adapter) || s.Service.OwnsFrame(function)
}

// Guarantees returns what the service guarantees. See [sim.Guarantor].
func (s service) Guarantees() []history.Property {
	if guarantor, ok := s.Service.(sim.Guarantor); ok {
		return guarantor.Guarantees()
	}
	return nil
}

// engine returns the lock for the engine.
func (s *Subject) engine() engine.Subject {
	subject := engine.Subject{
		Name: s.Name, Summary: s.Summary, Claims: s.Claims, Severity: s.Severity, Real: s.Real,
		Limits: s.Limits, Guard: engine.Guard(s.Guard), Sometimes: s.Sometimes,
		Service: zookeeper.Service{Sequence: s.Sequence, Adapter: adapter},
	}
	if s.Service != nil {
		subject.Service = service{s.Service}
	}
	if open := s.Open; open != nil {
		subject.Open = func(e *engine.Environment) (engine.Locker, error) {
			locker, err := open(newProcess(e))
			if locker == nil || err != nil {
				return nil, err
			}
			return engineLocker{locker}, nil
		}
	}
	return subject
}

// An engineLocker is a handle on a lock for the engine.
type engineLocker struct{ locker Locker }

// Lock waits until the process holds the lock.
func (l engineLocker) Lock(ctx context.Context) (*engine.Hold, error) {
	hold, err := l.locker.Lock(ctx)
	return hold.engine(), err
}

// engine returns the hold for the engine.
func (h *Hold) engine() *engine.Hold {
	if h == nil {
		return nil
	}
	hold := &engine.Hold{
		Unlock: h.Unlock, Done: h.Done, Node: h.Node, Token: h.Token,
		Resource: (*engine.Resource)(h.Resource), Until: h.Until, Extend: h.Extend,
	}
	if reenter := h.Reenter; reenter != nil {
		hold.Reenter = func(ctx context.Context) (*engine.Hold, error) {
			again, err := reenter(ctx)
			return again.engine(), err
		}
	}
	return hold
}
