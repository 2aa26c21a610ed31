package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/page"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A State is what a run has come to at the end of a path.
type State struct {
	Path
	At        time.Duration   `json:"at_ns"`
	Ended     bool            `json:"ended"`   // the run is over; nothing can be chosen
	Taken     []Taken         `json:"taken"`   // the steps of the path
	Enabled   []Choice        `json:"enabled"` // the steps that can be chosen
	Events    []Event         `json:"events"`
	Processes []Process       `json:"processes"`
	Queue     []Waiter        `json:"queue"`  // the sequential znodes, by number
	System    *sim.Inspection `json:"system"` // the service, or null if it cannot be inspected
	// Names are the short names of the znodes of the service, by path, as in the timeline.
	Names      map[string]string `json:"names,omitempty"`
	Violations []Violation       `json:"violations"`
	TraceHash  engine.TraceHash  `json:"trace_hash"` // of the events so far
	Page       *page.Data        `json:"page"`       // the run so far, for the page
}

// A Taken is a step of a path.
type Taken struct {
	Index    int      `json:"index"`
	Step     sim.Step `json:"step"`
	Deviates bool     `json:"deviates,omitempty"` // from the default policy
	Event    int      `json:"event"`              // the first event after it
}

// A Choice is a step that can be chosen.
type Choice struct {
	Step    sim.Step `json:"step"`
	Text    string   `json:"text"`              // what it does
	Default bool     `json:"default,omitempty"` // the default policy takes it
	Fault   bool     `json:"fault,omitempty"`
	// the order of waiting messages and processes: the smaller, the older; 0 for other steps
	Age uint64 `json:"age,omitempty"`
}

// An Event is an event of the run.
type Event struct {
	Number   int            `json:"number"` // as in trace.jsonl, from 0
	Decision int            `json:"decision"`
	At       time.Duration  `json:"at_ns"`
	Kind     history.Kind   `json:"kind"`
	Process  int32          `json:"process,omitempty"` // 0 if it concerns the ensemble alone
	Text     string         `json:"text"`
	Source   string         `json:"source,omitempty"` // the line of the lock that sent its request
	Facts    *history.Facts `json:"facts,omitempty"`
}

// A Process is the state of a process.
type Process struct {
	Process  int32  `json:"process"`
	Stage    string `json:"stage"` // idle, locking, holding, releasing or finished
	Attempt  int32  `json:"attempt"`
	Text     string `json:"text"`               // the state in words
	Believes bool   `json:"believes,omitempty"` // that it holds the lock
	Inside   bool   `json:"inside,omitempty"`   // its critical section
	Lost     bool   `json:"lost,omitempty"`     // it knows that it has lost the lock
	Node     string `json:"node,omitempty"`     // the znode by which it was granted the lock
	// that znode exists, so that the ensemble grants it the lock too
	NodeLive bool `json:"node_live,omitempty"`
}

// A Waiter is a sequential znode of a queue.
type Waiter struct {
	Path    string `json:"path"`
	Name    string `json:"name"` // the short name
	Process int32  `json:"process,omitempty"`
}

// A Violation is a broken property.
type Violation struct {
	Property      history.Property `json:"property"`
	Signature     string           `json:"signature"`
	Detail        string           `json:"detail"`
	Why           string           `json:"why"` // in words
	Event         int              `json:"event"`
	OutOfContract bool             `json:"out_of_contract,omitempty"` // not promised by the lock
}

// A snapshot is what a run shows of the state in which it ends, before its processes are torn down.
type snapshot struct {
	at        time.Duration
	system    *sim.Inspection
	peers     []sim.Peer // the clients, by process
	processes []engine.ProcessState
}

func newSnapshot(view engine.View) *snapshot {
	s := &snapshot{at: view.Now(), system: view.Inspect()}
	for n := range view.Processes() {
		s.processes = append(s.processes, view.State(int32(n+1)))
	}
	if s.system != nil {
		s.peers = s.system.Peers
		return s
	}
	for n := range s.processes {
		process := int32(n + 1)
		c := view.Client(process)
		peer := sim.Peer{
			Process: process, Connected: c.Connected(), Crashed: c.Crashed(), Paused: c.Paused(),
		}
		if c.Pending() {
			peer.Awaits = "its request"
		}
		s.peers = append(s.peers, peer)
	}
	return s
}

// peer returns the client of a process.
func (s *snapshot) peer(process int32) sim.Peer {
	for _, p := range s.peers {
		if p.Process == process {
			return p
		}
	}
	return sim.Peer{Process: process, Connected: true}
}

// exists reports whether the service stores the znode.
func (s *snapshot) exists(path string) bool {
	return s.system != nil && slices.ContainsFunc(s.system.Nodes,
		func(n sim.Node) bool { return n.Path == path })
}

