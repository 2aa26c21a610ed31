package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// watchKind is the kind of a watch.
type watchKind uint8

const (
	dataWatch  watchKind = iota // the node's deletion or a change of its data
	existWatch                  // the node's creation
	childWatch                  // the node's deletion, or a child's creation or deletion
)

func (k watchKind) String() string { return [...]string{"data", "exist", "child"}[k] }

// watchMode says whether a watch persists and whether it covers descendants.
type watchMode uint8

const (
	oneShot    watchMode = iota
	persistent           // remains after it has fired
	recursive            // remains, and covers all descendants
)

// A watch is a registration at the server. It belongs to a connection and ends with it.
type watch struct {
	number int32 // unique in the run
	link   *Link
	thread int32 // that has set it; 0 if the process has only one, or its client sets it again
	path   string
	kind   watchKind
	mode   watchMode

	prev, next *watch    // list of the connection's watches
	inline     [1]*watch // backing array of a path with a single watch
}

// owner returns the process or the thread that has set the watch.
func (w *watch) owner() int32 {
	if w.thread != 0 {
		return w.thread
	}
	return w.link.process
}

// watchList is the list of a connection's watches, by which closing the connection takes time
// linear in their number.
type watchList struct{ first, last *watch }

func (l *watchList) add(w *watch) {
	w.prev, w.next = l.last, nil
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
}

func (l *watchList) remove(w *watch) {
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
}

// watchTable holds the servers' watches. As in ZooKeeper, data and exist watches share a table, and
// a connection has at most one watch for each path and table.
type watchTable struct {
	data           map[string][]*watch
	child          map[string][]*watch
	recursiveCount int // if 0, triggers need not visit ancestors
}

// reset returns an empty table that reuses the memory of this one.
func (t *watchTable) reset() watchTable {
	if t.data == nil {
		return watchTable{data: make(map[string][]*watch, 4), child: make(map[string][]*watch)}
	}
	clear(t.data)
	clear(t.child)
	return watchTable{data: t.data, child: t.child}
}

func (t *watchTable) table(kind watchKind) map[string][]*watch {
	if kind == childWatch {
		return t.child
	}
	return t.data
}

// find returns the connection's watch for a path in the kind's table, or nil.
func (t *watchTable) find(l *Link, kind watchKind, path string) *watch {
	for _, w := range t.table(kind)[path] {
		if w.link == l {
			return w
		}
	}
	return nil
}

func (t *watchTable) arm(w *watch) {
	table := t.table(w.kind)
	if others := table[w.path]; others == nil && w.inline[0] == nil {
		w.inline[0] = w
		table[w.path] = w.inline[:]
	} else {
		table[w.path] = append(others, w)
	}
	w.link.watches.add(w)
	t.countRecursive(w, 1)
}

func (t *watchTable) countRecursive(w *watch, n int) {
	if w.mode == recursive {
		t.recursiveCount += n
	}
}

// setMode changes the mode of a watch.
func (t *watchTable) setMode(w *watch, mode watchMode) {
	t.countRecursive(w, -1)
	w.mode = mode
	t.countRecursive(w, 1)
}

// everywhere denotes all servers of an ensemble.
const everywhere = -1

// trigger returns the watches in the kind's table that an event on the path fires at a server, or
// everywhere, in order of registration. It removes them, except persistent ones.
func (t *watchTable) trigger(kind watchKind, path string, event wire.EventType,
	server int,
) []*watch {
	table := t.table(kind)
	watches := table[path]
	if server == everywhere && t.recursiveCount == 0 &&
		!slices.ContainsFunc(watches, (*watch).persists) {
		if watches != nil {
			delete(table, path)
		}
		for _, w := range watches {
			w.link.watches.remove(w)
		}
		return watches
	}
	fired := make([]*watch, 0, len(watches))
	for _, w := range watches {
		if w.onServer(server) && (w.mode != recursive || event != wire.EventChildrenChanged) {
			fired = append(fired, w)
		}
	}
	t.setPath(table, path, slices.DeleteFunc(watches, func(w *watch) bool {
		used := w.onServer(server) && !w.persists()
		if used {
			w.link.watches.remove(w)
		}
		return used
	}))
	for above := path; above != "/" && event != wire.EventChildrenChanged; {
		above = tree.Parent(above)
		for _, w := range table[above] {
			if w.onServer(server) && w.mode == recursive {
				fired = append(fired, w)
			}
		}
	}
	slices.SortFunc(fired, compareWatches)
	return fired
}

func (w *watch) persists() bool { return w.mode != oneShot }

// onServer reports whether the server keeps the watch.
func (w *watch) onServer(server int) bool { return server == everywhere || w.link.server == server }

func compareWatches(a, b *watch) int { return int(a.number) - int(b.number) }

// setPath replaces the watches of a path.
func (t *watchTable) setPath(table map[string][]*watch, path string, watches []*watch) {
	if len(watches) == 0 {
		delete(table, path)
	} else {
		table[path] = watches
	}
}

// remove removes the connection's watch for a path from the kind's table and returns it, or nil if
// there is none.
func (t *watchTable) remove(l *Link, kind watchKind, path string) *watch {
	w := t.find(l, kind, path)
	if w != nil {
		t.disarm(w)
	}
	return w
}

func (t *watchTable) disarm(w *watch) {
	t.countRecursive(w, -1)
	w.link.watches.remove(w)
	table := t.table(w.kind)
	t.setPath(table, w.path, slices.DeleteFunc(table[w.path],
		func(other *watch) bool { return other == w }))
}

// watched reports whether any connection has a watch on the path in the kind's table, as
// ZooKeeper's WatchManager.containsWatcher does.
func (t *watchTable) watched(kind watchKind,
	path string,
) bool {
	return len(t.table(kind)[path]) > 0
}

// hasRecursive reports whether the kind's table has a recursive watch at a server.
func (t *watchTable) hasRecursive(kind watchKind, server int) bool {
	if t.recursiveCount == 0 {
		return false
	}
	for _, watches := range t.table(kind) {
		for _, w := range watches {
			if w.mode == recursive && w.onServer(server) {
				return true
			}
		}
	}
	return false
}

// drop removes and returns all watches of a connection, in order of registration.
func (t *watchTable) drop(l *Link) []*watch {
	var dropped []*watch
	for w := l.watches.first; w != nil; w = l.watches.first {
		t.disarm(w)
		dropped = append(dropped, w)
	}
	return dropped
}

// Watching reports whether the server keeps a watch of the client's connection.
func (l *Link) Watching() bool { return l.watches.first != nil }

// Watches returns the number of watches and the number of watched paths.
func (c *Cluster) Watches() (watches, paths int) {
	on := make(map[string]bool)
	for _, table := range [...]map[string][]*watch{c.watches.data, c.watches.child} {
		for path, list := range table {
			watches += len(list)
			on[path] = true
		}
	}
	return watches, len(on)
}

// eventName returns the name of an event's type in histories.
func eventName(t wire.EventType) string {
	switch t {
	case wire.EventCreated:
		return "created"
	case wire.EventDeleted:
		return "deleted"
	case wire.EventDataChanged:
		return "changed"
	case wire.EventChildrenChanged:
		return "children"
	}
	return "session"
}
