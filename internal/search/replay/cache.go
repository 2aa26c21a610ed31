// Package replay performs runs without goroutines: it replays the reactions that the code of
// processes is known to have, and runs that code only where a reaction is not known yet.
package replay

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// An initialState is how a process starts.
type initialState struct {
	number, cycles int
	place          sim.Place
	client         sim.InitialState
	// since the start of the run, because the process can read the clock
	at time.Duration
}

func (o *initialState) hash() uint64 {
	h := hash64.Mix(hash64.Mix(uint64(o.number)<<16|uint64(o.cycles), o.client.Hash()),
		uint64(o.at))
	if o.place.PID > 1 {
		h = hash64.Mix(h, uint64(o.place.Host)<<16|uint64(o.place.PID))
	}
	return h
}

// A Cache holds the known reactions of a scenario's processes. One worker uses it; other workers
// have caches that share what is known; see [Cache.Share].
type Cache struct {
	*historyTree
	Executor      cachedExecutor // of the run under way
	scenario      *scenarios.Scenario
	t             *testing.T
	last          []LocalHistory                   // where the processes of the last run ended
	liveProcesses [sim.ClientsMax + 1]*liveProcess // by number of the process
	spares        []*engine.IsolatedProcess        // whose memory the next ones reuse
}

// NewCache returns an empty cache for processes of the scenario. It merges local histories, or
// distinguishes all of them; see StateKey.
func NewCache(scenario *scenarios.Scenario, t *testing.T, merges bool) *Cache {
	return &Cache{historyTree: newHistoryTree(merges), scenario: scenario, t: t}
}

// Share returns a cache for another worker, which knows what this one knows and gets to know.
func (t *Cache) Share() *Cache {
	return &Cache{historyTree: t.historyTree, scenario: t.scenario, t: t.t}
}

// root returns the local history of a process that has just started.
func (t *Cache) root(begins initialState) LocalHistory {
	root, fresh := t.claimRoot(begins)
	if fresh {
		t.execute(root, &begins)
		t.publish(root)
	}
	return root
}

// react returns the local history that follows when the inputs arrive, first those of the loop and
// then those of the client. If it is not known, the code of the process runs.
func (t *Cache) react(h LocalHistory, after time.Duration, inputs []input,
	client sim.StubClient,
) LocalHistory {
	return t.follow(h, t.stepNumber(after, inputs, client))
}

// Repeat returns the local history that follows on h when the last inputs of another one arrive.
func (t *Cache) Repeat(h, last LocalHistory) LocalHistory { return t.follow(h, t.node(last).step) }

// follow returns the local history that follows on h after a step.
func (t *Cache) follow(h LocalHistory, step uint32) LocalHistory {
	next, fresh := t.claim(h, step)
	if fresh {
		t.execute(next, t.initial(h))
		t.publish(next)
	}
	return next
}

// execute runs the code of the process up to the local history, and stores its reaction.
func (t *Cache) execute(h LocalHistory, initial *initialState) {
	r, p := t.observe(h, initial)
	t.setReaction(h, r)
	t.predict(h, p)
	if r.Over && r.unanswered == 0 && !t.outlives() && t.probeDeath(h) {
		t.setReaction(h, t.died(h, r))
	}
}

// observe runs the code of the process up to the local history. It returns the reaction, and what
// is known then of what the process will do by itself.
func (t *Cache) observe(h LocalHistory, initial *initialState) (r *reaction, p Prediction) {
	parent := t.Parent(h)
	e := t.liveBefore(h, initial)
	e.do(func(s *isolatedProcess) {
		if parent != 0 {
			s.settle()
			e.astray = !s.apply(t.stepOf(h)) || e.astray
		}
		if e.astray {
			s.drop()
		}
		r = s.reaction()
		p = Prediction{fires: s.nextTimer(), loses: s.loses()}
		if e.astray { // It cannot go on from what has been done: it counts as waiting for ever.
			r.ProcessState, r.events = t.reaction(parent).ProcessState, nil
			r.Waiting, p.fires = false, Never
		}
		r.openCalls = s.connection.OpenCalls()
		r.unanswered, r.unfiredWatches = s.connection.Awaits()
		r.listens = s.connection.Listens()
	})
	e.at = h
	t.note(e)
	r.initial = initial
	if !t.resumes(h) {
		r.register = engine.Register{} // Nobody has read it.
	}
	r.computeHashes(t.resumes(h))
	return r, p
}

// resumes reports whether a gate opens in the last step.
func (t *Cache) resumes(h LocalHistory) bool { return t.Parent(h) != 0 && t.stepOf(h).resumes }

// died returns the reaction of a process all of whose goroutines have ended.
func (t *Cache) died(h LocalHistory, r *reaction) *reaction {
	dead := *r
	dead.dead = true
	dead.computeHashes(t.resumes(h))
	return &dead
}

// probeDeath reports whether all goroutines of a process have ended.
func (t *Cache) probeDeath(h LocalHistory) (dead bool) {
	if t.Prediction(h).fires != Never {
		return false
	}
	left := t.end(t.liveAt(h), true)
	if left {
		t.noteOutlived(t.reaction(h).unfiredWatches == 0)
		return false
	}
	p := t.Prediction(h)
	p.probed = true
	t.predict(h, p)
	return true
}

// FiresWithin returns when the first timer of the process fires, or [Never] if none does within the
// time.
func (t *Cache) FiresWithin(h LocalHistory, within time.Duration) time.Duration {
	p := t.Prediction(h)
	if p.Until < min(within, p.fires) {
		p.Until = within
		t.predict(h, p)
	}
	return p.FiresWithin(within)
}

// ProbeLeak finds out whether a goroutine of the process would outlive a run that ended here.
func (t *Cache) ProbeLeak(h LocalHistory) bool {
	p := t.Prediction(h)
	if !p.probed {
		p.leaks, p.probed = t.end(t.liveAt(h), false), true
		t.predict(h, p)
	}
	return p.leaks
}
