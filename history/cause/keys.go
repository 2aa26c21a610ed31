package cause

import (
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
)

// causesAtServer returns the causes of an event between a process and a server that is no
// ZooKeeper, or in such a server:
//   - of a command, what the process had learned: results of commands that changed a key, and what
//     guides the deletion of one, see [Graph.guides];
//   - of its execution, the command and the last changes of the keys of the server;
//   - of its result, the execution and the changes that it made;
//   - of a change of a key, the command, and the previous change of the key;
//   - of the loss of a key, and of its expiry, the faults that struck the server.
func (g *Graph) causesAtServer(i int) []int {
	e := &g.Events[i]
	switch e.Kind {
	case history.Command:
		return slices.DeleteFunc(g.learned(i), func(c int) bool {
			return g.Events[c].Kind == history.Answer && !g.changed(c) && !g.guides(c, i)
		})
	case history.Executed:
		return append(g.lastOf(i, history.Command), g.keysBefore(i)...)
	case history.Answer:
		executed := g.lastOf(i, history.Executed)
		for _, x := range executed {
			executed = append(executed, g.changesOf(x)...)
		}
		return executed
	case history.KeySet, history.KeyDeleted:
		return append(g.execution(i), g.lastChange(i)...)
	}
	return append(g.serverFaults(i), g.lastChange(i)...)
}

// lastOf returns the last event of the kind before an event that concerns the same message, as a
// slice of at most one.
func (g *Graph) lastOf(i int, kind history.Kind) []int {
	e := &g.Events[i]
	for n := i - 1; n >= 0; n-- {
		o := &g.Events[n]
		if o.Kind == kind && o.Process == e.Process && o.Server == e.Server && o.Op == e.Op {
			return []int{n}
		}
	}
	return nil
}

// changesOf returns the changes of keys that a command made when it was executed: its own event if
// that shows some.
func (g *Graph) changesOf(executed int) (changes []int) {
	if g.Events[executed].Kind == history.Executed && len(g.Changes(executed)) > 0 {
		changes = append(changes, executed)
	}
	for n := executed + 1; n < len(g.Events); n++ {
		if k := g.Events[n].Kind; k != history.KeySet && k != history.KeyDeleted {
			break
		}
		changes = append(changes, n)
	}
	return changes
}

// guides reports whether a result that changed nothing may have led a process to a command: that of
// another kind of command, such as a GET before a DEL, if the command then deleted a key. A process
// that polls learns from such results only that it polls again.
func (g *Graph) guides(answer, command int) bool {
	a := &g.Events[answer]
	if a.Op == g.Events[command].Op || strings.HasPrefix(a.Name, "error") {
		return false
	}
	for n := command + 1; n < len(g.Events); n++ {
		if g.Events[n].Kind == history.Executed && g.Command(n) == command {
			return slices.ContainsFunc(g.changesOf(n), func(change int) bool {
				return g.Events[change].Kind == history.KeyDeleted
			})
		}
	}
	return false
}

// changed reports whether the command of a result changed a key.
func (g *Graph) changed(answer int) bool {
	return slices.ContainsFunc(g.lastOf(answer, history.Executed), func(executed int) bool {
		return len(g.changesOf(executed)) > 0
	})
}

// Command returns the command of an event at a server that is no ZooKeeper, or -1 if the event has
// none.
func (g *Graph) Command(i int) int {
	switch g.Events[i].Kind {
	case history.Command:
		return i
	case history.KeySet, history.KeyDeleted:
		for _, executed := range g.execution(i) {
			return g.Command(executed)
		}
	case history.Executed, history.Answer:
		for _, command := range g.lastOf(i, history.Command) {
			return command
		}
	}
	return -1
}

// execution returns the execution of the command that changed a key, as a slice of at most one.
func (g *Graph) execution(change int) []int {
	for n := change - 1; n >= 0; n-- {
		switch g.Events[n].Kind {
		case history.KeySet, history.KeyDeleted:
		case history.Executed:
			return []int{n}
		default:
			return nil
		}
	}
	return nil
}

// lastChange returns the last change of the key of an event, as a slice of at most one.
func (g *Graph) lastChange(i int) []int {
	e := &g.Events[i]
	for n := i - 1; n >= 0; n-- {
		if g.Events[n].Server == e.Server && g.Change(n, e.Path) != nil {
			return []int{n}
		}
	}
	return nil
}

// Changes returns the changes of keys that an event shows.
func (g *Graph) Changes(event int) []history.Change {
	switch e := &g.Events[event]; {
	case e.Kind.OfKey():
		return []history.Change{{Path: e.Path}}
	case e.Kind == history.Executed && e.Facts != nil:
		return e.Facts.Changes
	}
	return nil
}

// Change returns the change of a key that an event shows, or nil.
func (g *Graph) Change(event int, key string) *history.Change {
	changes := g.Changes(event)
	for i := range changes {
		if changes[i].Path == key {
			return &changes[i]
		}
	}
	return nil
}

// keysBefore returns the last change of each key of the server before a command was executed.
func (g *Graph) keysBefore(i int) (changes []int) {
	e, seen := &g.Events[i], map[string]bool{}
	for n := i - 1; n >= 0; n-- {
		for _, c := range g.Changes(n) {
			if g.Events[n].Server == e.Server && !seen[c.Path] {
				seen[c.Path] = true
				changes = append(changes, n)
			}
		}
	}
	return changes
}

// serverFaults returns the faults that struck the server of an event before it.
func (g *Graph) serverFaults(i int) (faults []int) {
	for n := range g.Events[:i] {
		o := &g.Events[n]
		if o.Kind == history.Fault && o.Process == 0 &&
			(g.Events[i].Server == 0 || o.Server == g.Events[i].Server) {
			faults = append(faults, n)
		}
	}
	return faults
}

// representAtServer returns the events to show for an event between a process and a server that is
// no ZooKeeper: a command by the changes that it made, else by its result.
func (g *Graph) representAtServer(i, end int) []int {
	e := &g.Events[i]
	switch e.Kind {
	case history.Command:
		for n := i + 1; n <= end && n < len(g.Events); n++ {
			o := &g.Events[n]
			if o.Kind == history.Executed && o.Process == e.Process && o.Server == e.Server &&
				o.Op == e.Op {
				return nil
			}
		}
	case history.Executed:
		return g.changesOf(i)
	case history.Answer:
		if g.changed(i) {
			return nil
		}
	}
	return []int{i}
}
