package real

import (
	"slices"
	"sync"

	"github.com/interlock-sim/interlock/internal/base/callsite"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// callSites are the calls under way of a real client, whose requests reach the cluster on a
// goroutine of the client library. They are used only if the history wants facts.
type callSites struct {
	mu    sync.Mutex
	calls []callsite.Call
}

// begin adds the call that the calling goroutine makes.
func (s *callSites) begin() {
	call := callsite.Caller(client.OwnsCall)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

// end removes the call that the calling goroutine makes.
func (s *callSites) end() {
	call := callsite.Caller(client.OwnsCall)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.calls {
		if s.calls[i] == call {
			s.calls = append(s.calls[:i], s.calls[i+1:]...)
			return
		}
	}
}

// of returns the line that has sent a request, as far as the calls show it.
func (s *callSites) of(r *wire.Request) (site callsite.Site, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return senderOf(r, s.calls)
}

// senderOf returns which of the calls under way has sent a request. It returns false if none can
// have. If calls on several lines can have, the line is unknown.
func senderOf(r *wire.Request, calls []callsite.Call) (site callsite.Site, known bool) {
	for _, call := range calls {
		switch {
		case !sends(call.Method, r):
		case !known:
			site, known = call.Site, true
		case site != call.Site:
			return callsite.Site{}, true
		}
	}
	return site, known
}

// sends reports whether a method of the client can have sent a request.
func sends(method string, r *wire.Request) bool {
	methods := operation.Of(r.Op).Methods
	if r.Watch && len(methods) > 0 {
		return method == methods[0]+"W"
	}
	return slices.Contains(methods, method)
}

// sender returns the line that has sent a request. The calls of the methods of Conn are known. The
// code under test may also call the zk.Conn itself; then it is blocked in that call now, and its
// stack shows the line.
func (r *Conn) sender(q *wire.Request) callsite.Site {
	if !r.cluster.GathersFacts() {
		return callsite.Site{}
	}
	site, known := r.sites.of(q)
	if known {
		return site
	}
	return senderOnStacks(r.cluster, r.link, q)
}

// senderOnStacks returns the line of the code under test that is blocked in a call of the client
// library that can have sent a request.
func senderOnStacks(c *simzk.Cluster, l *simzk.Link, q *wire.Request) callsite.Site {
	if !c.GathersFacts() {
		return callsite.Site{}
	}
	var calls []callsite.Call
	for _, stack := range c.Stacks(l) {
		calls = append(calls, callsite.On(stack, client.OwnsCall))
	}
	site, _ := senderOf(q, calls)
	return site
}
