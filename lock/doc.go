// Package lock is a family of distributed locks on ZooKeeper: [Mutex], [RWMutex], [Semaphore], and [Multi] for several
// of them at once.
//
// All of them follow ZooKeeper's lock recipe: every contender makes an ephemeral sequential node, has its turn when no
// contender stands before it that it must wait for, and until then watches only the nearest of those. Beyond the
// recipe:
//
//   - A lost reply loses nothing. A node's name holds a GUID; after any unknown outcome the contender looks for it.
//   - A contender leaves no node behind, whichever way its attempt ends. Where the connection is down at that moment,
//     the removal goes on in the background until ZooKeeper confirms it or the session is over.
//   - A node is proof only while it stands and belongs to the current session. Both are verified right before the
//     lock is granted, by a listing where that is enough.
//   - The holder is told when it loses the lock: see [Lease.Done] and [Lease.Context].
//   - Fencing tokens are transaction ids, and so is the order of contenders as soon as their numbers do not tell it:
//     since 3.6.0 servers hand out 2147483647 again and again once they have come so far (ZOOKEEPER-3249).
//   - Writes to ZooKeeper itself can be made to succeed only while the lease stands: see [Lease.Write].
//   - A lock is reentrant for an owner that the context carries, and for nobody else: see [WithOwner].
//
// # What is guaranteed
//
// ZooKeeper grants a lock to one contender at a time (to one writer or any number of readers, to as many as a
// semaphore has places), in the order in which their nodes were created. A process can still act on a lock that it has
// just lost, if it is paused between looking at [Lease.Done] and acting. Only the protected resource can rule that
// out: by refusing a [Lease.Token] lower than one that it has seen, or, where it is ZooKeeper itself, by [Lease.Write].
//
// Without such pauses, a lease ends before ZooKeeper can grant the lock to another as long as the process's clock
// loses less than a tenth against that of ZooKeeper's leader, the timeout given to [NewMutex] is not longer than the
// session's, and the server that the client is connected to is in touch with the leader. A follower that is cut off
// goes on answering for up to syncLimit ticks, while the leader no longer hears of the sessions that it serves: for
// that time a lease can outlive its session, and only the token or a guarded write protects the resource.
//
// # Errors
//
// Errors are values to test with [errors.Is]: [ErrNotAcquired], [ErrLost], [ErrNotHeld], [ErrUpgrade] and
// [ErrUncertain] of this package, the cause of the context that was given, and those of package zk where ZooKeeper itself has refused.
//
// # Paths
//
// Each lock has a path of its own, the same in every process that shares it. Mutex and RWMutex may share one: a mutex
// is then one more writer. Other nodes below the path do no harm. A lock only ever names nodes below the path that it
// was given, so that it also works on a [Client] that puts a prefix before every path.
package lock
