package lock

import (
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A watch is set on a node and has not fired.
type watch struct {
	events   <-chan zk.Event
	set      time.Time
	version  int32 // of the node's data when it was set
	dirCzxid int64 // zxid that created the directory of a contender's node
}

// A watchRegistry holds the watches of contenders that have given up or unlocked. The client keeps
// a watch until its node changes and cannot remove it, so the next contender that watches the same
// node reuses one of these instead of adding another.
type watchRegistry struct {
	mu     sync.Mutex
	byPath map[string][]watch // keyed by the path of the node
}

// put stores a watch for reuse, and drops those that have fired.
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

// take returns a stored watch on the node that has not fired, if any. The node has then existed
// ever since the watch was set, or the event of its end is on its way.
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

// fired reports whether the client has put the watch's only event into its channel.
func (w watch) fired() bool { return len(w.events) > 0 }
