package simzk

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/callsite"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// gathersFacts reports whether the history wants [history.Facts].
func (c *Cluster) gathersFacts() bool { return c.history != nil && c.history.GathersFacts() }

// sendFacts returns the facts of a request, or nil if the history wants none.
func (c *Cluster) sendFacts(r *request, site callsite.Site) *history.Facts {
	if !c.gathersFacts() {
		return nil
	}
	f := &history.Facts{
		Line: site.Line, Function: site.Function,
		Data:    truncated(r.Data),
		Version: wanted(r.Op, r.Version),
	}
	for i := range r.Ops {
		one := &r.Ops[i]
		f.Operations = append(f.Operations, history.Operation{
			Op: (&request{Request: *one}).verb(), Path: one.Path,
			Version: wanted(one.Op, one.Version),
		})
	}
	return unlessEmpty(f)
}

// unlessEmpty returns the facts, or nil if there are none.
func unlessEmpty(f *history.Facts) *history.Facts {
	if reflect.ValueOf(f).Elem().IsZero() {
		return nil
	}
	return f
}

// wanted returns the version that a request requires, or nil if any will do.
func wanted(op wire.Op, version int32) *int32 {
	switch op {
	case wire.OpDelete, wire.OpSetData, wire.OpCheck:
		if version != -1 {
			return &version
		}
	}
	return nil
}

// replyFacts returns the facts of a reply, or nil if the history wants none.
func (c *Cluster) replyFacts(r *request) *history.Facts {
	if !c.gathersFacts() {
		return nil
	}
	f := new(history.Facts)
	ok := r.result.Code == wire.OK
	switch r.Op {
	case wire.OpGetChildren, wire.OpGetChildren2:
		if ok {
			f.Children = make([]history.Child, len(r.result.Children))
			for i, name := range r.result.Children {
				f.Children[i].Name = name
			}
		}
	case wire.OpGetData, wire.OpExists:
		if ok || r.result.Code == wire.NoNode {
			f.Exists = &ok
		}
		f.Data = truncated(r.result.Data)
		f.Stat = statFacts(&r.result.Stat)
	case wire.OpSetData, wire.OpCreate2:
		f.Stat = statFacts(&r.result.Stat)
	case wire.OpMulti:
		for i := range r.result.Results {
			one := history.Operation{Err: r.result.Results[i].Code.String()}
			if i < len(r.Ops) {
				one.Op, one.Path = (&request{Request: r.Ops[i]}).verb(), r.Ops[i].Path
			}
			f.Operations = append(f.Operations, one)
		}
	}
	return unlessEmpty(f)
}

func statFacts(s *wire.Stat) *history.Stat {
	if s.Czxid == 0 && s.Mzxid == 0 {
		return nil
	}
	return &history.Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, Version: s.Version, Owner: s.EphemeralOwner,
	}
}

func truncated(data []byte) string { return string(data[:min(len(data), history.FactBytes)]) }

// callSites are the calls under way of a real client, whose requests reach the cluster on a
// goroutine of the client library. They are used only if the history wants facts.
type callSites struct {
	mu    sync.Mutex
	calls []callsite.Call
}

// begin adds the call that the calling goroutine makes.
func (s *callSites) begin() {
	call := callsite.Caller(OwnsCall)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

// end removes the call that the calling goroutine makes.
func (s *callSites) end() {
	call := callsite.Caller(OwnsCall)
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
func (s *callSites) of(r *request) (site callsite.Site, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return senderOf(r, s.calls)
}

// senderOf returns which of the calls under way has sent a request. It returns false if none can
// have. If calls on several lines can have, the line is unknown.
func senderOf(r *request, calls []callsite.Call) (site callsite.Site, known bool) {
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
func sends(method string, r *request) bool {
	methods := operation.Of(r.Op).Methods
	if r.Watch && len(methods) > 0 {
		return method == methods[0]+"W"
	}
	return slices.Contains(methods, method)
}

// sender returns the line that has sent a request of a real client. The calls of the methods of
// RealConn are known. The code under test may also call the zk.Conn itself; then it is blocked in
// that call now, and its stack shows the line.
func (r *RealConn) sender(q *request) callsite.Site {
	c := r.link.cluster
	if !c.gathersFacts() {
		return callsite.Site{}
	}
	site, known := r.sites.of(q)
	if known || c.config.Stacks == nil {
		return site
	}
	var calls []callsite.Call
	for _, stack := range c.config.Stacks(r.link.Process()) {
		calls = append(calls, callsite.On(stack, OwnsCall))
	}
	site, _ = senderOf(q, calls)
	return site
}

// Prefixes of the full names of functions.
var (
	simulatorPrefix = reflect.TypeFor[Config]().PkgPath() + "."
	clientPrefix    = reflect.TypeFor[zk.Conn]().PkgPath() + ".(*Conn)."
)

// OwnsCall reports whether a function, by its full name, lies between code that uses a client and
// the simulated network: it belongs to this package, or is a method of go-zookeeper/zk's client.
func OwnsCall(function string) bool {
	return strings.HasPrefix(function, simulatorPrefix) ||
		strings.HasPrefix(function, clientPrefix)
}
