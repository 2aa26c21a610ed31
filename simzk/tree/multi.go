package tree

import (
	"slices"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// An undoLog records what a multi has changed, so that it can be rolled back.
type undoLog struct {
	entries []undoEntry
	// nodes and owners that have an entry; only the state before the first change is kept
	nodes  map[string]bool
	owners map[int64]bool
}

// An undoEntry is the state of a node, or of a session's list of ephemeral nodes, before a change.
type undoEntry struct {
	path   string
	node   *znode // nil if there was no node
	before znode

	owner      int64 // not 0 if the entry holds a session's list
	ephemerals []string
}

// beginUndo starts an undo log.
func (t *Tree) beginUndo() {
	t.undo = &t.spareUndo
	if t.undo.nodes == nil {
		t.undo.nodes, t.undo.owners = make(map[string]bool), make(map[int64]bool)
	}
	clear(t.undo.nodes)
	clear(t.undo.owners)
	t.undo.entries = t.undo.entries[:0]
}

// endUndo ends the undo log. It frees the memory of a long one.
func (t *Tree) endUndo() {
	t.undo = nil
	if len(t.spareUndo.entries) > undoEntriesKept {
		t.spareUndo = undoLog{}
	}
}

const undoEntriesKept = 64

// logNode adds a node's current state to the undo log of the current multi, if there is one.
func (t *Tree) logNode(path string) {
	if t.undo == nil || t.undo.nodes[path] {
		return
	}
	t.undo.nodes[path] = true
	entry := undoEntry{path: path, node: t.nodes[path]}
	if entry.node != nil {
		entry.before = *entry.node
		entry.before.children = slices.Clone(entry.node.children)
	}
	t.undo.entries = append(t.undo.entries, entry)
}

func (t *Tree) logEphemerals(owner int64) {
	if t.undo != nil && !t.undo.owners[owner] {
		t.undo.owners[owner] = true
		t.undo.entries = append(t.undo.entries,
			undoEntry{owner: owner, ephemerals: slices.Clone(t.ephemerals[owner])})
	}
}

// multi applies all of its operations or none. After a failure, the results of the operations
// before the failed one are OK, and those after it are "runtime inconsistency", as in ZooKeeper.
//
// A null path makes the server fail before it starts; some operations make it fail when it reaches
// them. Both give [wire.MarshallingError] for the whole multi. Its results are empty in the first
// case and nil in the second.
func (t *Tree) multi(w *Write) Result {
	if slices.ContainsFunc(w.Ops, func(r wire.Request) bool { return r.Path == wire.Null }) {
		return Result{Code: wire.MarshallingError, Results: []wire.Result{}}
	}
	t.beginUndo()
	defer t.endUndo()
	results := t.allocResults(len(w.Ops))
	for i := range w.Ops {
		r := &w.Ops[i]
		step := &t.subOp
		*step = Write{
			Op: typeInMulti(r), Zxid: w.Zxid, TimeMillis: w.TimeMillis, Session: w.Session,
			Identities: w.Identities,
			Path:       r.Path, Data: r.Data, ACL: r.ACL, Flags: r.Flags, Version: r.Version,
			TTLMillis: r.TTLMillis, NoEphemerals: w.NoEphemerals,
		}
		result := Result{Code: wire.MarshallingError}
		if executable(r) {
			result = t.apply(step)
		}
		if result.Code != wire.OK {
			t.rollback()
			t.changes = t.changes[:0]
		}
		switch result.Code {
		case wire.OK:
			results[i] = wire.Result{Op: step.Op, Path: result.Path, Stat: result.Stat}
		case wire.MarshallingError:
			return Result{Code: result.Code}
		default:
			return Result{Code: result.Code, Results: failedResults(len(w.Ops), i, result.Code)}
		}
	}
	return Result{Results: results}
}

// allocResults returns memory for the results of a multi. The first results of a run come from a
// pool that is reused after a reset of the tree.
func (t *Tree) allocResults(results int) []wire.Result {
	if t.resultPool == nil {
		t.resultPool = make([]wire.Result, 0, resultPoolSize)
	}
	n := len(t.resultPool)
	if n+results > cap(t.resultPool) {
		return make([]wire.Result, results)
	}
	t.resultPool = t.resultPool[:n+results]
	return t.resultPool[n : n+results : n+results]
}

// resultPoolSize is the number of operations in the multis of most runs.
const resultPoolSize = 16

// executable reports whether the server can process an operation of a multi. A create with the
// flags of a TTL node but no TTL makes it fail without any results.
func executable(r *wire.Request) bool {
	timed := r.Flags == wire.PersistentTTL || r.Flags == wire.PersistentSeqTTL
	return !timed || r.Op != wire.OpCreate && r.Op != wire.OpCreate2 &&
		r.Op != wire.OpCreateContainer
}

// typeInMulti returns the effective type of an operation of a multi. If the flags of a create
// contradict its type, ZooKeeper follows the flags (org.apache.zookeeper.Op).
func typeInMulti(r *wire.Request) wire.Op {
	switch r.Op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
	default:
		return r.Op
	}
	timed := r.Flags == wire.PersistentTTL || r.Flags == wire.PersistentSeqTTL
	switch {
	case r.Flags == wire.Container:
		return wire.OpCreateContainer
	case r.Op == wire.OpCreateContainer, r.Op == wire.OpCreateTTL && !timed:
		return wire.OpCreate
	}
	return r.Op
}

// failedResults returns the results of a multi whose operation i failed.
func failedResults(count, i int, code wire.Code) []wire.Result {
	results := make([]wire.Result, count)
	for j := range results {
		results[j].Op = wire.OpError
		switch {
		case j == i:
			results[j].Code = code
		case j > i:
			results[j].Code = wire.RuntimeInconsistency
		}
	}
	return results
}

// rollback undoes the changes of the current multi, last change first.
func (t *Tree) rollback() {
	for _, entry := range slices.Backward(t.undo.entries) {
		if entry.owner != 0 {
			t.ephemerals[entry.owner] = entry.ephemerals
			continue
		}
		if now := t.nodes[entry.path]; now != nil {
			t.hash ^= now.hash
		}
		if entry.node == nil {
			delete(t.nodes, entry.path)
			continue
		}
		*entry.node = entry.before
		t.nodes[entry.path] = entry.node
		t.hash ^= entry.node.hash
	}
}
