package replay

import (
	"math"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/flat"
	"github.com/interlock-sim/interlock/internal/hash64"
	"github.com/interlock-sim/interlock/internal/searchmutation"
	"github.com/interlock-sim/interlock/sim"
)

// A LocalHistory is everything that has reached the code of one process, with times, and the
// process's reaction to the last of it. Lock code is deterministic, so equal local histories have
// equal reactions: the code runs once to find a reaction, and never again. The local histories of a
// process form a tree, whose root is its start.
//
// It is the number of a node in its [Cache], which has millions of them, few distinct steps between
// them, and few distinct reactions. 0 is none.
type LocalHistory uint32

// A node is what the cache stores of a local history. All but the parent are numbers of distinct
// values that nodes share.
type node struct {
	parent     LocalHistory // 0 at the start of a process
	step       uint32
	reaction   uint32
	prediction uint32
}

// A historyTree holds the local histories of all processes.
type historyTree struct {
	nodes    flat.List[node] // by local history; the first is unused
	children flat.Index      // of local histories, by parent and step
	// hashes over the path from the root, by local history, unless local histories are merged
	hashes      flat.List[uint64]
	steps       steps
	reactions   reactions
	predictions predictions
}

func (t *historyTree) node(h LocalHistory) *node   { return t.nodes.At(uint32(h)) }
func (t *historyTree) stepOf(h LocalHistory) *step { return t.steps.list[t.node(h).step] }

func (t *historyTree) reaction(h LocalHistory) *reaction {
	return t.reactions.list[t.node(h).reaction]
}

func (t *historyTree) initial(h LocalHistory) *initialState { return t.reaction(h).initial }

// Parent returns the local history before the last step. It returns 0 for the start of a process.
func (t *historyTree) Parent(h LocalHistory) LocalHistory { return t.node(h).parent }

// Outside returns a hash of what is visible of the process from outside.
func (t *historyTree) Outside(h LocalHistory) uint64 { return t.reaction(h).outside }

// Reacts returns the same, with the last reaction.
func (t *historyTree) Reacts(h LocalHistory) uint64 { return t.reaction(h).reacts }

// Prediction returns what the process is known to do by itself after the local history.
func (t *historyTree) Prediction(h LocalHistory) Prediction {
	return t.predictions.list[t.node(h).prediction]
}

func (t *historyTree) predict(h LocalHistory, p Prediction) {
	t.node(h).prediction = t.predictions.number(p)
}

// child returns the local history to which a step leads, or 0 if that is not known.
func (t *historyTree) child(parent LocalHistory, step uint32) LocalHistory {
	child, _ := t.children.Find(edgeHash(parent, step), func(number uint32) bool {
		n := t.nodes.At(number)
		return n.parent == parent && n.step == step
	})
	return LocalHistory(child)
}

// add adds a local history without its reaction.
func (t *historyTree) add(parent LocalHistory, step uint32) LocalHistory {
	if t.nodes.Len() == 0 {
		t.nodes.Append(node{})
	}
	number := t.nodes.Append(node{parent: parent, step: step})
	if parent != 0 {
		t.children.Add(edgeHash(parent, step), number, func(number uint32) uint64 {
			n := t.nodes.At(number)
			return edgeHash(n.parent, n.step)
		})
	}
	return LocalHistory(number)
}

func edgeHash(parent LocalHistory, step uint32) uint64 {
	return hash64.Mix(uint64(parent), uint64(step))
}

// path returns the steps from the root to the local history.
func (t *historyTree) path(h LocalHistory) (path []*step) {
	for ; t.Parent(h) != 0; h = t.Parent(h) {
		path = append(path, t.stepOf(h))
	}
	slices.Reverse(path)
	return path
}

// A step leads from a local history to the next.
type step struct {
	after time.Duration // time since the local history before
	// What reaches the process then, nil if nothing does: from the loop, and after that from its
	// client.
	inputs   []input
	received sim.Inputs
	hash     uint64 // over all of that
	resumes  bool   // a gate opens
}

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

// stepHash returns a 64-bit hash of inputs that arrive after that time.
func stepHash(after time.Duration, inputs []input, client sim.StubClient) uint64 {
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

// steps are distinct steps.
type steps struct {
	list   []*step
	byHash map[uint64]uint32
}

// number returns the number of a step, which it adds if it is new.
func (s *steps) number(after time.Duration, inputs []input, client sim.StubClient) uint32 {
	hash := stepHash(after, inputs, client)
	number, ok := s.byHash[hash]
	if ok {
		return number
	}
	added := &step{
		after: after, inputs: slices.Clone(inputs), hash: hash,
		resumes: slices.ContainsFunc(inputs, func(in input) bool { return in.kind == resume }),
	}
	if client.Waiting() {
		added.received = client.Inputs()
	}
	number = uint32(len(s.list))
	s.list, s.byHash[hash] = append(s.list, added), number
	return number
}

// A Prediction is what a process does by itself if nothing reaches it.
type Prediction struct {
	ActsAfter time.Duration // when it acts, or [Never]; see [Cache.PredictTimers]
	LostAfter time.Duration // when its hold reports a loss, or Never
	Until     time.Duration // how far the two are known
	probed    bool          // leaks is known
	leaks     bool          // a goroutine would outlive the end of the run; see [Cache.ProbeLeak]
}

// Never is later than any run.
const Never = time.Duration(math.MaxInt64)

// predictions are distinct predictions.
type predictions struct {
	list    []Prediction
	numbers map[Prediction]uint32
}

// number returns the number of a prediction, which it adds if it is new.
func (s *predictions) number(p Prediction) uint32 {
	number, ok := s.numbers[p]
	if !ok {
		number = uint32(len(s.list))
		s.list, s.numbers[p] = append(s.list, p), number
	}
	return number
}
