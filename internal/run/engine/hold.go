package engine

import (
	"context"
	"time"
)

// A Locker is one process's handle on the lock under test.
type Locker interface {
	// Lock waits until the process holds the lock. The context ends when the run does.
	Lock(context.Context) (*Hold, error)
}

// A SharedLocker is a handle on a lock that attempts may share; see [Subject.Shared].
type SharedLocker interface {
	Locker
	// LockShared is as Lock for an attempt that shares the lock.
	LockShared(context.Context) (*Hold, error)
}

// An Observer is a handle on an election, which also shows who leads.
type Observer interface {
	Locker
	// Observe observes the election for a while. A process calls it at the beginning of each
	// attempt, and in its critical section.
	Observe(ctx context.Context, saw func(Leader))
}

// A Leader is the leader of an election as an observer sees it.
type Leader struct {
	Term int64  // the fencing token of the term; 0 if nobody leads
	Node string // the path of the leader's znode
	Name string // the name of the leader's process
}

// A Hold is a lock that a process holds. Only Unlock is required.
type Hold struct {
	Unlock func(context.Context) error

	Done <-chan struct{} // closed when the lock is lost; nil if the lock does not report a loss
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
