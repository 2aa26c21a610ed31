package subjects

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Defect is a defect of published locks, as a switch of the recipe.
type Defect struct {
	Name     string
	Property history.Property // the first property that a search finds violated
	Summary  string
	Source   string            // a published lock with the defect
	Servers  int               // the size of the smallest ensemble on which it shows
	Broken   scenarios.Subject // the recipe with the defect
	Fixed    scenarios.Subject // the same recipe without it
}

// An entry is a row of the catalogue.
type entry struct {
	name     string
	property history.Property
	summary  string
	source   string
	base     recipe        // without the defect
	inject   func(*recipe) // adds the defect
	// unclaimed properties are claimed by neither lock, because the defect violates them earlier.
	unclaimed []history.Property
}

var catalogue = []entry{
	{
		"no-recheck", history.ServerMutualExclusion,
		"a contender that a watch wakes does not check again that it is the first",
		"a published Java lock based on Curator: waits on a latch and returns true",
		recipe{},
		func(r *recipe) { r.noRecheck = true }, nil,
	},
	{
		"exists-then-wait", history.Progress,
		"waits for the deletion of a predecessor that is already gone",
		"ZooKeeper's WriteLock recipe: in that case lock() returns, and nothing calls it again",
		recipe{},
		func(r *recipe) { r.existsThenWait = true }, nil,
	},
	{
		"no-guid", history.Progress,
		"creates a second node when the reply to the first create is lost",
		"Curator before 2011, which then introduced a GUID in the name; several libraries still " +
			"have none",
		recipe{},
		func(r *recipe) { r.noGUID = true }, nil,
	},
	{
		"leak-on-error", history.Progress, "does not delete its node when an attempt fails",
		"go-zookeeper/zk v1.0.4, lock.go: every error after the create",
		recipe{},
		func(r *recipe) { r.leakOnError = true }, nil,
	},
	{
		"delete-once", history.NoLeakedNodes,
		"does not retry a failed release",
		"python-zk/kazoo#732: a non-blocking attempt",
		recipe{},
		func(r *recipe) { r.deleteOnce = true },
		[]history.Property{history.LossNotification, history.Progress},
	},
	{
		"deaf-to-expiry", history.Progress, "a waiter whose session expires keeps waiting",
		"twitter-archive/commons#20",
		recipe{},
		func(r *recipe) { r.deafToExpiry = true }, nil,
	},
	{
		"name-order", history.FIFO, "orders contenders by node name, which starts with a GUID",
		"ZOOKEEPER-2931 and ZOOKEEPER-645: the name started with the session",
		recipe{},
		func(r *recipe) { r.nameOrder = true },
		[]history.Property{history.ServerMutualExclusion, history.Linearizable},
	},
	{
		"retry-protected", history.Progress,
		"retries CreateProtectedEphemeralSequential after an error",
		"go-zookeeper/zk v1.0.4: the create abandons its search for the first node on all errors " +
			"but one",
		recipe{},
		func(r *recipe) { r.retryProtected = true }, nil,
	},
	{
		"presume-expiry", history.NoLeakedNodes,
		"does not delete its node after a session expiry, on the assumption that it is gone",
		"go-zookeeper/zk v1.0.4: sends a queued call in whatever session comes next",
		recipe{},
		func(r *recipe) { r.presumeExpiry = true },
		[]history.Property{history.Progress},
	},
	{
		"silent-loss", history.LossNotification,
		"unlocks a lost lock without an error",
		"samuel/go-zookeeper#20, CURATOR-206",
		recipe{},
		func(r *recipe) { r.silentLoss = true }, nil,
	},
	{
		"stale-state", history.LossNotification,
		"considers itself the holder after a failed release",
		"Netflix/curator#24",
		recipe{reentrant: true},
		func(r *recipe) { r.staleState = true }, nil,
	},
	{
		"deaf-holder", history.SessionLoss,
		"does not notify its holder when the client library reports the end of the session",
		"an earlier version of package lock: asked the server first and waited for the answer",
		recipe{watchesNode: true},
		func(r *recipe) { r.deafHolder = true }, nil,
	},
	{
		"gives-up", history.NoSpuriousFailure, "fails when the connection is lost during the wait",
		"go-zookeeper/zk v1.0.4, lock.go; CURATOR-45",
		recipe{retries: true},
		func(r *recipe) { r.givesUp = true }, nil,
	},
	{
		"late-notice", history.ClientMutualExclusion,
		"notifies its holder of a lost session only when the server reports it",
		"hashicorp/consul#18271",
		recipe{keepsLease: true},
		func(r *recipe) { r.lateNotice = true }, nil,
	},
	{
		"tells-late", history.Margin,
		"notifies its holder when the session timeout is over since it noticed the disconnection",
		"Curator 3, Tech Note 12: starts a timer of the session timeout when it reports SUSPENDED",
		recipe{keepsLease: true, keepsMargin: true},
		func(r *recipe) { r.tellsLate = true },
		[]history.Property{history.ClientMutualExclusion},
	},
	{
		"uncounted", history.Reentrancy, "releases the lock on the first of two unlocks",
		"python-zk/kazoo#134 and #291",
		recipe{reentrant: true},
		func(r *recipe) { r.uncounted = true }, nil,
	},
	{
		"overcounted", history.Reentrancy,
		"counts one acquire twice, so that the lock is never released",
		"a published Java lock based on Curator: a failed attempt raises its counter",
		recipe{reentrant: true},
		func(r *recipe) { r.overcounted = true },
		[]history.Property{history.Progress, history.NoLeakedNodes},
	},
	{
		"clock-token", history.Fencing, "uses the time as its fencing token",
		"ShedLock: owner and time instead of a token, lukas-krecan/ShedLock#2201",
		recipe{fencing: true},
		func(r *recipe) { r.clockToken = true },
		[]history.Property{history.MonotonicToken},
	},
	{
		"session-token", history.MonotonicToken, "uses the session as its fencing token",
		"etcd before its header revision: a client has the same lease for all of its locks",
		recipe{fencing: true},
		func(r *recipe) { r.sessionToken = true }, nil,
	},
	{
		"unguarded", history.NoLostUpdate, "protects a resource that checks no token",
		"M. Kleppmann, How to do distributed locking, 2016",
		recipe{fencing: true},
		func(r *recipe) { r.unguarded = true },
		[]history.Property{history.Fencing},
	},
	{
		"retry-loop", history.NoStarvation,
		"leaves the queue when it is not the first, and retries after a pause",
		"locks without a queue, such as redsync and bsm/redislock",
		recipe{},
		func(r *recipe) { r.retryLoop = true },
		[]history.Property{history.NoHerd},
	},
	{
		"spin", history.NoLivelock, "polls in a busy loop instead of waiting",
		"go-zookeeper/zk#145: the first node had no predecessor; python-zk/kazoo#315",
		recipe{},
		func(r *recipe) { r.spins = true },
		[]history.Property{history.NoHerd},
	},
	{
		"watch-first", history.NoHerd,
		"watches the first contender of the queue instead of its predecessor",
		"python-zk/kazoo, before commit 7dd4c4c",
		recipe{},
		func(r *recipe) { r.watchFirst = true }, nil,
	},
	{
		"no-own-check", history.Linearizable, "does not check that its own node still exists",
		"etcd-io/etcd#11456; a published Java lock based on Curator",
		recipe{},
		func(r *recipe) { r.noOwnCheck = true }, nil,
	},
	{
		"blind-clean-up", history.NoPanic, "deletes a node that it never created",
		"python-zk/kazoo#288",
		recipe{},
		func(r *recipe) { r.blindCleanUp = true }, nil,
	},
	{
		"forgotten-wait", history.NoGoroutineLeak,
		"leaks a goroutine that forwards the event of a watch",
		"a published Java lock based on Curator: does not remove its watcher when it stops waiting",
		recipe{},
		func(r *recipe) { r.forgottenWait = true }, nil,
	},
	{
		"acquires-on", history.Promptness,
		"of two locks, acquires the second after the first has failed",
		"Curator, InterProcessMultiLock: an exception does not end its loop over the locks",
		recipe{takesTwo: true, steps: replacing(func(s *steps) {
			s.lock = (*recipeLock).lockBoth
		})},
		func(r *recipe) { r.acquiresOn = true }, nil,
	},
	{
		"counts-quitter", history.NoEarlyPass,
		"a process that gives up at a double barrier leaves its node, which counts",
		"CURATOR-80, CURATOR-318: DistributedDoubleBarrier.enter",
		barrier,
		func(r *recipe) { r.countsQuitter = true },
		[]history.Property{
			history.NoLeakedNodes, history.Progress,
		},
	},
	{
		"last-leaver", history.NoEarlyPass,
		"leaves a double barrier when one node is left, which is another's",
		"CURATOR-233, apache/curator#99: DistributedDoubleBarrier.leave takes a single child for " +
			"the last",
		barrier,
		func(r *recipe) { r.lastLeaver = true }, nil,
	},
	{
		"enters-woken", history.NoEarlyPass,
		"passes a double barrier because an event has woken it, whatever the event says",
		"Curator, DistributedDoubleBarrier.internalEnter: its loop ends after the first wait",
		barrier,
		func(r *recipe) { r.entersWoken = true }, nil,
	},
	{
		"newest-candidate", history.OneLeaderPerTerm,
		"an observer of an election takes the newest candidate for the leader",
		"etcd-io/etcd#18163: Election.Observe reports whichever candidate has written last",
		election,
		func(r *recipe) { r.newestLeads = true }, nil,
	},
	{
		"late-proclamation", history.TermsInOrder,
		"a leader proclaims itself without a check that it still leads",
		"KAFKA-6082: a controller that has lost the election still writes to ZooKeeper",
		proclaimedElection,
		func(r *recipe) { r.lateProclaimer = true }, nil,
	},
	{
		"deaf-leader", history.SessionLoss,
		"a leader of an election does not heed the end of its session",
		"Comcast/go-leaderelection: watchForLeaderDeleteEvents heeds deletions alone; " +
			"Netflix/curator#216: LeaderLatch",
		recipe{election: true, fencing: true, watchesNode: true},
		func(r *recipe) { r.deafHolder = true }, nil,
	},
	{
		"resign-once", history.NoLeakedNodes,
		"a leader that resigns while it is disconnected leaves its node, and stays the leader",
		"CURATOR-202: LeaderSelector",
		election,
		func(r *recipe) { r.deleteOnce = true },
		[]history.Property{history.LossNotification, history.Progress},
	},
	{
		"retries-no-node", history.Quiescence,
		"retries its delete for ever in the background, although the node is gone",
		"CURATOR-42: a guaranteed delete in the background takes NoNode for a failure",
		recipe{steps: replacing(func(s *steps) {
			s.release = (*recipeLock).releaseInBackground
		})},
		func(r *recipe) { r.retriesNoNode = true },
		[]history.Property{history.LossNotification},
	},
}

