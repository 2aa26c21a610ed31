package lock

import (
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A watch has been set on a node and has not fired.
type watch struct {
	events   <-chan zk.Event
	set      time.Time
	version  int32 // of the node's data then
	dirCzxid int64 // the transaction that made the directory of a contender's node
}

// watchRegistry are those that contenders have left behind when they gave up, or gave the lock
// back. The client keeps a watch until its node changes, and cannot take it back. So the next
// contender that needs one on the same node takes one of these, instead of adding to them.
type watchRegistry struct {
	mu     sync.Mutex
	byPath map[string][]watch // by the path of the node
}

// put keeps a watch for somebody else, and forgets those that have fired.
func (w *watchRegistry) put(path string, one watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, all := range w.byPath {
		if all = slices.DeleteFunc(all, watch.fired); len(all) == 0 {
			delete(w.byPath, path)
		} else {
			w.byPath[path] = all
		}
	}
	if one.fired() {
		return
	}
	if w.byPath == nil {
		w.byPath = make(map[string][]watch)
	}
	w.byPath[path] = append(w.byPath[path], one)
}

// take returns a watch on the node, if one was left that has not fired. The node stands then, as it
// did when the watch was set, or the news of its end is under way.
func (w *watchRegistry) take(path string) (watch, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.byPath[path]
	for len(all) > 0 {
		last := all[len(all)-1]
		all = all[:len(all)-1]
		if w.byPath[path] = all; len(all) == 0 {
			delete(w.byPath, path)
		}
		if !last.fired() {
			return last, true
		}
	}
	return watch{}, false
}

// fired tells whether the watch has fired: the client has put an event into its channel, the only
// one that ever comes.
func (w watch) fired() bool { return len(w.events) > 0 }
