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

// A localHistory is all that has reached a process's code so far, each thing at its time, and what
// the process has done upon the last of it. Lock code is deterministic, so one localHistory has one
// outcome: once the code has been run to find it out, nobody need run it again. The pasts of a
// process are a tree, whose root is its start.
type localHistory struct {
	parent  *localHistory
	after   time.Duration // how long after the parent
	inputs  []input
	next    []*localHistory
	hash    uint64 // over the way from the root
	step    uint64 // over what has reached the process last
	depth   int
	initial *initialState // of the root, and the same of all that follow on it

	outside uint64 // how the process looks from outside
	reacts  uint64 // the same, and what it has done last

	reaction
}

// An initialState is how a process begins.
type initialState struct {
	number, cycles int
	session        int64         // that its client has, 0 if it has none yet
	state          zk.State      // of its client
	at             time.Duration // since the run began, which the process can tell by the clock
}

// A reaction is what a process has done, and what it is going to do by itself.
type reaction struct {
	events []history.Event
	calls  []wire.Request // new ones
	kept   []int32        // which of the calls that waited wait on; nil if all do
	closed bool           // the process has closed its client

	stage       stage
	attempt     int32
	gate        StepKind
	waits       bool // at the gate
	cancelled   bool
	holds       bool
	ownResource bool // the hold brings a resource of its own
	lost        bool
	over        bool
	panics      string
	register    register // as the process has left it, once its gate has opened

	openCalls                  uint64 // what is open between the process and its client
	unanswered, unfiredWatches int    // of that, the calls and the watches

	// when it will do something by itself, if nothing reaches it before; see pasts.foresee
	actsAfter      time.Duration
	lostAfter      time.Duration // when its hold tells that it is lost, likewise
	predictedUntil time.Duration // up to when these are known
	dead           bool          // its goroutines have ended, all of them
	probed         bool          // it is known
	// whether one of its goroutines would not end if the run did; see pasts.tear
	leaks bool
}

// never is later than any run lasts.
const never = time.Duration(math.MaxInt64)

// A input is one thing that reaches a process's code.
type input struct {
	kind   inputKind
	client simzk.Input // of fromClient
	// of resume: what the process finds, which uses the register only between its gates
	register register
	dazed    bool // of resume: the process is
}

type inputKind uint8

const (
	fromClient    inputKind = iota
	resume                  // the gate opens
	cancelAttempt           // the context of the attempt ends
	checkLoss               // the loop looks whether the hold is lost; see process.checkLoss
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

// find returns the past that follows, nil if it has not come up yet.
func (p *localHistory) find(step uint64) *localHistory {
	for _, next := range p.next {
		if next.step == step {
			return next
		}
	}
	return nil
}

// stepOf returns 64 bits over stimuli that come after that time.
func stepOf(after time.Duration, stimuli []input) uint64 {
	h := uint64(after)
	if mutated == untimedCache {
		h = 0
	}
	for i := range stimuli {
		h = mix(h, stimuli[i].hash())
	}
	return h
}

func (o *initialState) hash() uint64 {
	return mix(mix(uint64(o.number)<<16|uint64(o.cycles), uint64(o.session)),
		uint64(o.at)<<8|uint64(o.state))
}

// path returns the pasts from the root to this one.
func (p *localHistory) path() []*localHistory {
	way := make([]*localHistory, p.depth+1)
	for ; p != nil; p = p.parent {
		way[p.depth] = p
	}
	return way
}

// Pasts is what is known of the code of a scenario's processes.
type replayCache struct {
	executor replayExecutor // of the run under way
	scenario *Scenario
	t        *testing.T
	roots    map[initialState]*localHistory
	count    int
	last     []*localHistory // to which the processes of the last run have come
	// goroutines of the lock outlive its use, so that no process is ever dead
	endless       bool
	outlived      int                          // how often goroutines were found to
	merges        bool                         // see state
	liveProcesses [ClientsMax + 1]*liveProcess // under way, by the number of the process
	spareLoops    []*loop                      // in whose memory the next ones are made
}

func newReplayCache(scenario *Scenario, t *testing.T) *replayCache {
	return &replayCache{scenario: scenario, t: t, roots: make(map[initialState]*localHistory)}
}

// root returns the past of a process that has just begun.
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

// extend returns the past that follows on p when the stimuli come. If it has not come up yet the
// process's code is run.
func (t *replayCache) extend(p *localHistory, after time.Duration, stimuli []input) *localHistory {
	step := stepOf(after, stimuli)
	if next := p.find(step); next != nil {
		return next
	}
	next := &localHistory{
		parent: p, after: after, inputs: retained(stimuli), hash: mix(p.hash, step), step: step,
		depth:   p.depth + 1,
		initial: p.initial,
	}
	t.execute(next)
	p.next = append(p.next, next)
	return next
}

// retained returns stimuli that stay as they are whatever becomes of the calls that they answer.
func retained(stimuli []input) []input {
	stimuli = slices.Clone(stimuli)
	for i := range stimuli {
		if r := stimuli[i].client.Result; r != nil {
			result := *r
			result.Results = slices.Clone(r.Results)
			stimuli[i].client.Result = &result
		}
	}
	return stimuli
}

// execute runs the process's code through what has come last, and notes what it does upon that.
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

// outlivedMax is how often goroutines may be found to outlive the use of a lock: nobody can end
// these.
const outlivedMax = 100

// horizon is how long a process is left to itself to see when it acts.
const predictionHorizon = 10 * time.Minute

// predictTimers finds out what the process will do by itself within that time after the past, if
// nothing reaches it.
func (t *replayCache) predictTimers(p *localHistory, within time.Duration) {
	if p.actsAfter == never && p.predictedUntil < within {
		t.liveAt(p).do(func(s *isolatedProcess) { s.predictTimers(p, within) })
	}
}

// probeLeak finds out whether a goroutine of the process would be left if the run ended after the
// past.
func (t *replayCache) probeLeak(p *localHistory) bool {
	if !p.probed {
		p.leaks, p.probed = t.end(t.liveAt(p), false), true
	}
	return p.leaks
}
