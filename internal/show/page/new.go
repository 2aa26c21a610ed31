package page

import (
	"fmt"
	"path"
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
)

// New returns the data of a reported run.
func New(about About, report *explain.Report) *Data {
	events := report.Timeline.Events
	b := &builder{
		Data: &Data{
			Version: Version, About: about, Lanes: lanesOf(events), Nodes: []Node{},
			Steps: make([]Step, len(events)), Decisive: []int{}, Violations: []Violation{},
			Arrows: []Arrow{}, Bars: []Bar{}, Stuck: []Stuck{},
		},
		graph: cause.New(events), names: timeline.NewNames(events),
		processes: make(map[int32]*ProcessState), requests: make(map[int32]int32),
		servers: make(map[int32]*ServerState), watches: make(map[int32]*WatchState),
		nodes: make(map[string]int), open: make(map[barKey]int),
	}
	b.phrases = timeline.NewPhrases(b.graph, b.names, report.Timeline.Of)
	for i := range events {
		e := &events[i]
		b.Steps[i] = Step{
			At: e.At, Kind: e.Kind, Lane: b.laneOf(e), Text: b.phrases.Event(i),
			Source: b.phrases.Source(i),
		}
		b.change(i)
		b.bars(i)
	}
	b.arrows()
	if len(report.Whys) > 0 {
		b.Decisive = append(b.Decisive, report.Show...)
	}
	for _, why := range report.Whys {
		b.violation(why)
	}
	b.stuck(report.Timeline.Violations)
	b.likelihood(report)
	return b.Data
}

// A builder builds Data.
type builder struct {
	*Data
	graph   *cause.Graph
	names   *timeline.Names
	phrases *timeline.Phrases
	queue   history.Queue // before the event under way

	processes map[int32]*ProcessState
	requests  map[int32]int32 // the number of the request in ProcessState.Request
	servers   map[int32]*ServerState
	watches   map[int32]*WatchState
	nodes     map[string]int // indexes of Nodes, by path
	open      map[barKey]int // indexes of the bars that have not ended
}

// lanesOf returns the lanes of a history: the ensemble, its servers if it has several, and the
// processes.
func lanesOf(events []history.Event) []Lane {
	var servers, processes int32
	threads := 1
	for i := range events {
		e := &events[i]
		servers = max(servers, e.Server, int32(e.Peer))
		process, thread := history.ProcessOf(e.Process)
		processes, threads = max(processes, process), max(threads, thread)
	}
	lanes := []Lane{{Ensemble, 0, timeline.ServiceName(events)}}
	if servers > 1 {
		for n := range servers {
			lanes = append(lanes, Lane{Server, n + 1, fmt.Sprintf("s%d", n+1)})
		}
	}
	for n := range processes {
		for thread := range threads {
			number := history.ThreadNumber(n+1, thread+1)
			lanes = append(lanes, Lane{Process, number, history.ProcessName(number)})
		}
	}
	return lanes
}

// lane returns the index of a lane, or that of the ensemble if there is none.
func (d *Data) lane(kind string, number int32) int {
	return max(0, slices.IndexFunc(d.Lanes, func(l Lane) bool {
		return l.Kind == kind && l.Number == number
	}))
}

// laneOf returns the lane of an event, or -1 if it concerns all.
func (d *Data) laneOf(e *history.Event) int {
	switch {
	case e.Kind == history.Tick || e.Kind == history.FairPhase:
		return -1
	case e.Kind.InServer():
		return d.lane(Server, e.Server)
	case e.Process != 0:
		return d.lane(Process, e.Process)
	}
	if e.Server == 0 {
		return d.lane(Server, int32(e.Peer))
	}
	return d.lane(Server, e.Server)
}

