package subjects

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Defect is something that published locks have got wrong, as a switch of the recipe. Broken has
// it, and Mended is the same lock without it.
type Defect struct {
	Name     string
	Property history.Property // that a search finds to be broken first
	Summary  string
	Source   string // where it was seen
	Broken   scenarios.Subject
	Mended   scenarios.Subject
}

// An entry is a row of the catalogue: the recipe that has it right, and what breaks it.
type entry struct {
	name     string
	property history.Property
	summary  string
	source   string
	base     recipe
	spoil    func(*recipe)
	// not claimed by either, since the same defect breaks them too, and sooner
	without []history.Property
}

var entries = []entry{
	{
		"no-recheck", history.ServerMutualExclusion,
		"a contender that is woken does not look again whether it is the first",
		"a published Java lock on Curator, which waits on a latch and returns true",
		recipe{},
		func(r *recipe) { r.noRecheck = true }, nil,
	},
	{
		"exists-then-wait", history.Progress,
		"waits for the end of a predecessor that is gone already",
		"the WriteLock recipe that comes with ZooKeeper, which returns from lock() in that case " +
			"with " +
			"nobody to call it again",
		recipe{},
		func(r *recipe) { r.existsThenWait = true }, nil,
	},
	{
		"no-guid", history.Progress,
		"creates a second node when the reply to the first create is lost",
		"Curator before 2011, which was the first to put a GUID into the name; several libraries " +
			"still " +
			"do not",
		recipe{},
		func(r *recipe) { r.noGUID = true }, nil,
	},
	{
		"leak-on-error", history.Progress, "leaves its node behind when an attempt fails",
		"go-zookeeper/zk v1.0.4, lock.go, on every error after the create",
		recipe{},
		func(r *recipe) { r.leakOnError = true }, nil,
	},
	{
		"delete-once", history.NoLeakedNodes,
		"does not try again when the release does not get through",
		"python-zk/kazoo#732, where a non-blocking attempt is given up",
		recipe{},
		func(r *recipe) { r.deleteOnce = true },
		[]history.Property{history.LossNotification, history.Progress},
	},
	{
		"deaf-to-expiry", history.Progress, "a waiter whose session expires waits on",
		"twitter-archive/commons#20",
		recipe{},
		func(r *recipe) { r.deafToExpiry = true }, nil,
	},
	{
		"name-order", history.FIFO, "orders contenders by name, which begins with a GUID",
		"ZOOKEEPER-2931 and ZOOKEEPER-645, where the name began with the session",
		recipe{},
		func(r *recipe) { r.nameOrder = true },
		[]history.Property{history.ServerMutualExclusion, history.Linearizable},
	},
	{
		"retry-protected", history.Progress,
		"calls CreateProtectedEphemeralSequential again when it fails",
		"go-zookeeper/zk v1.0.4, whose create gives up the search for the first node on any " +
			"error but " +
			"one",
		recipe{},
		func(r *recipe) { r.retryProtected = true }, nil,
	},
	{
		"presume-expiry", history.NoLeakedNodes,
		"does not remove a node that it takes for that of an expired session",
		"go-zookeeper/zk v1.0.4 sends a call that it has queued under whatever session comes next",
		recipe{},
		func(r *recipe) { r.presumeExpiry = true },
		[]history.Property{history.Progress},
	},
	{
		"silent-loss", history.LossNotification,
		"gives back a lock that is lost, and says nothing of it",
		"samuel/go-zookeeper#20, CURATOR-206",
		recipe{},
		func(r *recipe) { r.silentLoss = true }, nil,
	},
	{
		"stale-state", history.LossNotification,
		"takes itself for the holder when its release did not get through",
		"Netflix/curator#24",
		recipe{counting: true},
		func(r *recipe) { r.staleState = true }, nil,
	},
	{
		"deaf-holder", history.SessionLoss,
		"a holder is not told that its session is over when the client library says so",
		"package lock, which asked the server first, and waited for it",
		recipe{listening: true},
		func(r *recipe) { r.deafHolder = true }, nil,
	},
	{
		"gives-up", history.NoSpuriousFailure, "fails when the connection is lost while it waits",
		"go-zookeeper/zk v1.0.4, lock.go; CURATOR-45",
		recipe{retries: true},
		func(r *recipe) { r.givesUp = true }, nil,
	},
	{
		"late-notice", history.ClientMutualExclusion,
		"tells its holder of a lost session only when the server says so",
		"hashicorp/consul#18271",
		recipe{vigilant: true},
		func(r *recipe) { r.lateNotice = true }, nil,
	},
	{
		"uncounted", history.Reentrancy, "is free after the first of two unlocks",
		"python-zk/kazoo#134 and #291",
		recipe{counting: true},
		func(r *recipe) { r.uncounted = true }, nil,
	},
	{
		"overcounted", history.Reentrancy, "counts one lock twice, and is never free",
		"a published Java lock on Curator, whose counter is raised by an attempt that fails",
		recipe{counting: true},
		func(r *recipe) { r.overcounted = true },
		[]history.Property{history.Progress, history.NoLeakedNodes},
	},
	{
		"clock-token", history.Fencing, "takes the time for its fencing token",
		"the owner and time that ShedLock keeps instead of a token, lukas-krecan/ShedLock#2201",
		recipe{tokens: true},
		func(r *recipe) { r.clockToken = true },
		[]history.Property{history.MonotonicToken},
	},
	{
		"session-token", history.MonotonicToken, "takes the session for its fencing token",
		"etcd before its header revision: the lease is the same for every lock that a client takes",
		recipe{tokens: true},
		func(r *recipe) { r.sessionToken = true }, nil,
	},
	{
		"unguarded", history.NoLostUpdate, "protects a resource that asks for no token",
		"M. Kleppmann, How to do distributed locking, 2016",
		recipe{tokens: true},
		func(r *recipe) { r.unguarded = true },
		[]history.Property{history.Fencing},
	},
	{
		"retry-loop", history.NoStarvation,
		"leaves the queue when it is not the first, and tries again after a pause",
		"locks without a queue, such as those of redsync and bsm/redislock",
		recipe{},
		func(r *recipe) { r.retryLoop = true },
		[]history.Property{history.NoHerd},
	},
	{
		"spin", history.NoLivelock, "asks again at once instead of waiting",
		"go-zookeeper/zk#145, whose predecessor of the first node was none; python-zk/kazoo#315",
		recipe{},
		func(r *recipe) { r.spins = true },
		[]history.Property{history.NoHerd},
	},
	{
		"watch-first", history.NoHerd, "watches the first of the queue and not the one before it",
		"python-zk/kazoo, before commit 7dd4c4c",
		recipe{},
		func(r *recipe) { r.watchFirst = true }, nil,
	},
	{
		"no-own-check", history.Linearizable, "does not look whether its own node still stands",
		"etcd-io/etcd#11456; a published Java lock on Curator",
		recipe{},
		func(r *recipe) { r.noOwnCheck = true }, nil,
	},
	{
		"blind-clean-up", scenarios.NoPanic, "cleans up a node that it never made",
		"python-zk/kazoo#288",
		recipe{},
		func(r *recipe) { r.blindCleanUp = true }, nil,
	},
	{
		"forgotten-wait", scenarios.NoGoroutineLeak,
		"leaves a goroutine behind that hands on the event of a watch",
		"a published Java lock on Curator, which leaves its watcher behind when it gives up " +
			"waiting",
		recipe{},
		func(r *recipe) { r.forgottenWait = true }, nil,
	},
}

