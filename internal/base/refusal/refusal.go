// Package refusal refuses code that Interlock does not control, by panics. What such code does says
// nothing about a lock.
package refusal

import "fmt"

// Mark begins the message of each panic.
const Mark = "interlock does not control "

// OtherRun is the owner of the goroutines of other runs.
const OtherRun = -1

// Libraries says which ZooKeeper clients code may open itself.
const Libraries = "use github.com/go-zookeeper/zk or its forks samuel/go-zookeeper and " +
	"z-division/go-zookeeper under their own paths, or Process.Client"

// Unreached refuses code whose ZooKeeper client, if it has one, dials outside the simulation.
const Unreached = Mark + "the ZooKeeper client of the lock: none reached the simulated servers; " +
	"connect to Process.Servers and " + Libraries

// Outside refuses code that waits for a channel that no run has made.
const Outside = Mark + "a channel made outside of the run: let Subject.Open make it, and keep it " +
	"in no package's variable"

// DemandOwn refuses a goroutine that uses the connection of another process. Owner returns the
// number of the process that the calling goroutine belongs to, 0 if it is unknown, or [OtherRun].
// Owner may be nil.
func DemandOwn(owner func() int, process int) {
	if owner == nil {
		return
	}
	switch user := owner(); user {
	case 0, process:
	case OtherRun:
		Stale()
	default:
		panic(fmt.Sprintf("%sa connection that c%d uses and that belongs to c%d%s", Mark, user,
			process, instead))
	}
}

// Stale refuses a goroutine that uses a connection of another run.
func Stale() { panic(Mark + "a connection that is used in another run than its own" + instead) }

// instead says what to do.
const instead = ": let Subject.Open make or take a connection anew for each process, and keep it " +
	"in no package's variable"
