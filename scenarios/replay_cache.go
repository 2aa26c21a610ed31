package scenarios

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
)

// A localHistory is everything that has reached the code of one process, with times, and the
// process's reaction to the last of it. Lock code is deterministic, so equal local histories have
// equal reactions: the code runs once to find a reaction, and never again. The local histories of a
// process form a tree, whose root is its start.
type localHistory struct {
	parent *localHistory
	after  time.Duration // time since the parent
	// What has reached the process since then: from the loop, and after that from its client. Nil
	// is nothing.
	inputs   []input
	received Inputs
	next     []*localHistory
	hash     uint64 // over the path from the root
	step     uint64 // over the last inputs
	depth    int
	initial  *initialState // of the root, shared by all descendants

	outside uint64 // hash of what is visible of the process from outside
	reacts  uint64 // the same, with the last reaction

	reaction
}

// An initialState is how a process starts.
type initialState struct {
	number, cycles int
	client         InitialState
	// since the start of the run, because the process can read the clock
	at time.Duration
}

// A reaction is what a process does after an input, and what it will do by itself.
type reaction struct {
	events []history.Event
	client Reaction // what the process asks of its client

	processState
	holds       bool
	ownResource bool     // the hold has a resource of its own
	register    register // as the process left it, if its gate opened

	openCalls                  uint64 // hash of the open calls and watches of the client
	unanswered, unfiredWatches int    // of that, the calls and the watches

	// actsAfter is when the process acts by itself if nothing reaches it before; see
	// [replayCache.predictTimers].
	actsAfter      time.Duration
	lostAfter      time.Duration // when its hold reports a loss, likewise
	predictedUntil time.Duration // how far the two are known
	dead           bool          // all its goroutines have ended
	probed         bool          // leaks is known
	// a goroutine would outlive the end of the run; see [replayCache.probeLeak]
	leaks bool
}

// never is later than any run.
const never = time.Duration(math.MaxInt64)

// An input is one thing that reaches the code of a process, other than from its client.
type input struct {
	kind     inputKind
	register register // of resume: the register that the process finds
	dazed    bool     // of resume: the process was paused until a moment ago
}

type inputKind uint8

const (
	resume        inputKind = iota + 1 // the gate opens
	cancelAttempt                      // the context of the attempt ends
	checkLoss                          // the loop asks whether the hold is lost; see [process.checkLoss]
)

func (s *input) hash() uint64 {
	switch s.kind {
	case resume:
		if s.dazed {
			return s.register.key(^uint64(resume))
		}
		return s.register.key(uint64(resume))
	}
	return uint64(s.kind)
}

// find returns the child that the inputs lead to, or nil if it is not known.
func (p *localHistory) find(step uint64) *localHistory {
	for _, next := range p.next {
		if next.step == step {
			return next
		}
	}
	return nil
}

// stepOf returns a 64-bit hash of inputs that arrive after that time.
func stepOf(after time.Duration, inputs []input, client StubClient) uint64 {
	h := uint64(after)
	if mutated == untimedCache {
		h = 0
	}
	for i := range inputs {
		h = mix(h, inputs[i].hash())
	}
	if client.Waiting() {
		h = mix(h, client.Hash())
	}
	return h
}

func (o *initialState) hash() uint64 {
	return mix(mix(uint64(o.number)<<16|uint64(o.cycles), o.client.Hash()), uint64(o.at))
}

// path returns the local histories from the root to this one.
func (p *localHistory) path() []*localHistory {
	path := make([]*localHistory, p.depth+1)
	for ; p != nil; p = p.parent {
		path[p.depth] = p
	}
	return path
}

// A replayCache holds the known reactions of a scenario's processes.
type replayCache struct {
	executor replayExecutor // of the run under way
	scenario *Scenario
	t        *testing.T
	roots    map[initialState]*localHistory
	count    int
	last     []*localHistory // where the processes of the last run ended
	// goroutines of the lock outlive its use, so that no process is ever dead
	endless       bool
	outlived      int                          // how often goroutines were found to
	merges        bool                         // see [state]
	liveProcesses [ClientsMax + 1]*liveProcess // by number of the process
	spares        []*isolated                  // whose memory the next ones reuse
}

func newReplayCache(scenario *Scenario, t *testing.T) *replayCache {
	return &replayCache{scenario: scenario, t: t, roots: make(map[initialState]*localHistory)}
}

// root returns the local history of a process that has just started.
func (t *replayCache) root(begins initialState) *localHistory {
	root := t.roots[begins]
	if root == nil {
		root = &localHistory{initial: &begins}
		root.hash = begins.hash()
		t.execute(root)
		t.roots[begins] = root
	}
	return root
}

// react returns the local history that follows when the inputs arrive, first those of the loop and
// then those of the client. If it is not known, the code of the process runs.
func (t *replayCache) react(p *localHistory, after time.Duration, inputs []input,
	client StubClient,
) *localHistory {
	step := stepOf(after, inputs, client)
	if next := p.find(step); next != nil {
		return next
	}
	next := &localHistory{after: after, inputs: slices.Clone(inputs), step: step}
	if client.Waiting() {
		next.received = client.Inputs()
	}
	return t.append(p, next)
}

// repeat returns the local history that follows on p when the last inputs of another one arrive.
func (t *replayCache) repeat(p, last *localHistory) *localHistory {
	if next := p.find(last.step); next != nil {
		return next
	}
	return t.append(p, &localHistory{
		after: last.after, inputs: last.inputs, received: last.received, step: last.step,
	})
}

// append executes a local history that follows on p.
func (t *replayCache) append(p, next *localHistory) *localHistory {
	next.parent, next.hash, next.depth, next.initial = p, mix(p.hash, next.step), p.depth+1,
		p.initial
	t.execute(next)
	p.next = append(p.next, next)
	return next
}

// execute runs the code of the process up to the local history, and stores its reaction.
func (t *replayCache) execute(p *localHistory) {
	t.count++
	e := t.liveBefore(p.parent, p)
	e.do(func(s *isolatedProcess) {
		if p.parent != nil {
			s.apply(p)
		}
		p.reaction = s.reaction()
		p.actsAfter, p.lostAfter = never, never
		if s.loses() {
			p.lostAfter = 0
		}
		p.openCalls = s.connection.OpenCalls()
		p.unanswered, p.unfiredWatches = s.connection.Awaits()
	})
	e.at = p
	if p.over && p.unanswered == 0 && !t.endless {
		t.probeDeath(p)
	}
	p.computeHashes()
}

// probeDeath finds out whether all goroutines of a process have ended.
func (t *replayCache) probeDeath(p *localHistory) {
	if t.predictTimers(p, predictionHorizon); p.actsAfter != never {
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

// predictTimers finds out what the process does by itself within that time, if nothing reaches it.
func (t *replayCache) predictTimers(p *localHistory, within time.Duration) {
	if p.actsAfter == never && p.predictedUntil < within {
		t.liveAt(p).do(func(s *isolatedProcess) { s.predictTimers(p, within) })
	}
}

// probeLeak finds out whether a goroutine of the process would outlive a run that ended here.
func (t *replayCache) probeLeak(p *localHistory) bool {
	if !p.probed {
		p.leaks, p.probed = t.end(t.liveAt(p), false), true
	}
	return p.leaks
}
