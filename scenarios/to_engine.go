package scenarios

import (
	"context"
	"reflect"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/conversion"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/zookeeper"
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
	threads := s.Threads
	if threads == 1 { // One thread is 0, as in scenarios that set none.
		threads = 0
	}
	return engine.Scenario{
		Subject: s.Subject.engine(), Clients: s.Clients, Cycles: s.Cycles, Faults: s.Faults,
		Client: engine.ClientKind(s.Client), Severity: s.Severity, Servers: s.servers(),
		Threads: threads,
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

// Expires reports whether data of the service can expire. See [sim.Expiring].
func (s service) Expires() bool {
	expiring, ok := s.Service.(sim.Expiring)
	return ok && expiring.Expires()
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
		Limits: s.Limits, Places: s.Places, Shared: s.Shared,
		Guard: engine.Guard(s.Guard), Sometimes: s.Sometimes,
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
			if sharing, ok := locker.(SharedLocker); ok {
				return engineSharedLocker{engineLocker{locker}, sharing}, nil
			}
			if observer, ok := locker.(Observer); ok {
				return engineObserver{engineLocker{locker}, observer}, nil
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

// An engineSharedLocker is a handle on a lock that attempts may share.
type engineSharedLocker struct {
	engineLocker
	sharing SharedLocker
}

// LockShared waits until the process shares the lock.
func (l engineSharedLocker) LockShared(ctx context.Context) (*engine.Hold, error) {
	hold, err := l.sharing.LockShared(ctx)
	return hold.engine(), err
}

// An engineObserver is a handle on an election.
type engineObserver struct {
	engineLocker
	observer Observer
}

// Observe observes the election for a while.
func (l engineObserver) Observe(ctx context.Context, saw func(engine.Leader)) {
	l.observer.Observe(ctx, func(leader Leader) { saw(engine.Leader(leader)) })
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
