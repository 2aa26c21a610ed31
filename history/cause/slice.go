package cause

import (
	"path"
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// Slice returns the events that mattered to the given ones: a backward slice along the causes of
// each event, in the order of the history. A request is represented by the event that shows most:
// its change of a znode, else its reply, else its Send.
//
// The causes of an event are
//   - of a reply, its request and the changes that it shows;
//   - of a watch event, the change that fired the watch and the request that set it;
//   - of a deleted znode, its creation, and the request that deleted it or the end of the session;
//   - of a lost reply and of the end of a session, the last fault on that connection;
//   - of an event of another server than ZooKeeper, see [Graph.causesAtServer];
//   - of a request and of a call that returned, what the process had learned since the call began:
//     errors, watch events, its own znode, its last listing, and its last read of the data of a
//     znode that the request sets or deletes.
func (g *Graph) Slice(targets []int) []int {
	in := make(map[int]bool)
	queue := slices.Clone(targets)
	for len(queue) > 0 {
		last := len(queue) - 1
		i := queue[last]
		queue = queue[:last]
		if i < 0 || i >= len(g.Events) || in[i] {
			continue
		}
		in[i] = true
		queue = append(queue, g.Causes(i)...)
	}
	return g.shown(in, targets)
}

// Causes returns the direct causes of an event, as [Graph.Slice] lists them.
func (g *Graph) Causes(i int) []int {
	e := &g.Events[i]
	if e.Kind.AtServer() {
		return g.causesAtServer(i)
	}
	switch e.Kind {
	case history.Reply:
		return g.causesOfReply(i)
	case history.Serve:
		if r := g.Request(i); r != nil {
			return []int{r.Send}
		}
	case history.NodeCreated, history.NodeDeleted, history.NodeChanged:
		var causes []int
		if created := g.Created(e.Path, i); created >= 0 {
			causes = append(causes, created)
		}
		if r := g.Request(i); r != nil {
			causes = append(causes, r.Send)
		} else if end := g.SessionEnd(i); end >= 0 {
			causes = append(causes, end)
		}
		return causes
	case history.SessionExpired:
		return append(g.fault(e.Process, i), g.byZxid[e.Zxid]...)
	case history.WatchGone:
		return g.fault(e.Process, i)
	case history.SessionClosed:
		for n := i - 1; n >= 0; n-- {
			if s := &g.Events[n]; s.Kind == history.Send && s.Process == e.Process &&
				s.Op == "close" {
				return []int{n}
			}
		}
	case history.SessionState:
		return g.causesOfState(i)
	case history.WatchArmed:
		if r := g.Request(i); r != nil {
			return []int{r.Send}
		}
	case history.WatchFired:
		causes := slices.Clone(g.byZxid[e.Zxid])
		causes = slices.DeleteFunc(causes, func(c int) bool {
			return g.Events[c].Path != e.Path && path.Dir(g.Events[c].Path) != e.Path
		})
		if w := g.watches[e.Watch]; w != nil {
			causes = append(causes, w.Armed)
		}
		return causes
	case history.WatchEvent:
		if w := g.watches[e.Watch]; w != nil {
			return []int{w.Fired}
		}
		return append(g.lastState(e.Process, i, "expired"), g.lastWatch(e, i)...)
	case history.Send:
		return g.learned(i)
	case history.Fault, history.Healed, history.Tick, history.FairPhase, history.LockCall:
	default:
		if check.OfLock(e.Kind) {
			return g.learned(i)
		}
	}
	return nil
}

// causesOfReply returns the request of a reply, and the changes that the reply shows or the fault
// that took its place.
func (g *Graph) causesOfReply(i int) []int {
	r, e := g.Request(i), &g.Events[i]
	if r == nil {
		return nil
	}
	causes := []int{r.Send}
	if e.Zxid == 0 && e.Err != "" {
		if r.Serve >= 0 {
			causes = append(causes, r.Changes...)
		}
		return append(causes, g.fault(e.Process, i)...)
	}
	if listed, ok := g.Listed(i); ok {
		for _, child := range listed {
			if created := g.Created(child, i); created >= 0 {
				causes = append(causes, created)
			}
		}
		return append(causes, g.deletions(r, listed)...)
	}
	switch r.Op {
	case "exists", "exists+watch", "get", "get+watch":
		if change := g.LastChange(r.Path, max(r.Serve, 0)); change >= 0 {
			causes = append(causes, change)
		}
	}
	return append(causes, r.Changes...)
}

// deletions returns the deletions that a listing shows: of children that were there when the
// process created the oldest of its own znodes in the listing.
func (g *Graph) deletions(r *Request, listed []string) []int {
	since := -1
	for _, child := range listed {
		if created := g.Created(child, r.Serve); created >= 0 &&
			g.Events[created].Process == r.Process && (since < 0 || created < since) {
			since = created
		}
	}
	if since < 0 {
		return nil
	}
	var causes []int
	for i := since; i < r.Serve; i++ {
		if e := &g.Events[i]; e.Kind == history.NodeDeleted && path.Dir(e.Path) == r.Path &&
			!slices.Contains(listed, e.Path) {
			if created := g.Created(e.Path, i); created >= 0 && created < since {
				causes = append(causes, i)
			}
		}
	}
	return causes
}

func (g *Graph) causesOfState(i int) []int {
	e := &g.Events[i]
	switch e.Name {
	case "disconnected":
		return g.fault(e.Process, i)
	case "expired":
		for n := i - 1; n >= 0; n-- {
			if g.Events[n].Kind == history.SessionExpired && g.Events[n].Process == e.Process {
				return []int{n}
			}
		}
	}
	return nil
}

// fault returns the last fault before an event that struck the process, or a server of the
// ensemble, as a slice of at most one.
func (g *Graph) fault(process int32, before int) []int {
	server := -1
	for n := before - 1; n >= 0; n-- {
		e := &g.Events[n]
		if e.Kind != history.Fault || e.Name == "cancel" {
			continue
		}
		if e.Process == process {
			return []int{n}
		}
		if e.Process == 0 && server < 0 {
			server = n
		}
	}
	if server >= 0 {
		return []int{server}
	}
	return nil
}

// lastState returns the last SessionState of the process with a name, as a slice of at most one.
func (g *Graph) lastState(process int32, before int, name string) []int {
	for n := before - 1; n >= 0; n-- {
		e := &g.Events[n]
		if e.Kind == history.SessionState && e.Process == process && e.Name == name {
			return []int{n}
		}
	}
	return nil
}

// lastWatch returns the last watch that the process of an event has set on its znode, as a slice of
// at most one.
func (g *Graph) lastWatch(e *history.Event, before int) []int {
	for n := before - 1; n >= 0; n-- {
		w := &g.Events[n]
		if w.Kind == history.WatchArmed && w.Process == e.Process && w.Path == e.Path {
			return []int{n}
		}
	}
	return nil
}

// learned returns what a process had learned when it caused an event, since the call in which it
// did so began: the call, errors, watch events, faults, the creation of its znode, and its last
// listing. Reads that only confirmed something are left out, except the last input of a call that
// returned.
func (g *Graph) learned(i int) []int {
	e := &g.Events[i]
	var causes []int
	listed, created, last := false, false, true
	answered := map[int32]bool{} // by server
	if read := g.comparedRead(i); read >= 0 {
		causes = append(causes, read)
	}
	for _, n := range slices.Backward(g.Program(e.Process, i)) {
		p := &g.Events[n]
		switch {
		case p.Kind == history.LockCall && e.FailsToOpen():
			causes = append(causes, n) // The process has opened the lock before that call.
		case p.Kind == history.LockCall:
			return append(causes, n)
		case p.Kind == history.LockReturn || p.Kind == history.UnlockCall ||
			p.Kind == history.ReenterCall:
			if p.Kind == history.LockReturn && p.Err != "" {
				return causes
			}
			return append(causes, n)
		case p.Kind == history.Enter && e.Kind != history.Send:
			return append(causes, n)
		case p.Kind == history.Fault || p.Kind == history.WatchEvent ||
			p.Kind == history.SessionState && p.Name == "expired":
			causes = append(causes, n)
		case p.Kind == history.ResourceRead && e.Kind == history.ResourceWrite:
			causes = append(causes, n)
		case p.Kind == history.Answer && !answered[p.Server]:
			answered[p.Server] = true
			causes = append(causes, n)
		case p.Kind != history.Reply:
			continue
		case p.Err != "" && p.Err != "no node":
			causes = append(causes, n)
			if e.Kind == history.Send {
				// The request is a reaction to the error; the failed request has its own causes.
				return causes
			}
		case p.Op == "create":
			if !created {
				causes = append(causes, n)
			}
			created = true
		case Listing(p.Op):
			if !listed {
				causes = append(causes, n)
			}
			listed = true
		case last && e.Kind != history.Send || p.Err != "":
			causes = append(causes, n)
		}
		last = last && p.Kind != history.Reply && p.Kind != history.WatchEvent
	}
	return causes
}

// comparedRead returns the last read of the data of the znode that a request sets or deletes, or
// -1. A process that deletes a znode without data has compared nothing.
func (g *Graph) comparedRead(sent int) int {
	e := &g.Events[sent]
	if e.Kind != history.Send || e.Op != "set" && e.Op != "delete" {
		return -1
	}
	read := g.LastRead(e.Process, e.Path, -1, sent)
	if read >= 0 && e.Op == "delete" {
		if f := g.Events[read].Facts; f == nil || f.Data == "" {
			return -1
		}
	}
	return read
}

// shown returns the events of a slice that a reader has to see, in order.
func (g *Graph) shown(in map[int]bool, targets []int) []int {
	show := make(map[int]bool)
	end := slices.Max(append([]int{0}, targets...)) // What comes later did not matter.
	for i := range in {
		for _, n := range g.represent(i, in, end) {
			show[n] = true
		}
	}
	for _, i := range targets {
		if i >= 0 && i < len(g.Events) {
			show[i] = true
		}
	}
	events := make([]int, 0, len(show))
	for i := range show {
		events = append(events, i)
	}
	slices.Sort(events)
	return events
}

// represent returns the events to show for an event of a slice.
func (g *Graph) represent(i int, in map[int]bool, end int) []int {
	e := &g.Events[i]
	if e.Kind.AtServer() {
		return g.representAtServer(i, end)
	}
	switch e.Kind {
	case history.Send, history.Serve, history.Reply, history.WatchArmed:
		r := g.Request(i)
		if r == nil || r.Op == "connect" || r.Op == "set-watches" {
			return nil
		}
		return g.representRequest(r, in, end)
	case history.NodeCreated, history.NodeDeleted, history.NodeChanged:
		return []int{i}
	case history.SessionExpired, history.SessionClosed:
		for _, c := range g.byZxid[e.Zxid] {
			if in[c] {
				return nil // The deletion of the znode names its cause.
			}
		}
		return []int{i}
	case history.WatchFired:
		if w := g.watches[e.Watch]; w != nil && w.Event >= 0 {
			return nil // The event shows it.
		}
		return []int{i}
	case history.SessionState:
		if e.Name != "expired" {
			return nil
		}
		return []int{i}
	case history.Healed, history.Tick, history.SessionOpened, history.Logged, history.Applied:
		return nil
	}
	return []int{i}
}

// representRequest returns the events to show of a request, up to the given one.
func (g *Graph) representRequest(r *Request, in map[int]bool, end int) []int {
	var show []int
	for _, change := range r.Changes {
		if change <= end {
			show = append(show, change)
		}
	}
	switch late := r.Reply < 0 || r.Reply > end; {
	case late && len(show) == 0:
		return append(show, r.Send)
	case late:
		return show
	case g.Events[r.Reply].Err != "" || len(r.Changes) == 0:
		show = append(show, r.Reply)
	}
	if r.Serve >= 0 && len(r.Changes) == 0 && g.stale(r, in) {
		show = append(show, r.Serve)
	}
	return show
}

// stale reports whether a shown change happened between the service of a read and its reply.
func (g *Graph) stale(r *Request, in map[int]bool) bool {
	for i := r.Serve; i < r.Reply; i++ {
		e := &g.Events[i]
		switch e.Kind {
		case history.NodeCreated, history.NodeDeleted, history.NodeChanged:
			if in[i] && (e.Path == r.Path || Listing(r.Op) && path.Dir(e.Path) == r.Path) {
				return true
			}
		}
	}
	return false
}
