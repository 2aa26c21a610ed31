package library

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/interlock-sim/interlock/history"
)

// ConnectionsMax is the highest number of clients that a process has at a time.
const ConnectionsMax = history.ThreadsMax

// A Family is the further clients of a process, which the process opens itself.
type Family[C any] struct {
	hasOpened atomic.Bool // opened is not empty

	mu      sync.Mutex
	opened  []*C // by the process, still without a link
	running int  // how many clients are not terminated

	members []member[C] // in the order in which they got a link; only the cluster's caller uses it
}

// A member is a client that has got a link.
type member[C any] struct {
	client   *C
	replaced bool // a later client has the link
}

// Open adds the client that a function makes. Any goroutine may call Open. It fails beyond
// [ConnectionsMax], of which the process's first client is one, or if the function fails.
func (f *Family[C]) Open(connect func() (*C, error)) (*C, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running == ConnectionsMax-1 {
		return nil, fmt.Errorf("interlock: a process has at most %d clients at a time; "+
			"close those that it has given up", ConnectionsMax)
	}
	c, err := connect()
	if err != nil {
		return nil, err
	}
	f.running++
	f.opened = append(f.opened, c)
	f.hasOpened.Store(true)
	return c, nil
}

// HasOpened reports whether there are clients for [Family.TakeOpened].
func (f *Family[C]) HasOpened() bool { return f.hasOpened.Load() }

// TakeOpened returns the clients that were opened since the last call.
func (f *Family[C]) TakeOpened() []*C {
	f.mu.Lock()
	defer f.mu.Unlock()
	opened := f.opened
	f.opened = nil
	f.hasOpened.Store(false)
	return opened
}

// Terminated notes that a client is closed.
func (f *Family[C]) Terminated() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
}

// Replace adds a client that gets the link of a terminated one, which it returns, or else a new
// link.
func (f *Family[C]) Replace(c *C, terminated func(*C) bool) (old *C) {
	for i := range f.members {
		if m := &f.members[i]; !m.replaced && terminated(m.client) {
			m.replaced, old = true, m.client
			break
		}
	}
	f.members = append(f.members, member[C]{client: c})
	return old
}

// All returns all clients that were ever opened. Only the cluster's caller calls it, at the end of
// a run.
func (f *Family[C]) All() (all []*C) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.members {
		all = append(all, m.client)
	}
	return slices.Concat(all, f.opened)
}
