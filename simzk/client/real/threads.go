package real

import (
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-sim/interlock/internal/base/callsite"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client"
)

// threadCalls are the calls under way of a real client that several threads share, in the order in
// which they began. They tell which thread has made a request that the client library sends on a
// goroutine of its own: the library queues requests in the order of the calls.
type threadCalls struct {
	mu    sync.Mutex
	calls []*threadCall
}

// A threadCall is a call that a thread has made.
type threadCall struct {
	thread int32
	method string
	guid   string          // of the node of a protected create, as its name has it
	sent   *simzk.Exchange // its request in flight, or nil
}

// begin adds the call that the calling goroutine of a thread makes.
func (t *threadCalls) begin(thread int32) {
	call := &threadCall{thread: thread, method: callsite.Caller(client.OwnsCall).Method}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, call)
}

// protect notes the GUID of the protected create that the thread has begun last.
func (t *threadCalls) protect(thread int32, guid []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, call := range slices.Backward(t.calls) {
		if call.thread == thread {
			call.guid = hex.EncodeToString(guid)
			return
		}
	}
}

// end removes the call that the calling goroutine of a thread makes.
func (t *threadCalls) end(thread int32) {
	method := callsite.Caller(client.OwnsCall).Method
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.calls, func(c *threadCall) bool {
		return c.thread == thread && c.method == method
	})
	t.calls = slices.Delete(t.calls, i, i+1)
}

// maker returns the thread that has made a request, or 0 if it is unknown.
func (t *threadCalls) maker(q *simzk.Exchange) int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.calls, func(c *threadCall) bool {
		return c.guid != "" && strings.Contains(q.Path, "/_c_"+c.guid)
	})
	if i < 0 {
		i = slices.IndexFunc(t.calls, func(c *threadCall) bool {
			return c.sent == nil && sends(c.method, &q.Request)
		})
	}
	if i < 0 {
		return 0
	}
	t.calls[i].sent = q
	return t.calls[i].thread
}

// answered notes that a request is no longer in flight.
func (t *threadCalls) answered(q *simzk.Exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, call := range t.calls {
		if call.sent == q {
			call.sent = nil
		}
	}
}