// state returns the state at the end of the path.
func (f *follower) state(scenario *scenarios.Scenario, result *engine.Result) *State {
	result.Lead(scenario, "")
	report, names := result.Explain(scenario), timeline.NewNames(result.Events)
	f.of = report.Timeline.Of
	s := &State{
		Path: Path{len(f.taken), append([]engine.Deviation{}, result.Deviations...)},
		At:   f.seen.at, Ended: !result.Pruned, Taken: append([]Taken{}, f.taken...),
		Enabled: []Choice{}, System: f.seen.system, Violations: []Violation{},
		TraceHash: engine.TraceHash(result.TraceHash),
	}
	if !s.Ended {
		for i := range f.enabled {
			o := &f.enabled[i]
			s.Enabled = append(s.Enabled, Choice{
				Step: o.Step, Text: f.describe(o, names), Default: i == f.normal,
				Fault: o.Kind == sim.Fault, Age: o.Age,
			})
		}
		fair := sim.EnabledStep{Step: sim.Step{Kind: sim.Fair}}
		s.Enabled = append(s.Enabled, Choice{Step: fair.Step, Text: f.describe(&fair, names)})
	}
	s.addEvents(result.Events, names, f.of)
	for i := range f.seen.processes {
		s.Processes = append(s.Processes, f.process(int32(i+1), result.Events, names))
	}
	s.Queue = f.queue(names)
	s.shorten(names)
	s.Page = page.New(page.About{
		Lock: scenario.Subject.Name, Scenario: scenario.String(),
		Deviations: recording.Steps(result, s.Deviations),
	}, report)
	for _, why := range report.Whys {
		v := why.Violation
		s.Violations = append(s.Violations, Violation{
			v.Property, v.Signature(), v.Detail, why.Text, v.Event,
			result.OutOfContract(scenario, v),
		})
	}
	return s
}

// shorten shortens the names of the znodes in the messages that are in flight, and notes those of
// the znodes that exist or are watched.
func (s *State) shorten(names *timeline.Names) {
	if s.System == nil {
		return
	}
	for i := range s.System.Peers {
		p := &s.System.Peers[i]
		p.Awaits = short(p.Awaits, names)
		for _, texts := range [...][]string{p.Requests, p.Messages} {
			for n := range texts {
				texts[n] = short(texts[n], names)
			}
		}
	}
	if len(s.System.Nodes)+len(s.System.Watches) > 0 {
		s.Names = make(map[string]string)
	}
	for _, n := range s.System.Nodes {
		s.Names[n.Path] = names.Of(n.Path)
	}
	for _, w := range s.System.Watches {
		s.Names[w.Path] = names.Of(w.Path)
	}
}

// addEvents adds the events of a run.
func (s *State) addEvents(events []history.Event, names *timeline.Names, of timeline.Primitive) {
	decision := -1 // before the first decision
	s.Events = make([]Event, len(events))
	phrases := timeline.NewPhrases(cause.New(events), names, of)
	for i := range events {
		for decision+1 < len(s.Taken) && s.Taken[decision+1].Event <= i {
			decision++
		}
		e := &events[i]
		s.Events[i] = Event{
			i, decision, e.At, e.Kind, e.Process, phrases.Event(i), phrases.Source(i), e.Facts,
		}
	}
}

// queue returns the sequential znodes.
func (f *follower) queue(names *timeline.Names) []Waiter {
	queue := []Waiter{}
	if f.seen.system == nil {
		return queue
	}
	processes := make(map[string]int32)
	var paths []string
	for _, n := range f.seen.system.Nodes {
		if timeline.Sequential(n.Path) {
			processes[n.Path] = n.Process
			paths = append(paths, n.Path)
		}
	}
	for _, path := range timeline.Sorted(paths) {
		queue = append(queue, Waiter{path, names.Of(path), processes[path]})
	}
	return queue
}

// process returns the state of a process.
func (f *follower) process(number int32, events []history.Event, names *timeline.Names) Process {
	state, peer := &f.seen.processes[number-1], f.seen.peer(number)
	p := Process{
		Process: number, Stage: state.Stage.String(), Attempt: state.Attempt, Lost: state.Lost,
	}
	holding := p.Stage == "holding" && !peer.Crashed
	p.Believes = holding && !p.Lost
	p.Inside = holding && state.Waiting && state.Gate == sim.Leave
	if holding {
		var node string
		if node, p.NodeLive = f.granted(number, events); node != "" {
			p.Node = names.Of(node)
		}
	}
	p.Text = strings.Join(f.words(&p, state, &peer, names), "; ")
	return p
}

