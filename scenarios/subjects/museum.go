package subjects

import (
	"math"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// An exhibit is a defect that replaces a step of the recipe.
type exhibit struct {
	entry
	servers int                      // default: 1
	setUp   func(*scenarios.Subject) // changes both locks; nil for none
}

// Museum returns the known defects of published locks: those of [Defects], and those that replace a
// step of the recipe.
func Museum() []Defect {
	defects := Defects()
	for i := range museum {
		e := &museum[i]
		d := e.defect()
		d.Servers = max(1, e.servers)
		if e.setUp != nil {
			e.setUp(&d.Broken)
			e.setUp(&d.Fixed)
		}
		defects = append(defects, d)
	}
	return defects
}

// nearOverflow starts the sequence numbers of a directory a little below their overflow. An order
// by czxid then costs a request per contender.
func nearOverflow(s *scenarios.Subject) {
	s.Sequence = math.MaxInt32 - 2
	s.Limits.Requests, s.Limits.RequestsPerChange = history.Unbounded, history.Unbounded
}

// allowRequest raises the limits by one request per acquire.
func allowRequest(s *scenarios.Subject) { s.Limits.Requests++ }

// replacing returns correctSteps with a replacement.
func replacing(replace func(*steps)) steps {
	s := correctSteps
	replace(&s)
	return s
}

var (
	// byCreation is the recipe with an order that survives the overflow of sequence numbers.
	byCreation = recipe{steps: replacing(func(s *steps) {
		s.predecessors = (*recipeLock).earlierNodes
	})}
	// shared is the recipe in a directory that holds a node of something else.
	shared = recipe{steps: replacing(func(s *steps) {
		s.lock = (*recipeLock).lockBesideForeignNode
		s.predecessors = (*recipeLock).predecessorsButForeign
	})}
)

var museum = []exhibit{
	// Creates whose reply is lost.
	{entry: entry{
		"search-once", history.Progress,
		"searches only once for the node of a create whose reply was lost",
		"samuel/go-zookeeper#229 and #237",
		recipe{},
		func(r *recipe) {
			r.steps.create = (*recipeLock).createSearchOnce
			r.steps.cleanUp = (*recipeLock).deleteKnownNode
		}, nil,
	}},
	{entry: entry{
		"abandoned-create", history.Progress,
		"does not delete the node of a create that was in flight when the caller canceled",
		"CURATOR-79",
		recipe{},
		func(r *recipe) {
			r.steps.create = (*recipeLock).createAbandoned
			r.steps.cleanUp = (*recipeLock).keepAbandoned
		}, nil,
	}},
	{entry: entry{
		"stacked-prefix", history.Progress,
		"puts another GUID before the name when it repeats a create",
		"CURATOR-190",
		recipe{},
		func(r *recipe) {
			r.steps.create = (*recipeLock).createStacked
			r.steps.predecessors = (*recipeLock).predecessorsUnchecked
		}, nil,
	}},
	{entry: entry{
		"relative-path", history.Progress,
		"stores the node that it finds again without its directory, and takes it for another's",
		"ZOOKEEPER-645, still in ZooKeeper's WriteLock recipe",
		recipe{},
		func(r *recipe) {
			r.steps.create = (*recipeLock).createRelative
			r.steps.predecessors = (*recipeLock).predecessorsOfRelative
		}, nil,
	}},
	{servers: 3, entry: entry{
		"duplicate-create", history.Progress,
		"searches for its node on a server that lags, and creates a second one",
		"Curator, kazoo and go-zookeeper/zk: no sync before the search",
		recipe{},
		func(r *recipe) { r.steps.predecessors = (*recipeLock).predecessorsUnchecked }, nil,
	}},
	{entry: entry{
		"probe-node", history.Progress,
		"creates a node to test the connection and does not delete it",
		"spring-projects/spring-integration#2557",
		recipe{},
		func(r *recipe) { r.steps.create = (*recipeLock).createProbe }, nil,
	}, setUp: allowRequest},
	{entry: entry{
		"persistent-node", history.Progress,
		"queues with a node that outlives its session",
		"linkedin/brooklin#747",
		recipe{},
		func(r *recipe) {
			r.steps.create = (*recipeLock).createPersistent
			r.steps.predecessors = (*recipeLock).predecessorsUnchecked
		}, nil,
	}},

	// Clean-up.
	{entry: entry{
		"clean-up-once", history.Progress,
		"does not retry the clean-up of a failed attempt",
		"python-zk/kazoo#732 and #760",
		recipe{},
		func(r *recipe) { r.steps.cleanUp = (*recipeLock).cleanUpOnce }, nil,
	}},
	{entry: entry{
		"time-out-leak", history.Progress,
		"does not delete its node when the caller's time is up",
		"zk-ruby/zk#49, HUDI-2099",
		recipe{},
		func(r *recipe) { r.steps.cleanUp = (*recipeLock).cleanUpUnlessCanceled }, nil,
	}},
	{entry: entry{
		"watch-throws", history.Progress,
		"fails without a clean-up when its predecessor goes before it can be watched",
		"a published Java lock based on Curator",
		recipe{},
		func(r *recipe) {
			r.steps.wait = (*recipeLock).waitForExisting
			r.steps.cleanUp = (*recipeLock).cleanUpUnlessGone
		}, nil,
	}},
	{entry: entry{
		"wrong-clean-up-path", history.NoLeakedNodes,
		"repeats a failed delete on a path with the directory twice, and takes no node for success",
		"Curator before 2012, with a namespace",
		recipe{},
		func(r *recipe) { r.steps.release = (*recipeLock).releaseWrongPath },
		[]history.Property{history.Progress, history.LossNotification},
	}},
	{entry: entry{
		"recreate-after-cancel", history.NoLeakedNodes,
		"queues again when the watch of a canceled attempt fires",
		"CURATOR-3, ZooKeeper's WriteLock and zoo_lock recipes",
		recipe{},
		func(r *recipe) { r.steps.wait = (*recipeLock).waitThenRecreate }, nil,
	}},
	{entry: entry{
		"delete-directory", history.Progress,
		"deletes the directory at its release if it is empty; a create there then fails",
		"Curator before 2011, CURATOR-180, python-zk/kazoo#61",
		recipe{retries: true},
		func(r *recipe) { r.steps.release = (*recipeLock).releaseWithDirectory }, nil,
	}},
	{entry: entry{
		"delete-first", history.LossNotification,
		"releases by the deletion of the first node of the queue",
		"etcd-io/etcd, commit d1ae4cd5b: resigns by the key of the present leader",
		recipe{},
		func(r *recipe) { r.steps.release = (*recipeLock).releaseFirst }, nil,
	}},

	// Order.
	{entry: entry{
		"equal-numbers", history.ServerMutualExclusion,
		"does not order nodes with equal sequence numbers, as after their overflow",
		"go-zookeeper/zk and python-zk/kazoo on ZooKeeper 3.6 and later", byCreation,
		func(r *recipe) { r.steps.predecessors = (*recipeLock).predecessorsByNumber }, nil,
	}, setUp: nearOverflow},
	{entry: entry{
		"foreign-node", history.Progress,
		"takes every node of the directory for a contender",
		"CURATOR-43", shared,
		func(r *recipe) { r.steps.predecessors = (*recipeLock).predecessors }, nil,
	}, setUp: allowRequest},
	{entry: entry{
		"requeue", history.NoStarvation,
		"joins the queue again, at its end, when its predecessor goes before it can be watched",
		"ZOOKEEPER-3162: ZooKeeper's zoo_lock recipe since then",
		recipe{},
		func(r *recipe) { r.steps.wait = (*recipeLock).waitOrRequeue }, nil,
	}},

	// State of the process that is not the state of the ensemble.
	{entry: entry{
		"count-before-lock", history.LossNotification,
		"counts an acquire before it has the lock, and keeps the count when the attempt fails",
		"a published Java lock based on Curator",
		recipe{reentrant: true},
		func(r *recipe) { r.steps.lock = (*recipeLock).lockCountingFirst }, nil,
	}},
	{entry: entry{
		"negative-count", history.LossNotification,
		"takes any count but zero for a hold; an attempt that fails counts down",
		"a published Java lock based on Curator: its time-out unlocks, and so does its caller",
		recipe{reentrant: true},
		func(r *recipe) {
			r.steps.lock = (*recipeLock).lockIfCounted
			r.steps.cleanUp = (*recipeLock).cleanUpCountingDown
		}, nil,
	}},
	{entry: entry{
		"stuck-after-expiry", history.NoSpuriousFailure,
		"refuses every acquire after a lock was lost with its session",
		"go-zookeeper/zk v1.0.4: Unlock fails and keeps the path; Lock then reports a deadlock",
		recipe{retries: true},
		func(r *recipe) {
			r.steps.lock = (*recipeLock).lockUnlessNode
			r.steps.release = (*recipeLock).releaseKeepingNode
		}, nil,
	}},
	{entry: entry{
		"sticky-cancel", history.NoSpuriousFailure,
		"fails the attempt after a canceled one",
		"python-zk/kazoo: Lock.cancel",
		recipe{retries: true},
		func(r *recipe) { r.steps.lock = (*recipeLock).lockUnlessCanceled }, nil,
	}},
	{entry: entry{
		"delete-all", history.LossNotification,
		"releases by the deletion of all nodes",
		"etcd-io/etcd, commit 5b8c6b548: deletes by the prefix",
		recipe{},
		func(r *recipe) { r.steps.release = (*recipeLock).releaseAll }, nil,
	}},

	// Calls with a time limit.
	{entry: entry{
		"try-waits", history.Promptness,
		"a try that finds the lock held waits until it is free",
		"python-zk/kazoo#321: the try of a semaphore waits for its inner lock; and #315",
		polled,
		func(r *recipe) { r.steps.wait = (*recipeLock).wait }, nil,
	}, setUp: allowPolling},

	// Single barriers.
	{servers: 3, entry: entry{
		"stale-barrier", history.NoEarlyPass,
		"passes a barrier that the server which it reads does not know yet",
		"Curator, DistributedBarrier.waitOnBarrier, and kazoo, Barrier.wait: an exists, no sync",
		singleBarrier,
		func(r *recipe) { r.staleBarrier = true }, nil,
	}},
	{entry: entry{
		"heeds-deletion-alone", history.Progress,
		"waits at a barrier for a deletion alone, although its session and watch have ended",
		"kazoo, Barrier.wait: the session's end resets its watch, with an event that it ignores",
		singleBarrier,
		func(r *recipe) { r.heedsDeletion = true }, nil,
	}},
}
