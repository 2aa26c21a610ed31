package history

// SpinLock returns what a lock without a queue can claim: one holder at a time as the ensemble sees
// it, no contender that waits for ever, no watch event lost, and no znode left behind.
func SpinLock() []Property {
	return []Property{ServerMutualExclusion, NoLostWatch, Progress, NoLivelock, NoLeakedNodes}
}

// QueueLock returns what a lock can claim whose contenders queue with sequential znodes, as in
// ZooKeeper's recipe ("ZooKeeper Recipes and Solutions", Locks): the claims of [SpinLock], grants
// in the order of the queue, no starvation, no herd effect, and no success reported after the
// session was lost.
func QueueLock() []Property {
	return append(SpinLock(), FIFO, NoStarvation, NoHerd, LossNotification, Linearizable)
}

// LeaseLock returns what a queueing lock can claim that also tells its holder of a loss before
// somebody else can hold the lock: the claims of [QueueLock], one holder at a time as the processes
// see it, and no lease that outlives the session that the client gave up.
func LeaseLock() []Property {
	return append(QueueLock(), ClientMutualExclusion, SessionLoss)
}

// FencedLock returns what a lock can claim whose holds carry a fencing token: the claims of
// [LeaseLock] and tokens that rise. That the resource refuses stale tokens is claimed by [Fencing]
// and [NoLostUpdate], for a scenario whose resource checks them.
func FencedLock() []Property {
	return append(LeaseLock(), MonotonicToken)
}

// ExpiringLock returns what a lock can claim whose key or row expires by itself, as on Redis and in
// SQL: no contender that waits for ever, and no release of a lock that another process holds by
// then. It does not contain [ClientMutualExclusion], which no such lock keeps if a holder pauses
// for longer than the expiry. [Validity], [Extension], [Fencing] and [NoLostUpdate] say what it can
// keep instead.
func ExpiringLock() []Property { return []Property{Progress, OwnRelease} }