// granted returns the path of the znode of the last grant to a process, or "", and whether that
// znode exists.
func (f *follower) granted(process int32, events []history.Event) (path string, live bool) {
	for i := len(events) - 1; i >= 0; i-- {
		if e := &events[i]; e.Kind == history.LockReturn && e.Process == process {
			node, known := history.GrantNode(events, i)
			if !known {
				return node.Path, f.seen.exists(node.Path)
			}
			now := history.QueueAfter(events)
			n := now.Live(node.Path)
			return node.Path, n >= 0 && now.Nodes[n].Created == node.Created
		}
	}
	return "", false
}

// words describes the state of a process.
func (f *follower) words(p *Process, state *engine.ProcessState, peer *sim.Peer,
	names *timeline.Names,
) (words []string) {
	say := func(text string, when bool) {
		if when {
			words = append(words, text)
		}
	}
	switch {
	case state.Panics != "":
		return []string{"has panicked"}
	case peer.Crashed:
		return []string{"has crashed"}
	case p.Stage == "finished":
		return []string{"finished"}
	case p.Stage == "idle" && state.Attempt == 0:
		say(f.of.In("has not asked for the lock yet"), true)
	case p.Stage == "idle":
		say(f.of.In("does not want the lock"), true)
	case p.Stage == "locking":
		say(f.of.In("asks for the lock, ")+f.waits(p.Process, peer, names), true)
		say("its context is cancelled", state.Cancelled)
	case p.Stage == "holding":
		by := ""
		if p.Node != "" {
			by = " by " + p.Node
		}
		say(f.of.In("has the lock")+by, p.Believes)
		say(f.of.In("knows that it has lost the lock")+by, p.Lost)
		say("that znode is gone", p.Node != "" && !p.NodeLive)
		say("in its critical section", p.Inside)
		say("about to enter its critical section", state.Waiting && state.Gate == sim.Enter)
	case p.Stage == "releasing":
		say(f.of.In("unlocks, ")+f.waits(p.Process, peer, names), true)
	}
	say("paused", peer.Paused)
	say("its link is down", peer.Down)
	say("not connected", !peer.Connected)
	return words
}

// waits says what a process waits for.
func (f *follower) waits(process int32, peer *sim.Peer, names *timeline.Names) string {
	if peer.Awaits != "" {
		return "waits for the reply to " + short(peer.Awaits, names)
	}
	var watched []string
	if f.seen.system != nil {
		for _, w := range f.seen.system.Watches {
			if w.Process == process {
				watched = append(watched, names.Of(w.Path))
			}
		}
	}
	switch {
	case len(peer.Messages) > 0:
		return "has not received a message yet"
	case len(watched) > 0:
		return "waits for its watch on " + strings.Join(watched, " and ")
	}
	return "waits for no reply and no watch"
}

// describe says what a step does.
func (f *follower) describe(o *sim.EnabledStep, names *timeline.Names) string {
	c, peer := history.ProcessName(o.Process), f.seen.peer(o.Process)
	switch o.Kind {
	case sim.Serve:
		return "the server handles " + c + "'s " + first(peer.Requests, "request", names)
	case sim.Deliver:
		return c + " receives the " + first(peer.Messages, "next message", names)
	case sim.Enter:
		return c + " enters its critical section"
	case sim.Leave:
		return c + " leaves its critical section"
	case sim.Resume:
		return c + "'s pause ends"
	case sim.Heal:
		switch o.Victim() {
		case faults.OneServer:
			return fmt.Sprintf("s%d works again", -o.Process)
		case faults.OneClient:
			return c + "'s link works again"
		}
		return "the link works again"
	case sim.Log:
		return fmt.Sprintf("s%d logs the next proposal", -o.Process)
	case sim.Apply:
		return fmt.Sprintf("s%d applies the next transaction", -o.Process)
	case sim.Tick:
		if o.Due {
			return "time passes; a session is about to expire, or a client to connect"
		}
		return "time passes until the next deadline"
	case sim.Before:
		return "time passes until just before a timer fires"
	case sim.After:
		return "time passes until just after a timer fires"
	case sim.Pass:
		return "time passes for " + history.FormatSpan(o.For)
	case sim.Shift:
		return "the phase of a timer moves"
	case sim.Fair:
		return "no more faults; the default policy decides until the end of the run"
	}
	return o.Fault.Meaning()
}

// first returns the first of the messages that are in flight, or another text if none is known.
func first(messages []string, otherwise string, names *timeline.Names) string {
	if len(messages) == 0 {
		return otherwise
	}
	return short(messages[0], names)
}

// short returns a text with the paths in it replaced by short names.
func short(text string, names *timeline.Names) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		if path := strings.TrimSuffix(word, ":"); strings.HasPrefix(path, "/") {
			words[i] = names.Of(path) + word[len(path):]
		}
	}
	return strings.Join(words, " ")
}