// mendedSuffix is appended to the name of a broken lock to name the lock without the defect.
const mendedSuffix = "-fixed"

// Defects returns the defects of the recipe that a switch turns on, each with a lock that has it
// and one without it.
func Defects() []Defect {
	defects := make([]Defect, len(catalogue))
	for i := range catalogue {
		defects[i] = catalogue[i].defect()
	}
	return defects
}

// defect builds the two locks.
func (e *entry) defect() Defect {
	defective := e.base.withSteps()
	e.inject(&defective)
	d := Defect{
		Name: e.name, Property: e.property, Summary: e.summary, Source: e.source, Servers: 1,
		Broken: recipeSubject(e.name, "broken: "+e.summary, defective),
		Fixed:  recipeSubject(e.name+mendedSuffix, e.name+" without its defect", e.base),
	}
	if !slices.Contains(d.Fixed.Claims, e.property) {
		d.Fixed.Claims = append(d.Fixed.Claims, e.property)
	}
	d.Fixed.Claims = without(d.Fixed.Claims, e.unclaimed...)
	d.Broken.Claims = d.Fixed.Claims
	return d
}

// brokenLock returns the lock with the named defect, which must exist.
func brokenLock(name string) scenarios.Subject {
	all := Defects()
	return all[slices.IndexFunc(all, func(d Defect) bool { return d.Name == name })].Broken
}

