// Package lock provides distributed locks on ZooKeeper: [Mutex], [RWMutex], [Semaphore], [Multi],
// which takes several locks at once, and [Election], whose leader all processes can observe. [Dial]
// connects to ZooKeeper and returns a [Session], which makes locks; they also work on the client of
// go-zookeeper/zk that a program already has.
//
// All of them follow ZooKeeper's lock recipe. Every contender creates an ephemeral sequential node
// below the path of the lock, watches only the nearest contender before it that blocks it, and is
// granted the lock when none is left. Beyond the recipe:
//
//   - A lost reply leaves no duplicate. A node's name holds a GUID, by which the contender finds
//     its node after a request with an unknown outcome.
//   - A failed or cancelled attempt leaves no node. While the connection is down, the removal
//     continues in the background until ZooKeeper confirms it or the session ends.
//   - The session is verified right before the lock is granted. So is the node, unless a request
//     within the last twentieth of the session timeout has shown it.
//   - The holder learns of a loss: see [Lease.Done] and [Lease.Context].
//   - Fencing tokens increase from lease to lease, also after sequence numbers reach 2147483647,
//     where servers since 3.6.0 repeat that number (ZOOKEEPER-3249): see [Lease.Token].
//   - Writes to ZooKeeper can be made conditional on the lease: see [Lease.Write].
//   - Mutex and RWMutex are reentrant for an owner that the context carries: see [WithOwner].
//   - A [Session] reports the state of the ZooKeeper session and saves waiters a request.
//
// # Guarantees
//
// ZooKeeper grants a lock to one contender at a time (an RWMutex to one writer or any number of
// readers, a Semaphore to as many as it has places), in the order in which their nodes were
// created. The end of a contender wakes only those for which it is the nearest blocker.
// Observers of an Election see the terms in this order.
//
// A lease ends before ZooKeeper can grant the lock to another contender, within the clock bound
// below: [Lease.Done] is closed and the contexts of [Lease.Context] end. [Lease.Unlock] reports
// whether the lease was lost before.
//
// # Not guaranteed
//
//   - A process can act on a lock that it has just lost, if it is paused between checking
//     [Lease.Done] and acting, or if a request that it has sent to another service is still in
//     flight. Only the protected resource can prevent that, by refusing a [Lease.Token] lower than
//     the highest seen or, if it is ZooKeeper itself, by [Lease.Write].
//   - Closing the client releases all its locks at once, and a lease learns of it a moment later:
//     at the latest when its confirmation expires, if the client is not a [Session] and the lease
//     is younger than a twentieth of the session timeout. Unlock first.
//   - A lock does not survive the loss of the disks of a majority of the servers.
//
// # Clock bound
//
// A lease is valid for a third of the session timeout after each confirmation, counted from when
// the request was sent, and is confirmed every sixth of it. The process's clock may run up to a
// tenth slower than that of ZooKeeper's leader. The bound assumes that:
//
//   - the timeout given to the lock is at most the one that ZooKeeper has granted, which
//     go-zookeeper/zk does not report (servers grant 2 to 20 ticks by default);
//   - the client has a method Multi, as *zk.Conn has: without it, a deposed leader can confirm a
//     lease for up to syncLimit + 1 ticks;
//   - the timeout is at least four ticks if the client is connected to an observer that follows a
//     follower (observerMasterPort, since ZooKeeper 3.6);
//   - the machine is not suspended and its clock not stopped: a lease can otherwise appear valid
//     for up to a third of the session timeout after it resumes, since Go's monotonic clock may not
//     advance meanwhile. System clocks that jump do no harm.
//
// After any other pause of the process, [Lease.Done] and [Lease.Err] report a lease that has
// expired.
//
// # Errors
//
// Errors are tested with [errors.Is]: [ErrNotAcquired], [ErrLost], [ErrNotHeld], [ErrUpgrade],
// [ErrUncertain] and [ErrSessionLost] of this package, the cause of the context that was given, and
// the errors of package zk where ZooKeeper has refused a request.
//
// # Paths
//
// Each lock has a path of its own, the same in every process that shares it. A Mutex may share its
// path with an RWMutex, as one more writer, and with zk.Lock of go-zookeeper/zk, whose nodes have
// the same names. All other nodes below the path are ignored, including those of Curator and kazoo:
// their locks do not exclude the locks of this package.
//
// Nobody else may write to the contenders' nodes, or delete one except to take the lock from its
// holder. The data of the path itself are reserved for revocations. A lock names no node outside of
// its path, so that it works on a [Client] that adds a prefix to every path, provided that the
// client adds it within a multi too or has no method Multi.
package lock
