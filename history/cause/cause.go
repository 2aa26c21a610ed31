// Package cause orders the events of a history by cause, and selects those that mattered.
//
// Source: L. Lamport, Time, Clocks, and the Ordering of Events in a Distributed System, CACM 1978;
// M. Weiser, Program Slicing, ICSE 1981.
package cause

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// A Graph holds the causes of the events of a history. Its zero value is not usable; see [New].
type Graph struct {
	Events []history.Event

	requests  map[requestKey]*Request
	order     []*Request            // the requests in the order of their Send
	changedBy map[int]*Request      // by the change of a znode
	watches   map[int32]*Watch      // by number
	armed     map[requestKey]*Watch // by the request that sets it
	changes   map[string][]int      // the changes of each znode, in order
	byZxid    map[int64][]int       // the changes of each transaction
	ends      map[int64]int         // the end of the session by its transaction
	program   map[int32][]int       // see Program
	reads     map[string]bool       // see Reads
}

type requestKey struct{ process, request int32 }

// A Request holds the indexes of the events of a request. An index is -1 if the history lacks the
// event.
type Request struct {
	Process            int32
	Op, Path           string // as sent
	Send, Serve, Reply int
	Changes            []int // the changes of znodes that it made
	Watch              *Watch
}

// A Watch holds the indexes of the events of a watch. An index is -1 if the history lacks the
// event.
type Watch struct {
	Number              int32
	Process             int32
	Path                string
	Kind                string // data, exist or child
	Armed, Fired, Event int
	Gone                int
}

// New returns the graph of a history. It keeps the slice.
func New(events []history.Event) *Graph {
	g := &Graph{
		Events: events, requests: make(map[requestKey]*Request), watches: make(map[int32]*Watch),
		armed: make(map[requestKey]*Watch), changes: make(map[string][]int),
		byZxid: make(map[int64][]int), ends: make(map[int64]int), program: make(map[int32][]int),
		changedBy: make(map[int]*Request), reads: make(map[string]bool),
	}
	for i := range events {
		g.add(i)
	}
	for _, r := range g.order {
		r.Watch = g.armed[requestKey{r.Process, events[r.Send].Request}]
		if r.Serve < 0 || !writes(r.Op) || events[r.Serve].Err != "" {
			continue
		}
		for _, c := range g.byZxid[events[r.Serve].Zxid] {
			if events[c].Process == r.Process {
				r.Changes = append(r.Changes, c)
				g.changedBy[c] = r
			}
		}
	}
	for i := range events {
		g.attribute(i)
	}
	return g
}

// attribute finds the request of a change that no server has answered: the only one of the process
// that can have made it.
func (g *Graph) attribute(i int) {
	e := &g.Events[i]
	var op string
	switch e.Kind {
	case history.NodeCreated:
		op = "create"
	case history.NodeDeleted:
		op = "delete"
	case history.NodeChanged:
		op = "set"
	default:
		return
	}
	if _, ended := g.ends[e.Zxid]; ended || g.changedBy[i] != nil {
		return
	}
	var found *Request
	for _, r := range g.order {
		if r.Process != e.Process || r.Serve >= 0 || r.Send > i || r.Op != op ||
			len(r.Changes) > 0 || !strings.HasPrefix(e.Path, r.Path) {
			continue
		}
		if found != nil {
			return
		}
		found = r
	}
	if found != nil {
		found.Changes = append(found.Changes, i)
		g.changedBy[i] = found
	}
}

// add adds an event.
func (g *Graph) add(i int) {
	e := &g.Events[i]
	k := requestKey{e.Process, e.Request}
	switch e.Kind {
	case history.Send:
		r := &Request{
			Process: e.Process, Op: e.Op, Path: e.Path, Send: i, Serve: -1, Reply: -1,
		}
		g.requests[k] = r
		g.order = append(g.order, r)
		if ReadsData(e.Op) {
			g.reads[e.Path] = true
		}
	case history.Serve:
		if r := g.requests[k]; r != nil {
			r.Serve = i
		}
	case history.Reply:
		if r := g.requests[k]; r != nil {
			r.Reply = i
		}
	case history.NodeCreated, history.NodeDeleted, history.NodeChanged:
		g.changes[e.Path] = append(g.changes[e.Path], i)
		g.byZxid[e.Zxid] = append(g.byZxid[e.Zxid], i)
	case history.SessionExpired, history.SessionClosed:
		g.ends[e.Zxid] = i
	case history.WatchArmed:
		w := &Watch{
			Number: e.Watch, Process: e.Process, Path: e.Path, Kind: e.Name, Armed: i, Fired: -1,
			Event: -1, Gone: -1,
		}
		g.watches[e.Watch] = w
		if e.Request != 0 {
			g.armed[k] = w
		}
	case history.WatchFired:
		if w := g.watches[e.Watch]; w != nil {
			w.Fired = i
		}
	case history.WatchGone:
		if w := g.watches[e.Watch]; w != nil {
			w.Gone = i
		}
	case history.WatchEvent:
		if w := g.watches[e.Watch]; w != nil {
			w.Event = i
		}
	}
	if e.Process != 0 && ofProcess(e) {
		g.program[e.Process] = append(g.program[e.Process], i)
	}
}

