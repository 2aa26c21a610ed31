package cause

import (
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
)

// A Write is what a request asks to write to a znode.
type Write struct {
	Data    string // at most [history.FactBytes] bytes
	Version *int32 // that the znode must have, unless any will do
}

// Written returns what the request that created or set a znode asked to write. It returns false if
// the facts of the request are unknown.
func (g *Graph) Written(change int) (w Write, known bool) {
	e, r := &g.Events[change], g.changedBy[change]
	if r == nil || g.Events[r.Send].Facts == nil || e.Kind == history.NodeDeleted {
		return Write{}, false
	}
	facts := g.Events[r.Send].Facts
	if r.Op != "multi" {
		return Write{facts.Data, facts.Version}, true
	}
	var checked *int32
	for _, one := range facts.Operations {
		switch {
		case one.Op == "check" && one.Path == e.Path:
			checked = one.Version
		case one.Op == "set" && one.Path == e.Path && e.Kind == history.NodeChanged,
			one.Op == "create" && strings.HasPrefix(e.Path, one.Path) &&
				e.Kind == history.NodeCreated:
			// A znode that several parts of the multi change has no part of its own.
			if known {
				return Write{}, false
			}
			w, known = Write{one.Data, one.Version}, true
		}
	}
	if w.Version == nil && e.Kind == history.NodeChanged {
		w.Version = checked // The multi changes nothing if the check fails.
	}
	return w, known
}

// Version returns the version of the data that a NodeChanged or a NodeCreated leaves. It returns
// false if neither the reply nor the changes of the znode in the history show it.
func (g *Graph) Version(change int) (version int32, known bool) {
	if r := g.changedBy[change]; r != nil && r.Op == "set" && r.Reply >= 0 {
		if f := g.Events[r.Reply].Facts; f != nil && f.Stat != nil {
			return f.Stat.Version, true
		}
	}
	path := g.Events[change].Path
	created := g.Created(path, change+1)
	if created < 0 {
		return 0, false
	}
	for _, i := range g.changes[path] {
		if created < i && i <= change && g.Events[i].Kind == history.NodeChanged {
			version++
		}
	}
	return version, true
}

// Reads reports whether a process asks for the data of a znode anywhere in the history.
func (g *Graph) Reads(path string) bool { return g.reads[path] }

// SetsData reports whether the data of the znode of a request are set anywhere in the history.
func (g *Graph) SetsData(r *Request) bool {
	return r != nil && slices.ContainsFunc(g.changes[r.Path], func(change int) bool {
		return g.Events[change].Kind == history.NodeChanged
	})
}

// ReadsData reports whether an operation returns the data of a znode.
func ReadsData(op string) bool { return op == "get" || op == "get+watch" }

// LastRead returns the last reply between two events by which a process has learned the data of a
// znode, or -1.
func (g *Graph) LastRead(process int32, path string, after, before int) int {
	program := g.Program(process, before)
	for n := len(program) - 1; n >= 0 && program[n] > after; n-- {
		e := &g.Events[program[n]]
		if e.Kind != history.Reply || e.Err != "" || !ReadsData(e.Op) {
			continue
		}
		if r := g.Request(program[n]); r != nil && r.Path == path {
			return program[n]
		}
	}
	return -1
}
