package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
	"github.com/interlock-sim/interlock/history/explain"
)

// A Cause is how a violation came about: the faults and requests that the explanation of a run
// names, whichever process sent them. Both lists are sorted, and have each text once.
type Cause struct {
	Faults []string `json:"faults,omitempty"` // the kinds that mattered
	// Calls are the requests that mattered, by operation and, if the run has gathered
	// [history.Facts], source line, such as "create at billing/lock.go:42". A request without an
	// answer, and a session that expired, have texts of their own.
	Calls []string `json:"calls,omitempty"`
}

// What faults do to calls and sessions.
const (
	noAnswer       = ": no answer"
	sessionExpired = "session expired"
)

// CauseOf returns the cause of a violation in a history.
func CauseOf(events []history.Event, v *history.Violation) Cause {
	var c Cause
	graph := cause.New(events)
	show := explain.Of(events, []*history.Violation{v}).Show
	for _, i := range show {
		e := &events[i]
		switch {
		case e.Kind == history.Fault:
			c.Faults = append(c.Faults, e.Name)
		case e.Kind == history.SessionExpired || e.Kind == history.NodeDeleted && expired(graph, i):
			c.Calls = append(c.Calls, sessionExpired)
		default:
			c.Calls = append(c.Calls, calls(graph, i, show[len(show)-1])...)
		}
	}
	c.Faults, c.Calls = sortedSet(c.Faults), sortedSet(c.Calls)
	return c
}

// expired reports whether a node was deleted because its session expired.
func expired(graph *cause.Graph, deleted int) bool {
	end := graph.SessionEnd(deleted)
	return end >= 0 && graph.Events[end].Kind == history.SessionExpired
}

func sortedSet(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// calls names the request of an event, if it has one, and says so if it had no answer up to the
// last event.
func calls(graph *cause.Graph, event, last int) []string {
	sent, answered := graph.Command(event), true
	if r := graph.Request(event); r != nil {
		sent = r.Send
		if r.Reply >= 0 && r.Reply <= last {
			reply := &graph.Events[r.Reply]
			answered = reply.Err == "" || reply.Zxid != 0
		}
	}
	if sent < 0 {
		return nil
	}
	text, _, _ := strings.Cut(graph.Events[sent].Op, " ")
	if f := graph.Events[sent].Facts; f != nil && f.Line != "" {
		text += " at " + f.Line
	}
	if answered {
		return []string{text}
	}
	return []string{text, text + noAnswer}
}

// String lists what tells the cause from others. It has the kinds of faults only if no call and no
// session shows what they did: it makes no difference why a request has no answer.
func (c *Cause) String() string { return strings.Join(c.texts(), "; ") }

func (c *Cause) texts() []string {
	if slices.ContainsFunc(c.Calls, showsFault) {
		return c.Calls
	}
	return slices.Concat(c.Faults, c.Calls)
}

// disturbance returns what faults did, or the kinds of the faults if no call shows that.
func (c *Cause) disturbance() []string {
	if slices.ContainsFunc(c.Calls, showsFault) {
		return slices.DeleteFunc(slices.Clone(c.Calls),
			func(call string) bool { return !showsFault(call) })
	}
	return c.Faults
}

// showsFault reports whether a call shows what a fault did.
func showsFault(call string) bool {
	return call == sessionExpired || strings.HasSuffix(call, noAnswer)
}

// Covers reports whether another cause is the same, or the same with more faults or more calls. A
// cause without a fault covers no other: calls alone are too common.
func (c *Cause) Covers(other *Cause) bool {
	if c.String() == other.String() {
		return true
	}
	all := slices.Concat(other.Faults, other.Calls)
	return len(c.disturbance()) > 0 &&
		!slices.ContainsFunc(c.texts(),
			func(text string) bool { return !slices.Contains(all, text) })
}

// Within reports whether the cause has no call that another one lacks.
func (c *Cause) Within(other *Cause) bool {
	return !slices.ContainsFunc(c.Calls,
		func(call string) bool { return !slices.Contains(other.Calls, call) })
}

// Compare orders causes, those with the fewest faults and calls first.
func (c *Cause) Compare(other *Cause) int {
	return cmp.Or(cmp.Compare(len(c.Faults), len(other.Faults)),
		cmp.Compare(len(c.Calls), len(other.Calls)),
		slices.Compare(c.Faults, other.Faults), slices.Compare(c.Calls, other.Calls))
}
