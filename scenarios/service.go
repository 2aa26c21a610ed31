package scenarios

import (
	"reflect"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/zookeeper"
	"github.com/interlock-sim/interlock/sim"
)

// adapter is the prefix of the full names of this package's functions.
var adapter = reflect.TypeFor[Scenario]().PkgPath() + "."

// EffectiveService returns what the lock uses: its Service, or else ZooKeeper. Functions of this
// package belong to the simulation.
func (s *Subject) EffectiveService() sim.Service {
	if s.Service == nil {
		return zookeeper.Service{Sequence: s.Sequence, Adapter: adapter}
	}
	return service{s.Service}
}

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