// mendedSuffix is what the name of a lock ends in that is the broken one without its defect.
const mendedSuffix = "-mended"

// Defects returns the defects that the recipe can have, each with a lock that has it and one that
// has not.
func Defects() []Defect {
	defects := make([]Defect, len(entries))
	for i, e := range entries {
		spoilt := e.base
		e.spoil(&spoilt)
		d := Defect{
			Name: e.name, Property: e.property, Summary: e.summary, Source: e.source,
			Broken: recipeSubject(e.name, "broken: "+e.summary, spoilt),
			Mended: recipeSubject(e.name+mendedSuffix, "the twin of "+e.name+" without its defect",
				e.base),
		}
		d.Mended.Claims = slices.DeleteFunc(d.Mended.Claims,
			func(p history.Property) bool { return slices.Contains(e.without, p) })
		d.Broken.Claims = d.Mended.Claims
		defects[i] = d
	}
	return defects
}

// broken returns the lock with the defect of that name, of which there must be one.
func broken(name string) scenarios.Subject {
	all := Defects()
	return all[slices.IndexFunc(all, func(d Defect) bool { return d.Name == name })].Broken
}

// Some locks with a defect by name, for tests and benchmarks.

// NoRecheck takes the lock as soon as its predecessor is gone, even where that was not the holder.
func NoRecheck() scenarios.Subject { return broken("no-recheck") }

// ExistsThenWait waits on a watch that it has set with exists on a node that is gone by then.
func ExistsThenWait() scenarios.Subject { return broken("exists-then-wait") }

// NoGUID creates its node again when the reply to the create is lost, and then waits for its own
// first node.
func NoGUID() scenarios.Subject { return broken("no-guid") }

// LeakOnError returns from a failed attempt without deleting its node.
func LeakOnError() scenarios.Subject { return broken("leak-on-error") }

// DeleteOnce gives the lock back with a single request, and takes a failure of that for success.
func DeleteOnce() scenarios.Subject { return broken("delete-once") }

// DeafToExpiry waits for the end of its predecessor and for nothing else.
func DeafToExpiry() scenarios.Subject { return broken("deaf-to-expiry") }

// NameOrder orders contenders by their whole names and not by their numbers.
func NameOrder() scenarios.Subject { return broken("name-order") }

// RetryProtected makes its protected node again when that fails, under another GUID.
func RetryProtected() scenarios.Subject { return broken("retry-protected") }

// PresumeExpiry takes it for granted that its node has gone with the session in which it asked for
// it.
func PresumeExpiry() scenarios.Subject { return broken("presume-expiry") }