// ofProcess reports whether an event is one that the code of a process causes or observes, or a
// fault that strikes it.
func ofProcess(e *history.Event) bool {
	switch e.Kind {
	case history.Send, history.Reply:
		return e.Op != "connect" && e.Op != "set-watches"
	case history.WatchEvent, history.Fault, history.Resumed, history.Crashed, history.Command,
		history.Answer:
		return true
	case history.SessionState:
		return e.Name == "expired" || e.Name == "disconnected"
	}
	return check.OfLock(e.Kind)
}

// Request returns the request of a Send, a Serve, a Reply, a WatchArmed or a change of a znode. It
// returns nil for other events, and if the history lacks the request.
func (g *Graph) Request(event int) *Request {
	e := &g.Events[event]
	switch e.Kind {
	case history.Send, history.Serve, history.Reply, history.WatchArmed:
		return g.requests[requestKey{e.Process, e.Request}]
	case history.NodeCreated, history.NodeDeleted, history.NodeChanged:
		return g.changedBy[event]
	}
	return nil
}

// Requests returns the requests in the order in which they were sent.
func (g *Graph) Requests() []*Request { return g.order }

// Watch returns the watch with a number, or nil.
func (g *Graph) Watch(number int32) *Watch { return g.watches[number] }

// SessionEnd returns the SessionExpired or SessionClosed with which a znode was deleted, or -1.
func (g *Graph) SessionEnd(deleted int) int {
	if end, ok := g.ends[g.Events[deleted].Zxid]; ok {
		return end
	}
	return -1
}

// Timeout returns the timeout of a session, or 0 if that is unknown.
func (g *Graph) Timeout(session int64) time.Duration {
	for i := range g.Events {
		if e := &g.Events[i]; e.Kind == history.SessionOpened && e.Session == session {
			timeout, _ := time.ParseDuration(e.Name) // otherwise 0
			return timeout
		}
	}
	return 0
}

// Program returns the events before the given one that the code of the process has caused or
// observed, and the faults that have struck it, in order. The caller must not change the slice.
func (g *Graph) Program(process int32, before int) []int {
	all := g.program[process]
	n, _ := slices.BinarySearch(all, before)
	return all[:n]
}

// KeyBefore returns the last change of any key of the server of an event before it, or -1.
func (g *Graph) KeyBefore(event int) int {
	for n := event - 1; n >= 0; n-- {
		o := &g.Events[n]
		if o.Kind.OfKey() && o.Server == g.Events[event].Server {
			return n
		}
	}
	return -1
}

// KeyOf returns the process that had set a key of the server of an event before it, if the key
// existed, or 0.
func (g *Graph) KeyOf(event int, key string) int32 {
	for n := event - 1; n >= 0; n-- {
		switch o := &g.Events[n]; {
		case !o.Kind.OfKey() || o.Server != g.Events[event].Server || o.Path != key:
		case o.Kind == history.KeySet:
			return o.Process
		default:
			return 0
		}
	}
	return 0
}

// LastChange returns the last change of a znode before an event, or -1.
func (g *Graph) LastChange(znode string, before int) int {
	all := g.changes[znode]
	n, _ := slices.BinarySearch(all, before)
	if n == 0 {
		return -1
	}
	return all[n-1]
}

// Created returns the creation of a znode as it was just before an event, or -1.
func (g *Graph) Created(znode string, before int) int {
	all := g.changes[znode]
	n, _ := slices.BinarySearch(all, before)
	for n--; n >= 0; n-- {
		if g.Events[all[n]].Kind == history.NodeCreated {
			return all[n]
		}
	}
	return -1
}

// Deleted returns the first deletion of a znode after an event, or -1.
func (g *Graph) Deleted(znode string, after int) int {
	for _, i := range g.changes[znode] {
		if i > after && g.Events[i].Kind == history.NodeDeleted {
			return i
		}
	}
	return -1
}

// Live reports whether a znode exists just after an event.
func (g *Graph) Live(znode string, after int) bool {
	last := g.LastChange(znode, after+1)
	return last >= 0 && g.Events[last].Kind != history.NodeDeleted
}

// Listed returns the paths in the reply to a listing, and false if the event is none or its
// contents are unknown.
func (g *Graph) Listed(reply int) ([]string, bool) {
	e := &g.Events[reply]
	r := g.Request(reply)
	if e.Kind != history.Reply || e.Facts == nil || e.Facts.Children == nil || r == nil {
		return nil, false
	}
	paths := make([]string, len(e.Facts.Children))
	for i, child := range e.Facts.Children {
		paths[i] = path.Join(r.Path, child.Name)
	}
	return paths, true
}

// Listing reports whether an operation lists children.
func Listing(op string) bool { return op == "children" || op == "children+watch" }

// writes reports whether an operation changes znodes.
func writes(op string) bool {
	switch op {
	case "create", "createContainer", "createTTL", "delete", "set", "multi", "close":
		return true
	}
	return false
}

// Missed returns the znodes that existed when a server handled a listing and that the listing does
// not show: the server had not applied their creations yet.
func (g *Graph) Missed(listing int) (paths []string) {
	r := g.Request(listing)
	listed, known := g.Listed(listing)
	if r == nil || !known || r.Serve < 0 {
		return nil
	}
	for i := range g.Events[:r.Serve] {
		e := &g.Events[i]
		if e.Kind == history.NodeCreated && history.Directory(e.Path) == r.Path &&
			!slices.Contains(listed, e.Path) && !slices.Contains(paths, e.Path) &&
			g.Live(e.Path, r.Serve) {
			paths = append(paths, e.Path)
		}
	}
	return paths
}
