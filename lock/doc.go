// Package lock is a family of distributed locks on ZooKeeper: [Mutex], [RWMutex], [Semaphore], and
// [Multi] for several of them at once.
//
// All of them follow ZooKeeper's lock recipe: every contender makes an ephemeral sequential node,
// has its turn when no contender stands before it that it must wait for, and until then watches
// only the nearest of those. Beyond the recipe:
//
//   - A lost reply loses nothing. A node's name holds a GUID; after any unknown outcome the
//     contender looks for it.
//   - A contender leaves no node behind, whichever way its attempt ends. Where the connection is
//     down at that moment, the removal goes on in the background until ZooKeeper confirms it or the
//     session is over.
//   - A node is proof only while it stands and belongs to the current session. The session is
//     verified right before the lock is granted. So is the node, unless it has been seen within a
//     twentieth of the session timeout: only somebody who deletes nodes by hand can have removed it
//     since.
//   - Nobody lists the contenders again and again. A [Mutex] that gives the lock back says so to
//     the one behind it by the kind of event that this one is watching for, which so knows that
//     nobody is left before it. (Not so where numbers are handed out again: see below.)
//   - The holder is told when it loses the lock: see [Lease.Done] and [Lease.Context].
//   - Fencing tokens rise from lease to lease: see [Lease.Token]. The order of contenders does not
//     end with the sequence numbers: since 3.6.0 servers hand out 2147483647 again and again once
//     they have come so far (ZOOKEEPER-3249); from there on the transactions that made the nodes
//     tell it.
//   - Writes to ZooKeeper itself can be made to succeed only while the lease stands: see
//     [Lease.Write].
//   - A lock is reentrant for an owner that the context carries, and for nobody else: see
//     [WithOwner].
//   - What becomes of the session is told by a [Session], with which a waiter needs no request
//     between its turn and the grant even after a long wait.
//
// # What is guaranteed
//
// ZooKeeper grants a lock to one contender at a time (to one writer or any number of readers, to as
// many as a semaphore has places), in the order in which their nodes were created. Whoever waits is
// woken by the end of the one before it, and not by anybody else's.
//
// A lease ends before ZooKeeper can grant the lock to another, within the bound below: [Lease.Done]
// is closed, and the contexts of [Lease.Context] end. [Lease.Unlock] says if that was too early for
// the work that was done.
//
// # What is not guaranteed
//
// A process can act on a lock that it has just lost, if it is paused between looking at
// [Lease.Done] and acting, or if what it has sent to somebody else is still under way. Only the
// protected resource can rule that out: by refusing a [Lease.Token] lower than one that it has
// seen, or, where it is ZooKeeper itself, by [Lease.Write].
//
// Whoever closes the client gives up all locks that it holds, at once. A lease hears of it a moment
// later; one on a client that is no [Session], and that was held for less than a twentieth of the
// session timeout, when its confirmation has run out. Unlock first.
//
// Nor does the lock survive what ZooKeeper does not: a majority of servers that lose their disks.
//
// # The bound on clocks
//
// A lease counts from the moment at which an empty write was sent, a multi that checks the node's
// existence and nothing else, or the write that made the node. ZooKeeper's leader carries out
// neither for a session that is over, and answers only when a majority of the servers has logged
// it. So a server that is cut off from the others confirms nothing, be it a leader that has been
// replaced and does not know it, which goes on answering reads and even syncs.
//
// From then on a lease stands for a third of the session timeout, by the process's own clock, and
// is confirmed in each sixth. Why no longer: the leader times a session from when it last heard of
// it, and that can be a while before. The client's server tells the leader of its clients each half
// tick, which is at most a quarter of the timeout, as ZooKeeper grants no session less than two
// ticks; and the client, go-zookeeper/zk, speaks at least once in each third of it. If the server
// then dies, of the timeout there are 1 - 1/4 - 1/3 = 5/12 left. The lease needs 1/3. The
// difference is for clocks: the process's may lose a tenth against the leader's, the time between
// server and leader included. System clocks that jump are no matter: Go's timers and ZooKeeper's do
// not go by them.
//
// Pauses of the process are not in that bound, but whoever looks at [Lease.Done] or [Lease.Err]
// after one is told. Not so where the whole machine was suspended, or its clock was stopped with
// it, as a hypervisor does for a snapshot: then no time has passed by the clock that Go goes by
// (see package time on monotonic clocks), and a lease can seem to stand for up to a third of the
// session timeout after the machine goes on. There too the protected resource can rule out what is
// late, and only that.
//
// Where followers have observers of their own (observerMasterPort, since ZooKeeper 3.6), a client
// of such an observer is reported to the leader in two steps, of half a tick each at most. The
// bound holds there if the session timeout is four ticks or more.
//
// The bound assumes that the timeout that the lock was given is no longer than what ZooKeeper has
// granted, which go-zookeeper/zk does not tell: servers grant from 2 to 20 ticks unless configured
// otherwise. And it assumes a client with a method Multi, as *zk.Conn has. One without is confirmed
// by a sync and a read, which a leader that was replaced answers for up to syncLimit ticks and one
// more.
//
// # Costs
//
// In requests to ZooKeeper, 2 for a lock that is free (create and list, sent together, so that they
// take as long as one), 3 for one that is not (with a watch), and 1 to unlock. A [Mutex] under
// steady contention does without the list. Each method says more. A lock that is held for long
// costs two reads with watches after a twentieth of the session timeout, and one empty write then
// and in each sixth of it. Each watch costs as many bytes at the server as its path has.
//
// # Errors
//
// Errors are values to test with [errors.Is]: [ErrNotAcquired], [ErrLost], [ErrNotHeld],
// [ErrUpgrade] and [ErrUncertain] and [ErrSessionLost] of this package, the cause of the context
// that was given, and those of package zk where ZooKeeper itself has refused.
//
// # Paths
//
// Each lock has a path of its own, the same in every process that shares it. Mutex and RWMutex may
// share one: a mutex is then one more writer. A Mutex may share one with zk.Lock of go-zookeeper/zk
// as well, whose nodes have the same names. Other nodes below the path do no harm, and take no
// part, those of Curator's and kazoo's locks among them: on one path these and the locks of this
// package hold at the same time. Nobody else may write to the contenders' nodes, or delete any but
// one whose holder is to lose the lock; the data of the path itself are where holders are asked to
// give the lock back. A lock only ever names nodes below the path that it was given, so that it
// also works on a [Client] that puts a prefix before every path. Such a client must put it before
// the paths within a multi too, or have no method of that name.
package lock
