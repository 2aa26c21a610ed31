package simzk

import (
	"reflect"
	"runtime"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/callsite"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// GathersFacts reports whether the history wants [history.Facts].
func (c *Cluster) GathersFacts() bool { return c.history != nil && c.history.GathersFacts() }

// Stacks returns the stacks of the goroutines of the process at the client's end of a link,
// innermost frame first, or nil if they are unknown; see [Config].
func (c *Cluster) Stacks(l *Link) [][]runtime.Frame {
	if c.config.Stacks == nil {
		return nil
	}
	return c.config.Stacks(l.Process())
}

// sendFacts returns the facts of a request, or nil if the history wants none.
func (c *Cluster) sendFacts(r *Exchange, site callsite.Site) *history.Facts {
	if !c.GathersFacts() {
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
			Op: (&Exchange{Request: *one}).verb(), Path: one.Path,
			Version: wanted(one.Op, one.Version), Data: truncated(one.Data),
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
func (c *Cluster) replyFacts(r *Exchange) *history.Facts {
	if !c.GathersFacts() {
		return nil
	}
	f := new(history.Facts)
	ok := r.Result.Code == wire.OK
	switch r.Op {
	case wire.OpGetChildren, wire.OpGetChildren2:
		if ok {
			f.Children = make([]history.Child, len(r.Result.Children))
			for i, name := range r.Result.Children {
				f.Children[i].Name = name
			}
		}
	case wire.OpGetData, wire.OpExists:
		if ok || r.Result.Code == wire.NoNode {
			f.Exists = &ok
		}
		f.Data = truncated(r.Result.Data)
		f.Stat = statFacts(&r.Result.Stat)
	case wire.OpSetData, wire.OpCreate2:
		f.Stat = statFacts(&r.Result.Stat)
	case wire.OpMulti:
		for i := range r.Result.Results {
			one := history.Operation{Err: r.Result.Results[i].Code.String()}
			if i < len(r.Ops) {
				one.Op, one.Path = (&Exchange{Request: r.Ops[i]}).verb(), r.Ops[i].Path
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
