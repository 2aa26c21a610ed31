package replay

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/internal/search/flat"
	"github.com/interlock-sim/interlock/sim"
)

// A historyTree holds the local histories of all processes. Several workers may use it at once: the
// first that comes to a new local history executes it, and others that come to it meanwhile wait.
// What is known already, they find without the mutex.
//
// All that is known of a local history is written before it counts as executed. Only its prediction
// changes later.
type historyTree struct {
	Merges bool // local histories are merged; see StateKey

	nodes flat.List[node] // by local history; the first is unused
	// hashes over the path from the root, by local history, unless local histories are merged
	hashes      flat.List[uint64]
	steps       flat.List[*step]
	reactions   flat.List[*reaction]
	predictions flat.List[Prediction]

	children    flat.Index // of local histories, by parent and step
	stepNumbers flat.Index // by hash

	mutex             sync.Mutex // guards what follows, and additions to what precedes
	executed          sync.Cond  // some local history has been executed
	roots             map[initialState]LocalHistory
	reactionNumbers   map[uint64][]uint32 // by reacts
	predictionNumbers map[Prediction]uint32
	// goroutines of the lock outlive its use, so that no process is ever dead
	endless  bool
	outlived int // how often goroutines were left then
	// the number of a process that did not reach the same state again after the same inputs
	astray  atomic.Int32
	learned bool // a start or a step is new since [historyTree.Learned] was called
}

func newHistoryTree(merges bool) *historyTree {
	t := &historyTree{
		Merges: merges, roots: make(map[initialState]LocalHistory),
		reactionNumbers: make(map[uint64][]uint32), predictionNumbers: make(map[Prediction]uint32),
	}
	t.executed.L = &t.mutex
	t.nodes.Append(node{})
	return t
}

func (t *historyTree) node(h LocalHistory) *node   { return t.nodes.At(uint32(h)) }
func (t *historyTree) stepOf(h LocalHistory) *step { return *t.steps.At(t.node(h).step) }

func (t *historyTree) reaction(h LocalHistory) *reaction {
	return *t.reactions.At(atomic.LoadUint32(&t.node(h).reaction) &^ executed)
}

func (t *historyTree) initial(h LocalHistory) *initialState { return t.reaction(h).initial }

// Count returns the number of local histories.
func (t *historyTree) Count() int { return t.nodes.Len() - 1 }

// Parent returns the local history before the last step. It returns 0 for the start of a process.
func (t *historyTree) Parent(h LocalHistory) LocalHistory { return t.node(h).parent }

// Outside returns a hash of what is visible of the process from outside.
func (t *historyTree) Outside(h LocalHistory) uint64 { return t.reaction(h).outside }

// Reacts returns the same, with the last reaction.
func (t *historyTree) Reacts(h LocalHistory) uint64 { return t.reaction(h).reacts }

// Prediction returns what the process is known to do by itself after the local history.
func (t *historyTree) Prediction(h LocalHistory) Prediction {
	return *t.predictions.At(atomic.LoadUint32(&t.node(h).prediction))
}

// predict adds to what the process is known to do by itself after the local history.
func (t *historyTree) predict(h LocalHistory, p Prediction) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	n := t.node(h)
	if known := atomic.LoadUint32(&n.prediction); known != 0 {
		p = p.join(*t.predictions.At(known))
	}
	number, ok := t.predictionNumbers[p]
	if !ok {
		if t.predictions.Len() == 0 {
			t.predictions.Append(Prediction{})
		}
		number = t.predictions.Append(p)
		t.predictionNumbers[p] = number
	}
	atomic.StoreUint32(&n.prediction, number)
}

