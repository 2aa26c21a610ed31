// Package replay performs runs without goroutines: it replays the reactions that the code of
// processes is known to have, and runs that code only where a reaction is not known yet.
package replay

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/hash64"
	"github.com/interlock-sim/interlock/internal/searchmutation"
	"github.com/interlock-sim/interlock/sim"
)

// A LocalHistory is everything that has reached the code of one process, with times, and the
// process's reaction to the last of it. Lock code is deterministic, so equal local histories have
// equal reactions: the code runs once to find a reaction, and never again. The local histories of a
// process form a tree, whose root is its start.
type LocalHistory struct {
	Parent *LocalHistory
	after  time.Duration // time since the parent
	// What has reached the process since then, nil if nothing has: from the loop, and after that
	// from its client.
	inputs   []input
	received sim.Inputs
	next     []*LocalHistory
	hash     uint64 // over the path from the root
	step     uint64 // over the last inputs
	depth    int
	initial  *initialState // of the root, shared by all descendants

	Outside uint64 // hash of what is visible of the process from outside
	Reacts  uint64 // the same, with the last reaction

	reaction
}

// An initialState is how a process starts.
type initialState struct {
	number, cycles int
	place          engine.Place
	client         sim.InitialState
	// since the start of the run, because the process can read the clock
	at time.Duration
}

// A reaction is what a process does after an input, and what it will do by itself.
type reaction struct {
	events []history.Event
	client sim.Reaction // what the process asks of its client

	engine.ProcessState
	holds       bool
	ownResource bool            // the hold has a resource of its own
	register    engine.Register // as the process left it, if its gate opened

	openCalls                  uint64 // hash of the open calls and watches of the client
	unanswered, unfiredWatches int    // of that, the calls and the watches

	// ActsAfter is when the process acts by itself if nothing reaches it before; see
	// [Cache.PredictTimers].
	ActsAfter      time.Duration
	LostAfter      time.Duration // when its hold reports a loss if nothing reaches it before
	PredictedUntil time.Duration // how far the two are known
	dead           bool          // all its goroutines have ended
	probed         bool          // leaks is known
	// a goroutine would outlive the end of the run; see [Cache.ProbeLeak]
	leaks bool
}

// Never is later than any run.
const Never = time.Duration(math.MaxInt64)

// An input is one thing that reaches the code of a process, other than from its client.
type input struct {
	kind     inputKind
	register engine.Register // of resume: the register that the process finds
	resuming bool            // of resume: the process was paused until a moment ago
}

type inputKind uint8

const (
	resume        inputKind = iota + 1 // the gate opens
	cancelAttempt                      // the context of the attempt ends
	checkLoss                          // the loop asks whether the hold is lost
)

func (s *input) hash() uint64 {
	switch s.kind {
	case resume:
		if s.resuming {
			return s.register.Key(^uint64(resume))
		}
		return s.register.Key(uint64(resume))
	}
	return uint64(s.kind)
}

// find returns the child that the inputs lead to, or nil if it is not known.
func (p *LocalHistory) find(step uint64) *LocalHistory {
	for _, next := range p.next {
		if next.step == step {
			return next
		}
	}
	return nil
}

// stepOf returns a 64-bit hash of inputs that arrive after that time.
func stepOf(after time.Duration, inputs []input, client sim.StubClient) uint64 {
	h := uint64(after)
	if searchmutation.Active == searchmutation.UntimedCache {
		h = 0
	}
	for i := range inputs {
		h = hash64.Mix(h, inputs[i].hash())
	}
	if client.Waiting() {
		h = hash64.Mix(h, client.Hash())
	}
	return h
}

func (o *initialState) hash() uint64 {
	h := hash64.Mix(hash64.Mix(uint64(o.number)<<16|uint64(o.cycles), o.client.Hash()),
		uint64(o.at))
	if o.place.PID > 1 {
		h = hash64.Mix(h, uint64(o.place.Host)<<16|uint64(o.place.PID))
	}
	return h
}

// path returns the local histories from the root to this one.
func (p *LocalHistory) path() []*LocalHistory {
	path := make([]*LocalHistory, p.depth+1)
	for ; p != nil; p = p.Parent {
		path[p.depth] = p
	}
	return path
}

