// Package lock provides distributed locks on ZooKeeper: [Mutex], [RWMutex], [Semaphore], [Multi],
// which takes several at once, [Election], whose leader all can observe, [DoubleBarrier], where
// processes begin and end together, and [Barrier], at which they wait while it is set.
//
//	session, err := lock.Dial(ctx, servers, 10*time.Second)
//	mutex, err := lock.NewMutex(session, "/locks/billing")
//	err = mutex.Do(ctx, func(ctx context.Context) error { // ctx ends when the lock is lost
//		return store.Write(ctx, bill, lock.LeaseFrom(ctx).Token()) // refuses lower tokens
//	})
//	lease, err := mutex.TryLockFor(ctx, 5*time.Second) // or ErrNotAcquired; then lease.Unlock
//
// A contender creates an ephemeral sequential node below the path of the lock, watches the nearest
// one before it that blocks it, and has the lock when none is left. A second Lock waits for the
// first like any other, unless both have the same owner: see [WithOwner].
//
// # Guarantees
//
//   - ZooKeeper grants a lock to one contender at a time (an RWMutex to one writer or any number of
//     readers, a Semaphore to as many as it has places), in the order in which their nodes were
//     created. Observers of an Election see the terms in this order.
//   - A lease ends before ZooKeeper can grant the lock to another, within the clock bound:
//     [Lease.Done] is closed and its contexts end. [Lease.Unlock] reports whether it was lost.
//   - A failed or cancelled attempt leaves no node. While ZooKeeper is unreachable, the removal
//     continues in the background until ZooKeeper confirms it or the session ends.
//   - Fencing tokens increase from lease to lease: see [Lease.Token]. [Lease.Write] makes writes to
//     ZooKeeper conditional on the lease.
//
// # Not guaranteed
//
//   - A process can act on a lock that it has just lost, if it is paused between checking
//     [Lease.Done] and acting, or if a request to another service is in flight. Only the resource
//     can prevent that, by refusing a token lower than the highest seen.
//   - If the client is closed, a lease learns of it a moment after its lock is free. Unlock first,
//     or use [Session.Close], which ends all leases first.
//   - A lock does not survive the loss of the disks of a majority of the servers.
//
// # Clock bound
//
// A lease is valid for a third of the session timeout after each confirmation was begun, at least
// one in each sixth of it. The process's clock may run up to a tenth slower than that of
// ZooKeeper's leader. The clock covers pauses of the process; on Linux it stands still while the
// machine is suspended. docs/lock.md has all conditions.
//
// # Errors
//
// Errors are for [errors.Is]: [ErrNotAcquired], [ErrUnavailable], [ErrLost], [ErrNotHeld],
// [ErrUncertain], [ErrUpgrade], [ErrNoLeader], [ErrSessionLost], the cause of the given context,
// and those of package zk where ZooKeeper has refused a request.
//
// # Paths
//
// Each lock has a path of its own, the same in all processes. A Mutex may share its path with an
// RWMutex, as a writer, and with zk.Lock of go-zookeeper/zk. Other nodes below the path are
// ignored: locks of Curator and kazoo do not exclude these. Only the lock may write to its path and
// nodes. Deleting the node of a holder takes the lock from it.
package lock
