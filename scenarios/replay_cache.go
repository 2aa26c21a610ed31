package scenarios

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A localHistory is everything that has reached the code of one process, with times, and the
// process's reaction to the last of it. Lock code is deterministic, so equal local histories have
// equal reactions: the code runs once to find a reaction, and never again. The local histories of a
// process form a tree, whose root is its start.
type localHistory struct {
	parent  *localHistory
	after   time.Duration // time since the parent
	inputs  []input
	next    []*localHistory
	hash    uint64 // over the path from the root
	step    uint64 // over the last inputs
	depth   int
	initial *initialState // of the root, shared by all descendants

	outside uint64 // hash of what is visible of the process from outside
	reacts  uint64 // the same, with the last reaction

	reaction
}

// An initialState is how a process starts.
type initialState struct {
	number, cycles int
	session        int64    // of its client; 0 if it has none yet
	state          zk.State // of its client
	// since the start of the run, because the process can read the clock
	at time.Duration
}

// A reaction is what a process does after an input, and what it will do by itself.
type reaction struct {
	events []history.Event
	calls  []wire.Request // new requests
	kept   []int32        // the earlier requests that are still waited for; nil if all are
	closed bool           // the process closed its client

	stage       stage
	attempt     int32
	gate        StepKind
	waits       bool // at the gate
	cancelled   bool
	holds       bool
	ownResource bool // the hold has a resource of its own
	lost        bool
	over        bool
	panics      string
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

// An input is one thing that reaches the code of a process.
type input struct {
	kind     inputKind
	client   simzk.Input // of fromClient
	register register    // of resume: the register that the process finds
	dazed    bool        // of resume: the process was paused until a moment ago
}

type inputKind uint8

const (
	fromClient    inputKind = iota
	resume                  // the gate opens
	cancelAttempt           // the context of the attempt ends
	checkLoss               // the loop asks whether the hold is lost; see [process.checkLoss]
)

func (s *input) hash() uint64 {
	switch s.kind {
	case fromClient:
		return s.client.Hash()
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
func stepOf(after time.Duration, inputs []input) uint64 {
	h := uint64(after)
	if mutated == untimedCache {
		h = 0
	}
	for i := range inputs {
		h = mix(h, inputs[i].hash())
	}
	return h
}

func (o *initialState) hash() uint64 {
	return mix(mix(uint64(o.number)<<16|uint64(o.cycles), uint64(o.session)),
		uint64(o.at)<<8|uint64(o.state))
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
	spareLoops    []*loop                      // whose memory the next ones reuse
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

// extend returns the local history that follows when the inputs arrive. If it is not known, the
// code of the process runs.
func (t *replayCache) extend(p *localHistory, after time.Duration, inputs []input) *localHistory {
	step := stepOf(after, inputs)
	if next := p.find(step); next != nil {
		return next
	}
	next := &localHistory{
		parent: p, after: after, inputs: retained(inputs), hash: mix(p.hash, step), step: step,
		depth:   p.depth + 1,
		initial: p.initial,
	}
	t.execute(next)
	p.next = append(p.next, next)
	return next
}

// retained returns a copy of inputs that does not change when the calls that they answer do.
func retained(inputs []input) []input {
	inputs = slices.Clone(inputs)
	for i := range inputs {
		if r := inputs[i].client.Result; r != nil {
			result := *r
			result.Results = slices.Clone(r.Results)
			inputs[i].client.Result = &result
		}
	}
	return inputs
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
		p.openCalls = s.client.OpenCalls()
		p.unanswered, p.unfiredWatches = s.client.Awaits()
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
