package scenarios

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// A Subject is a lock under test.
type Subject struct {
	Name    string
	Summary string // one line for lists
	// Claims are the properties that the lock promises. No other property is checked, except those
	// that hold for every lock: no process panics, no goroutine outlives the run, and ZooKeeper
	// keeps its promises. [history.QueueLock] and its siblings are common choices.
	Claims []history.Property
	// Severity is the contract: how long pauses may last and how far clocks may drift before the
	// lock no longer promises [history.ClientMutualExclusion]. Default: [faults.DefaultSeverity].
	Severity faults.Severity
	// Service is what the lock uses. Default: ZooKeeper. The processes of a lock on another service
	// use it by [Process.Handle].
	Service sim.Service
	// Servers is how many servers the lock needs. Default: 1.
	Servers int
	// Real says that the lock needs a *zk.Conn, so that it runs only with the real client.
	Real bool
	// Sequence is the number of the first sequential znode in the lock's directory. A lock that is
	// tested across the overflow of sequence numbers, 2^31-1, starts a little below it.
	Sequence int32
	// Limits bound what the lock may cost. Default: [history.DefaultLimits].
	Limits history.Limits
	// Places is how many processes may hold the lock at once, as of a semaphore. Default: 1.
	Places int
	// Shared reports whether an attempt of a process, both from 1, shares the lock with others that
	// do, as a reader. The handle on such a lock is a [SharedLocker]. Default: none does.
	Shared func(process, attempt int) bool
	// Guard says how the resource checks the holders that use it. Default: no resource is used.
	Guard Guard
	// Sometimes are conditions that at least one schedule of a campaign must reach; otherwise the
	// campaign has not tested the lock.
	Sometimes []history.Sometimes
	// Open gives a process its handle on the lock. Each process of each run calls it once, in its
	// own goroutine. If it fails after a fault has struck, the process gives up, with a failed
	// attempt; otherwise the error is a mistake in the scenario.
	Open func(*Process) (Locker, error)
}

// A Guard says how the resource that a lock protects checks its users. Each process that holds the
// lock reads the resource when it enters its critical section, and writes a value based on that
// before it leaves.
type Guard uint8

// The ways to guard a resource.
const (
	NoResource Guard = iota // there is no resource
	// Unguarded lets everybody read and write: only the lock prevents lost updates.
	Unguarded
	// TokenChecked requires a fencing token for each read and write, and refuses one that is lower
	// than the highest it has seen.
	TokenChecked
)

// ErrStaleToken is the error of a resource that is [TokenChecked] and refuses a stale token.
var ErrStaleToken = engine.ErrStaleToken