// claim returns the local history to which a step leads. If it is fresh, the caller has to execute
// and publish it.
func (t *historyTree) claim(parent LocalHistory, step uint32) (h LocalHistory, fresh bool) {
	if h = t.child(parent, step); h != 0 && t.isExecuted(h) {
		return h, false
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if h = t.child(parent, step); h != 0 {
		return t.await(h), false
	}
	number := t.nodes.Append(node{parent: parent, step: step})
	t.children.Add(edgeHash(parent, step), number)
	h = LocalHistory(number)
	if !t.Merges {
		t.setHash(h, hash64.Mix(*t.hashes.At(uint32(parent)), (*t.steps.At(step)).hash))
	}
	return h, true
}

// child returns the local history to which a step leads, or 0 if there is none yet. Without the
// mutex it may miss one that another worker has just added.
func (t *historyTree) child(parent LocalHistory, step uint32) LocalHistory {
	number, _ := t.children.Find(edgeHash(parent, step), func(number uint32) bool {
		n := t.nodes.At(number)
		return n.parent == parent && n.step == step
	})
	return LocalHistory(number)
}

// claimRoot returns the local history of a process that has just started, as claim does.
func (t *historyTree) claimRoot(begins initialState) (h LocalHistory, fresh bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if h = t.roots[begins]; h != 0 {
		return t.await(h), false
	}
	h = LocalHistory(t.nodes.Append(node{}))
	t.roots[begins] = h
	t.learned = true
	if !t.Merges {
		t.setHash(h, begins.hash())
	}
	return h, true
}

// isExecuted reports whether the reaction of a local history is known.
func (t *historyTree) isExecuted(h LocalHistory) bool {
	return atomic.LoadUint32(&t.node(h).reaction)&executed != 0
}

// await waits until a local history has been executed.
func (t *historyTree) await(h LocalHistory) LocalHistory {
	for !t.isExecuted(h) {
		t.executed.Wait()
	}
	return h
}

// publish says that a claimed local history has been executed.
func (t *historyTree) publish(h LocalHistory) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	n := t.node(h)
	atomic.StoreUint32(&n.reaction, n.reaction|executed)
	t.executed.Broadcast()
}

// setHash stores the hash over the path to the last local history.
func (t *historyTree) setHash(h LocalHistory, hash uint64) {
	for t.hashes.Len() < int(h) {
		t.hashes.Append(0)
	}
	t.hashes.Append(hash)
}

func edgeHash(parent LocalHistory, step uint32) uint64 {
	return hash64.Mix(uint64(parent), uint64(step))
}

// stepNumber returns the number of a step, which it adds if it is new.
func (t *historyTree) stepNumber(after time.Duration, inputs []input,
	client sim.StubClient,
) uint32 {
	hash := stepHash(after, inputs, client)
	is := func(number uint32) bool { return (*t.steps.At(number)).hash == hash }
	if number, ok := t.stepNumbers.Find(hash, is); ok {
		return number
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if number, ok := t.stepNumbers.Find(hash, is); ok {
		return number
	}
	added := &step{
		after: after, inputs: slices.Clone(inputs), hash: hash,
		resumes: slices.ContainsFunc(inputs, func(in input) bool { return in.kind == resume }),
	}
	if client.Waiting() {
		added.received = client.Inputs()
	}
	number := t.steps.Append(added)
	t.stepNumbers.Add(hash, number)
	t.learned = true
	return number
}

// setReaction stores the reaction of a local history that is being executed.
func (t *historyTree) setReaction(h LocalHistory, r *reaction) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	atomic.StoreUint32(&t.node(h).reaction, t.reactionNumber(r))
}

// reactionNumber returns the number of a reaction, which it adds if it is new.
func (t *historyTree) reactionNumber(r *reaction) uint32 {
	for _, number := range t.reactionNumbers[r.reacts] {
		if (*t.reactions.At(number)).equal(r) {
			return number
		}
	}
	number := t.reactions.Append(r)
	t.reactionNumbers[r.reacts] = append(t.reactionNumbers[r.reacts], number)
	return number
}

// outlives reports whether goroutines of the lock are taken to outlive its use.
func (t *historyTree) outlives() bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.endless
}

// noteOutlived notes that goroutines have outlived the use of the lock. They are taken to do so
// always if nothing can end them, or else from outlivedMax times on: what is left may end with the
// watch for which it waits.
func (t *historyTree) noteOutlived(forever bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.outlived++
	t.endless = t.endless || forever || t.outlived >= outlivedMax
}

// outlivedMax bounds how often goroutines may outlive the use of a lock.
const outlivedMax = 100

// path returns the steps from the root to the local history.
func (t *historyTree) path(h LocalHistory) (path []*step) {
	for ; t.Parent(h) != 0; h = t.Parent(h) {
		path = append(path, t.stepOf(h))
	}
	slices.Reverse(path)
	return path
}