// arrows adds the messages.
func (b *builder) arrows() {
	events := b.graph.Events
	for _, r := range b.graph.Requests() {
		lane := b.lane(Process, r.Process)
		reached := r.Serve // the first event in the ensemble
		for _, i := range r.Changes {
			reached = earlier(reached, i)
		}
		if r.Watch != nil {
			reached = earlier(reached, r.Watch.Armed)
		}
		switch unanswered := r.Reply >= 0 && events[r.Reply].Zxid == 0 &&
			events[r.Reply].Err != ""; {
		case reached < 0:
			if r.Reply >= 0 { // Otherwise it is still under way.
				b.Arrows = append(b.Arrows, Arrow{Request, r.Send, -1, 0})
			}
			continue
		case r.Serve >= 0 && unanswered:
			b.Arrows = append(b.Arrows, Arrow{Reply, r.Serve, -1, lane})
		case r.Serve >= 0 && r.Reply >= 0:
			b.Arrows = append(b.Arrows, Arrow{Reply, r.Serve, r.Reply, lane})
		}
		b.Arrows = append(b.Arrows, Arrow{Request, r.Send, reached, b.Steps[reached].Lane})
	}
	committed, executed := make(map[int64]int), make(map[int]int)
	for i := range events {
		switch e := &events[i]; e.Kind {
		case history.Executed:
			if sent := b.graph.Command(i); sent >= 0 {
				executed[sent] = i
				b.Arrows = append(b.Arrows, Arrow{Request, sent, i, b.Steps[i].Lane})
			}
		case history.Answer:
			if from, ok := executed[b.graph.Command(i)]; ok {
				b.Arrows = append(b.Arrows, Arrow{Reply, from, i, b.Steps[i].Lane})
			}
		case history.NodeCreated, history.NodeDeleted, history.NodeChanged, history.SessionOpened,
			history.SessionExpired, history.SessionClosed:
			if _, ok := committed[e.Zxid]; !ok {
				committed[e.Zxid] = i
			}
		case history.Applied:
			if from, ok := committed[e.Zxid]; ok && b.Steps[from].Lane != b.Steps[i].Lane {
				b.Arrows = append(b.Arrows, Arrow{Replication, from, i, b.Steps[i].Lane})
			}
		case history.WatchFired:
			lane := b.lane(Process, e.Process)
			if w := b.graph.Watch(e.Watch); w != nil && w.Event >= 0 {
				b.Arrows = append(b.Arrows, Arrow{WatchEvent, i, w.Event, lane})
			} else if w != nil && w.Gone >= 0 {
				b.Arrows = append(b.Arrows, Arrow{WatchEvent, i, -1, lane})
			}
		}
	}
	slices.SortStableFunc(b.Arrows, func(x, y Arrow) int { return x.From - y.From })
}

// earlier returns the lesser of two indexes; a negative index counts as none.
func earlier(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

func (b *builder) violation(why explain.Why) {
	v := why.Violation
	step := v.Event
	if step < 0 || step >= len(b.Steps) {
		step = -1
	}
	detail := b.names.In(v.Detail)
	if v.Guarantee != nil {
		detail += " (" + v.Guarantee.Error() + ")"
	}
	b.Violations = append(b.Violations, Violation{
		v.Property, v.Reason, detail, why.Text, step, slices.Concat([]int{}, why.Events),
	})
}

// stuck adds the process that waits forever, if that is the first violation, and what its
// goroutines are blocked on.
func (b *builder) stuck(violations []*history.Violation) {
	events := b.graph.Events
	if !timeline.Waits(events, violations) || violations[0].Event < 0 ||
		violations[0].Event >= len(events) {
		return
	}
	p := events[violations[0].Event].Process
	text := history.ProcessName(p) + " STILL WAITS"
	if facts := events[len(events)-1].Facts; facts != nil {
		for _, w := range facts.Waits {
			if w.Process == p && w.Line != "" {
				text += fmt.Sprintf(" · %s at %s", w.On, path.Base(w.Line))
			}
		}
	}
	b.Stuck = append(b.Stuck, Stuck{b.lane(Process, p), text})
}

// likelihood adds the likelihood of the first violation, if the report has it and says which events
// come from which decision.
func (b *builder) likelihood(report *explain.Report) {
	l, starts := report.Likelihood, report.Starts
	if l == nil || len(l.Curve) == 0 || len(starts) == 0 {
		return
	}
	before := func(decision int) int { // the number of events before a decision
		if decision < len(starts) {
			return starts[decision]
		}
		return len(b.Steps)
	}
	decision := func(d *explain.Decision) *Decision {
		if d == nil {
			return nil
		}
		text := d.Taken
		if d.Instead != "" {
			text = d.Instead + " instead of " + d.Taken
		}
		return &Decision{d.Step, min(before(d.Step), len(b.Steps)-1), text}
	}
	b.Likelihood = &Likelihood{
		Text: report.LikelihoodText(), Jump: decision(l.Jump), Avoidable: decision(l.Avoidable),
	}
	for _, point := range l.Curve {
		b.Likelihood.Curve = append(b.Likelihood.Curve,
			Point{before(point.Step) - 1, point.Probability})
	}
}