// Some broken locks by name, for tests and benchmarks.

// NoRecheck considers itself the holder once its predecessor is gone, even if the predecessor was
// not the holder.
func NoRecheck() scenarios.Subject { return brokenLock("no-recheck") }

// ExistsThenWait waits for a watch that it has set with an exists on a node that is already gone.
func ExistsThenWait() scenarios.Subject { return brokenLock("exists-then-wait") }

// NoGUID repeats its create when the reply is lost, and then waits for its own first node.
func NoGUID() scenarios.Subject { return brokenLock("no-guid") }

// LeakOnError returns from a failed attempt without deleting its node.
func LeakOnError() scenarios.Subject { return brokenLock("leak-on-error") }

// DeleteOnce sends a single delete to release the lock and ignores its failure.
func DeleteOnce() scenarios.Subject { return brokenLock("delete-once") }

// DeafToExpiry waits for the deletion of its predecessor and ignores the expiry of its own session.
func DeafToExpiry() scenarios.Subject { return brokenLock("deaf-to-expiry") }

// NameOrder orders contenders by node name instead of sequence number.
func NameOrder() scenarios.Subject { return brokenLock("name-order") }

// RetryProtected repeats a failed protected create, under another GUID.
func RetryProtected() scenarios.Subject { return brokenLock("retry-protected") }

// PresumeExpiry assumes that its node is gone with the session in which it sent the create.
func PresumeExpiry() scenarios.Subject { return brokenLock("presume-expiry") }
