// Package bundled provides all bundled locks: those of package subjects on ZooKeeper, and those on
// Redis and SQL databases, which need clients that the users of Interlock's packages do not.
package bundled

import (
	"slices"

	"github.com/interlock-sim/interlock/cmd/bundled/redislocks"
	"github.com/interlock-sim/interlock/cmd/bundled/sqllocks"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// All returns the bundled locks, the production one first.
func All() []scenarios.Subject {
	return slices.Concat(subjects.All(), redislocks.All(), sqllocks.All())
}

// Named returns the bundled lock with the name, as [subjects.Find] does.
func Named(name string) (scenarios.Subject, error) { return subjects.Find(name, All()) }
