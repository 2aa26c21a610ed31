package lock

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// The errors that the locks return besides those of the context and of the client.
var (
	// ErrNotAcquired is the error of TryLock, and of TryLockFor, if the lock is not free.
	ErrNotAcquired = errors.New("lock: held by another")

	// ErrUnavailable is the error of TryLock, and of TryLockFor, if ZooKeeper cannot be reached or
	// takes too long to answer. It wraps the cause: the deadline if that came first.
	ErrUnavailable = errors.New("lock: ZooKeeper is unavailable")

	// ErrNotHeld is the error of an operation on a lease that has ended. [ErrLost] wraps it.
	ErrNotHeld = errors.New("lock: not held")

	// ErrLost is the error of a lease that ended before it was unlocked. [Lease.Err] returns an
	// error that wraps it and gives the reason.
	ErrLost = fmt.Errorf("%w: lease lost", ErrNotHeld)

	// ErrUncertain is the error of [Lease.Write] if ZooKeeper may have carried out the write, or
	// may yet. If it does, the lease is valid at that moment.
	ErrUncertain = errors.New("lock: outcome unknown")

	// ErrUpgrade is the error of an owner that holds the lock for reading and requests it for
	// writing. It would wait for itself, and two such owners for each other.
	ErrUpgrade = errors.New("lock: the owner holds the lock for reading and can not have it for " +
		"writing too")
)

// The reasons for which a lease is lost.
var (
	errNodeGone = fmt.Errorf("%w: its node is gone, or belongs to a session that is over",
		ErrLost)
	errSessionOver = fmt.Errorf("%w: %w", ErrLost, errSessionExpired)
	errClosed      = fmt.Errorf("%w: %w", ErrLost, zk.ErrClosing)
	errUnconfirmed = fmt.Errorf("%w: ZooKeeper could not be reached for so long that the session "+
		"may be over", ErrLost)
)

var (
	errUnlocked    = fmt.Errorf("%w: it was unlocked", ErrNotHeld)
	errTenureEnded = errors.New("lock: the tenure has ended")
)