// A Cache holds the known reactions of a scenario's processes.
type Cache struct {
	Executor cachedExecutor // of the run under way
	scenario *engine.Scenario
	t        *testing.T
	roots    map[initialState]*LocalHistory
	Count    int
	last     []*LocalHistory // where the processes of the last run ended
	// goroutines of the lock outlive its use, so that no process is ever dead
	endless       bool
	outlived      int                              // how often goroutines were left then
	Merges        bool                             // local histories are merged; see StateKey
	liveProcesses [sim.ClientsMax + 1]*liveProcess // by number of the process
	spares        []*engine.IsolatedProcess        // whose memory the next ones reuse
}

// NewCache returns an empty cache for processes of the scenario.
func NewCache(scenario *engine.Scenario, t *testing.T) *Cache {
	return &Cache{scenario: scenario, t: t, roots: make(map[initialState]*LocalHistory)}
}

// root returns the local history of a process that has just started.
func (t *Cache) root(begins initialState) *LocalHistory {
	root := t.roots[begins]
	if root == nil {
		root = &LocalHistory{initial: &begins}
		root.hash = begins.hash()
		t.execute(root)
		t.roots[begins] = root
	}
	return root
}

// react returns the local history that follows when the inputs arrive, first those of the loop and
// then those of the client. If it is not known, the code of the process runs.
func (t *Cache) react(p *LocalHistory, after time.Duration, inputs []input,
	client sim.StubClient,
) *LocalHistory {
	step := stepOf(after, inputs, client)
	if next := p.find(step); next != nil {
		return next
	}
	next := &LocalHistory{after: after, inputs: slices.Clone(inputs), step: step}
	if client.Waiting() {
		next.received = client.Inputs()
	}
	return t.append(p, next)
}

// Repeat returns the local history that follows on p when the last inputs of another one arrive.
func (t *Cache) Repeat(p, last *LocalHistory) *LocalHistory {
	if next := p.find(last.step); next != nil {
		return next
	}
	return t.append(p, &LocalHistory{
		after: last.after, inputs: last.inputs, received: last.received, step: last.step,
	})
}

// append executes a local history that follows on p.
func (t *Cache) append(p, next *LocalHistory) *LocalHistory {
	next.Parent, next.hash, next.depth, next.initial = p, hash64.Mix(p.hash, next.step), p.depth+1,
		p.initial
	t.execute(next)
	p.next = append(p.next, next)
	return next
}

// execute runs the code of the process up to the local history, and stores its reaction.
func (t *Cache) execute(p *LocalHistory) {
	t.Count++
	e := t.liveBefore(p.Parent, p)
	e.do(func(s *isolatedProcess) {
		if p.Parent != nil {
			s.apply(p)
		}
		p.reaction = s.reaction()
		p.ActsAfter, p.LostAfter = Never, Never
		if s.loses() {
			p.LostAfter = 0
		}
		p.openCalls = s.connection.OpenCalls()
		p.unanswered, p.unfiredWatches = s.connection.Awaits()
	})
	e.at = p
	if p.Over && p.unanswered == 0 && !t.endless {
		t.probeDeath(p)
	}
	p.computeHashes()
}

// probeDeath finds out whether all goroutines of a process have ended.
func (t *Cache) probeDeath(p *LocalHistory) {
	if t.PredictTimers(p, predictionHorizon); p.ActsAfter != Never {
		return
	}
	left := t.end(t.liveAt(p), true)
	p.dead, p.probed = !left, !left
	if left {
		t.outlived++
	}
	// Or else what is left may end with the watch for which it waits.
	t.endless = left && (p.unfiredWatches == 0 || t.outlived >= outlivedMax)
}

// outlivedMax bounds how often goroutines may outlive the use of a lock, because nothing can end
// them.
const outlivedMax = 100

// predictionHorizon is how long a process runs alone to see when it acts.
const predictionHorizon = 10 * time.Minute

// PredictTimers finds out what the process does by itself within that time, if nothing reaches it.
func (t *Cache) PredictTimers(p *LocalHistory, within time.Duration) {
	if p.ActsAfter == Never && p.PredictedUntil < within {
		t.liveAt(p).do(func(s *isolatedProcess) { s.predictTimers(p, within) })
	}
}

// ProbeLeak finds out whether a goroutine of the process would outlive a run that ended here.
func (t *Cache) ProbeLeak(p *LocalHistory) bool {
	if !p.probed {
		p.leaks, p.probed = t.end(t.liveAt(p), false), true
	}
	return p.leaks
}
