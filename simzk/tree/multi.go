package tree

import (
	"slices"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A journal is what a multi needs to take back what it has done.
type journal struct {
	entries []journalEntry
	// of which there is an entry: how a node was at first is all that is needed
	nodes  map[string]bool
	owners map[int64]bool
}

// A journalEntry is how a node, or the list of a session's nodes, was before a change.
type journalEntry struct {
	path   string
	node   *znode // nil if there was none
	before znode

	owner      int64 // not 0 if the entry is one of a list
	ephemerals []string
}

// keepJournal begins a journal.
func (t *Tree) keepJournal() {
	t.journal = &t.idle
	if t.journal.nodes == nil {
		t.journal.nodes, t.journal.owners = make(map[string]bool), make(map[int64]bool)
	}
	clear(t.journal.nodes)
	clear(t.journal.owners)
	t.journal.entries = t.journal.entries[:0]
}

// endJournal ends the journal. The memory of a long one is not worth keeping.
func (t *Tree) endJournal() {
	t.journal = nil
	if len(t.idle.entries) > journalKept {
		t.idle = journal{}
	}
}

const journalKept = 64

// note keeps a node as it is now, so that the multi under way can restore it.
func (t *Tree) note(path string) {
	if t.journal == nil || t.journal.nodes[path] {
		return
	}
	t.journal.nodes[path] = true
	e := journalEntry{path: path, node: t.nodes[path]}
	if e.node != nil {
		e.before = *e.node
		e.before.children = slices.Clone(e.node.children)
	}
	t.journal.entries = append(t.journal.entries, e)
}

func (t *Tree) noteEphemerals(owner int64) {
	if t.journal != nil && !t.journal.owners[owner] {
		t.journal.owners[owner] = true
		t.journal.entries = append(t.journal.entries,
			journalEntry{owner: owner, ephemerals: slices.Clone(t.ephemerals[owner])})
	}
}

// multi carries out all of its operations, or none. Its results say of each operation what it gave;
// after one that has failed they say OK of those before it and "runtime inconsistency" of those
// behind it, as ZooKeeper does.
//
// The server fails on a null path before it has begun, and on some operations when it comes to
// them. That is [wire.MarshallingError] for the whole, with no results, which are empty in the
// first case and missing in the second.
func (t *Tree) multi(w *Write) Result {
	if slices.ContainsFunc(w.Ops, func(r wire.Request) bool { return r.Path == wire.Null }) {
		return Result{Code: wire.MarshallingError, Results: []wire.Result{}}
	}
	t.keepJournal()
	defer t.endJournal()
	results := t.spaceFor(len(w.Ops))
	for i := range w.Ops {
		r := &w.Ops[i]
		step := &t.step
		*step = Write{
			Op: typeInMulti(r), Zxid: w.Zxid, TimeMillis: w.TimeMillis, Session: w.Session,
			Identities: w.Identities,
			Path:       r.Path, Data: r.Data, ACL: r.ACL, Flags: r.Flags, Version: r.Version,
			TTLMillis: r.TTLMillis,
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
			return Result{Code: result.Code, Results: failed(len(w.Ops), i, result.Code)}
		}
	}
	return Result{Results: results}
}

// spaceFor returns memory for the results of a multi. Those of the first multis of a run stay where
// they are until the tree is renewed.
func (t *Tree) spaceFor(results int) []wire.Result {
	if t.results == nil {
		t.results = make([]wire.Result, 0, resultsKept)
	}
	n := len(t.results)
	if n+results > cap(t.results) {
		return make([]wire.Result, results)
	}
	t.results = t.results[:n+results]
	return t.results[n : n+results : n+results]
}

// resultsKept is how many operations are in the multis of most runs.
const resultsKept = 16

// executable tells whether the server can make sense of an operation of a multi. When it comes to a
// create that asks for a TTL node without a TTL it fails, and gives no results at all.
func executable(r *wire.Request) bool {
	timed := r.Flags == wire.PersistentTTL || r.Flags == wire.PersistentSeqTTL
	return !timed || r.Op != wire.OpCreate && r.Op != wire.OpCreate2 &&
		r.Op != wire.OpCreateContainer
}

// typeInMulti returns the type of an operation of a multi. There ZooKeeper goes by the flags where
// they contradict the type of a create (org.apache.zookeeper.Op).
func typeInMulti(r *wire.Request) wire.Op {
	switch r.Op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateTTL:
		if r.Flags == wire.Container {
			return wire.OpCreateContainer
		}
		if r.Op == wire.OpCreateTTL && r.Flags != wire.PersistentTTL &&
			r.Flags != wire.PersistentSeqTTL {
			return wire.OpCreate
		}
	}
	return r.Op
}

// failed returns the results of a multi whose operation number i has failed.
func failed(count, i int, code wire.Code) []wire.Result {
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

// rollback takes back what the multi under way has done, the last change first.
func (t *Tree) rollback() {
	for _, e := range slices.Backward(t.journal.entries) {
		if e.owner != 0 {
			t.ephemerals[e.owner] = e.ephemerals
			continue
		}
		if now := t.nodes[e.path]; now != nil {
			t.hash ^= now.hash
		}
		if e.node == nil {
			delete(t.nodes, e.path)
			continue
		}
		*e.node = e.before
		t.nodes[e.path] = e.node
		t.hash ^= e.node.hash
	}
}
