package real

import (
	"slices"
	"sync"

	"github.com/interlock-sim/interlock/internal/callsite"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// callSites are the calls under way of a real client, whose requests reach the cluster on a
// goroutine of the client library. They are used only if the history wants facts.
type callSites struct {
	mu    sync.Mutex
	calls []callSite
}

// A callSite is a call under way: the client's method, and the line that called it.
type callSite struct {
	method string
	site   callsite.Site
}

// begin adds the call that the calling goroutine makes.
func (s *callSites) begin() {
	call := callSite{callsite.Method(), callsite.Caller()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

// end removes the call that the calling goroutine makes.
func (s *callSites) end() {
	call := callSite{callsite.Method(), callsite.Caller()}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.calls {
		if s.calls[i] == call {
			s.calls = append(s.calls[:i], s.calls[i+1:]...)
			return
		}
	}
}

// of returns the line that has sent a request. It is unknown if several could have.
func (s *callSites) of(r *wire.Request) callsite.Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found callsite.Site
	for _, call := range s.calls {
		switch {
		case !call.sends(r):
		case found == callsite.Site{}:
			found = call.site
		case found != call.site:
			return callsite.Site{}
		}
	}
	return found
}

// sends reports whether a call can have sent a request.
func (s *callSite) sends(r *wire.Request) bool {
	methods := operation.Of(r.Op).Methods
	if r.Watch && len(methods) > 0 {
		return s.method == methods[0]+"W"
	}
	return slices.Contains(methods, s.method)
}
