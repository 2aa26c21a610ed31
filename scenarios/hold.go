package scenarios

import (
	"context"
	"time"
)

// A Locker is one process's handle on the lock under test.
type Locker interface {
	// Lock waits until the process holds the lock. The context ends when the run does.
	Lock(context.Context) (*Hold, error)
}

// A SharedLocker is a handle on a lock that processes may share, as the readers of a read-write
// lock. [Subject.Shared] says which attempts do.
type SharedLocker interface {
	Locker
	// LockShared waits until the process holds the lock, alone or with others in this mode.
	LockShared(context.Context) (*Hold, error)
}

// A LockerFunc is a function that implements [Locker].
type LockerFunc func(context.Context) (*Hold, error)

// Lock calls the function.
func (f LockerFunc) Lock(ctx context.Context) (*Hold, error) { return f(ctx) }

// An Observer is a handle on an election, which also shows who leads.
type Observer interface {
	Locker
	// Observe observes the election for a while, and passes on each leader that it sees. The
	// process calls it at the beginning of each attempt, whose time and requests include it, and in
	// its critical section. The context is that of the attempt, or ends with the run.
	Observe(ctx context.Context, saw func(Leader))
}

// A Leader is the leader of an election as an observer sees it. Its zero value says that nobody
// leads.
type Leader struct {
	Term int64  // the fencing token of its term
	Node string // the path of its znode
	Name string // the [Process.Name] of the leader
}

// A Hold is a lock that a process holds. Only Unlock is required.
type Hold struct {
	Unlock func(context.Context) error
	Done   <-chan struct{} // closed when the lock is lost; nil if the lock does not report a loss
	// Node is the path of the contender's znode. If it is empty, checkers take the last ephemeral
	// znode that the process created in the attempt.
	Node  string
	Token int64 // the fencing token; 0 if the lock has none
	// Until is the end of the lock's validity time by the process's clock; zero if it has none.
	Until time.Time
	// Extend extends the validity time, and returns its new end; nil if the lock cannot. The holder
	// calls it once, in its critical section, unless Done is closed.
	Extend func(context.Context) (time.Time, error)
	// Reenter acquires the lock again as its owner; nil if the lock is not reentrant.
	Reenter func(context.Context) (*Hold, error)
	// Resource is what the lock protects, if it differs from Subject.Guard.
	Resource *Resource
}

// A Resource is what a lock protects, as one of its holders uses it. [Subject.Guard] selects a
// resource of the engine; a lock with a resource of its own, such as a znode written by guarded
// multis, returns it in its [Hold].
type Resource struct {
	Path string // of the znode; "" if the resource is none
	// Read returns the version; of a znode, the zxid of its last change.
	Read func(context.Context) (int64, error)
	// Write returns the version that it made, 0 if unknown.
	Write func(context.Context) (int64, error)
}
