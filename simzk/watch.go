package simzk

import (
	"slices"

	"github.com/go-zookeeper/zk"
)

// watchKind says what a one-shot watch waits for.
type watchKind uint8

const (
	dataWatch  watchKind = iota // the node's deletion or a change of its data
	existWatch                  // the node's creation
	childWatch                  // the node's deletion, or a child's creation or deletion
)

func (k watchKind) String() string { return [...]string{"data", "exist", "child"}[k] }

// A watch is one registration at the server. It belongs to a connection and ends with it.
type watch struct {
	number int32 // over the whole run
	conn   *Conn
	path   string
	kind   watchKind
}

// watchTable is the one-shot watches that a server keeps. As in ZooKeeper, watches on data and on existence share a
// table, and a connection has at most one watch for each path and table.
type watchTable struct {
	data  map[string][]*watch
	child map[string][]*watch
}

func newWatchTable() watchTable {
	return watchTable{data: make(map[string][]*watch, 4), child: make(map[string][]*watch)}
}

func (t *watchTable) table(kind watchKind) map[string][]*watch {
	if kind == childWatch {
		return t.child
	}
	return t.data
}

// armed tells whether the connection has a watch for that path in the kind's table already.
func (t *watchTable) armed(conn *Conn, kind watchKind, path string) bool {
	return slices.ContainsFunc(t.table(kind)[path], func(w *watch) bool { return w.conn == conn })
}

func (t *watchTable) arm(w *watch) {
	table := t.table(w.kind)
	table[w.path] = append(table[w.path], w)
}

// take removes and returns all watches on the path of the kind's table, in the order of their registration.
func (t *watchTable) take(kind watchKind, path string) []*watch {
	table := t.table(kind)
	watches := table[path]
	if watches != nil {
		delete(table, path)
	}
	return watches
}

// drop removes and returns all watches of a connection, in the order of their registration.
func (t *watchTable) drop(conn *Conn) []*watch {
	var dropped []*watch
	for _, table := range [...]map[string][]*watch{t.data, t.child} {
		for path, watches := range table {
			kept := slices.DeleteFunc(watches, func(w *watch) bool {
				if w.conn == conn {
					dropped = append(dropped, w)
				}
				return w.conn == conn
			})
			if len(kept) == 0 {
				delete(table, path)
			} else {
				table[path] = kept
			}
		}
	}
	// The maps were read in their own order; the numbers restore one that every run has.
	slices.SortFunc(dropped, func(a, b *watch) int { return int(a.number) - int(b.number) })
	return dropped
}

// eventName is the name of an event's type, as a history shows it.
func eventName(t zk.EventType) string {
	switch t {
	case zk.EventNodeCreated:
		return "created"
	case zk.EventNodeDeleted:
		return "deleted"
	case zk.EventNodeDataChanged:
		return "changed"
	case zk.EventNodeChildrenChanged:
		return "children"
	case zk.EventNotWatching:
		return "not-watching"
	}
	return "session"
}
