// Package lock provides distributed locks on ZooKeeper: [Mutex], [RWMutex], [Semaphore], [Multi],
// which takes several locks at once, [Election], whose leader all processes can observe, and
// [DoubleBarrier], where processes begin and end together. [Dial] connects to ZooKeeper and returns
// a [Session], which makes locks; they also work on the client of go-zookeeper/zk that a program
// already has.
//
// All of them follow ZooKeeper's lock recipe: a contender creates an ephemeral sequential node
// below the path of the lock, watches the nearest contender before it that blocks it, and is
// granted the lock when none is left. docs/lock.md compares other libraries and gives costs.
//
// # Guarantees
//
//   - ZooKeeper grants a lock to one contender at a time (an RWMutex to one writer or any number of
//     readers, a Semaphore to as many as it has places), in the order in which their nodes were
//     created. Observers of an Election see the terms in this order.
//   - A lease ends before ZooKeeper can grant the lock to another contender, within the clock bound
//     below: [Lease.Done] is closed and the contexts of [Lease.Context] end. [Lease.Unlock] reports
//     whether the lease was lost before.
//   - A failed or cancelled attempt, or a lost reply, leaves no node. While the connection is down,
//     the removal continues in the background until ZooKeeper confirms it or the session ends.
//   - Fencing tokens increase from lease to lease, also where sequence numbers repeat: see
//     [Lease.Token]. Writes to ZooKeeper can be made conditional on the lease: see [Lease.Write].
//
// # Not guaranteed
//
//   - A process can act on a lock that it has just lost, if it is paused between checking
//     [Lease.Done] and acting, or if a request to another service is still in flight. Only the
//     resource can prevent that, by refusing a [Lease.Token] lower than the highest seen.
//   - Closing the client releases all its locks at once, and a lease learns of it a moment later.
//     Unlock first, or use [Session.Close], which ends all leases first.
//   - A lock does not survive the loss of the disks of a majority of the servers.
//
// # Clock bound
//
// A lease is valid for a third of the session timeout after each confirmation was sent, and is
// confirmed every sixth of it. The process's clock may run up to a tenth slower than that of
// ZooKeeper's leader. The bound assumes that the timeout given to the lock does not exceed the
// timeout that ZooKeeper has granted, that the client has a method Multi as *zk.Conn has, and that
// the machine is not suspended; docs/lock.md has all conditions.
//
// # Errors
//
// Errors are tested with [errors.Is]: [ErrNotAcquired], [ErrLost], [ErrNotHeld], [ErrUpgrade],
// [ErrUncertain], [ErrNoLeader] and [ErrSessionLost] of this package, the cause of the context that
// was given, and the errors of package zk where ZooKeeper has refused a request.
//
// # Paths
//
// Each lock has a path of its own, the same in every process that shares it. A Mutex may share its
// path with an RWMutex, as one more writer, and with zk.Lock of go-zookeeper/zk. All other nodes
// below the path are ignored: locks of Curator and kazoo do not exclude those of this package. Only
// the lock may write to the path and its contenders' nodes. Deleting the node of a holder takes the
// lock from it.
package lock
