package lock

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// The errors that the locks return beside those of the context and of the client.
var (
	// ErrNotAcquired is what TryLock returns where it would have to wait.
	ErrNotAcquired = errors.New("lock: held by another")

	// ErrNotHeld is the error of whatever needs a lock that is held, on a lease that has ended.
	// [ErrLost] wraps it.
	ErrNotHeld = errors.New("lock: not held")

	// ErrLost is the error of a lease that has ended without being asked to. What [Lease.Err]
	// returns wraps it and says why.
	ErrLost = fmt.Errorf("%w: lease lost", ErrNotHeld)

	// ErrUncertain is the error of [Lease.Write] where it is not known whether ZooKeeper has
	// written, or will. If so, it was while the lease stood.
	ErrUncertain = errors.New("lock: outcome unknown")

	// ErrUpgrade is what an owner gets that holds a lock for reading and asks for it for writing.
	// It would wait for itself; two that did so would wait for each other, so there is no way of
	// doing it right.
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
	errTenureEnded = errors.New("lock: the grant has ended")
)
