package strategy

import (
	"slices"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// A shape is a course of events that strategies hardly ever draw step by step. Some schedules of a
// campaign have one.
type shape uint8

const (
	shapeless shape = iota
	// A call is cancelled while it searches for the node of a create whose connection broke.
	searchers
	// A holder that is cut off, and then told of its loss, stays inside while others enter and
	// leave.
	lateLeaver
	// Contenders with one before and one behind them give up, also several in a row.
	quitters
	// The lock of a process goes on in the background after the last call: the call ends early, the
	// process's messages move only while another holds the lock, and that one stays long.
	afterlife
	// The leader is cut off while a process waits, and heals late: once the others have elected
	// another, it tells clients that their sessions have ended, although they live on.
	deposed
	// A holder is paused until after its lock has expired, and others get the lock meanwhile.
	overslept
	// A client gets its session back late, and its server is cut off once its process has the lock.
	reopened

	shapes
)

// shapeWeights are the weights of the shapes among the schedules of a campaign.
var shapeWeights = [shapes]uint64{
	shapeless: 12, searchers: 1, lateLeaver: 1, quitters: 1, afterlife: 1, deposed: 1,
	overslept: 4, reopened: 12,
}

// The odds N mean that a step that is held back is allowed in one decision of N. Each schedule
// draws one of these.
var heldOdds = [...]uint64{16, 64}

// The odds N mean that a fault that the shape seeks strikes in one decision of N in which it can.
// They are drawn anew after each.
var soughtOdds = [...]uint64{2, 8, 32}

// The odds that the answer to a handshake is not held back any longer are one in so many decisions.
const openingOdds = 8

// heldTimeMax is how long a schedule may hold steps back. Waits of many session timeouts show
// nothing more, and readers of package lock, which poll once in each, would break no-herd.
const heldTimeMax = 12 * time.Second

// A shaped strategy follows another strategy, but seeks some faults and holds some steps back. Its
// schedules record the decisions, as all do.
type shaped struct {
	engine.Strategy
	shape shape
	draw  *Random
	view  engine.View
	line  line

	searching int32 // the process whose create the shape has broken; 0 for none
	attempt   int32 // of that process
	opening   int32 // the process whose client gets its session back late; 0 for none
	late      bool  // the answer to its handshake waits
	prompt    bool  // messages come before time

	heldOdds, soughtOdds uint64
	struck               bool // a fault that the shape seeks

	holding bool          // the last choice held a step back
	last    time.Duration // when that was
	held    time.Duration // how long steps were held back

	options []sim.EnabledStep // scratch memory: the steps that are not held back
	indexes []int             // of the options, or of the faults sought, among the enabled steps
}

// Shaped returns the strategy with the shape that the schedule draws, or the strategy itself if the
// schedule has none.
func Shaped(s engine.Strategy, p *Profile, seed uint64, schedule int) engine.Strategy {
	draw := NewRandom(seed^0x7368617065, schedule)
	kind := drawShape(draw, p)
	if kind == shapeless {
		return s
	}
	return &shaped{
		Strategy: s, shape: kind, draw: draw,
		heldOdds: drawOdds(draw, heldOdds[:]), soughtOdds: drawOdds(draw, soughtOdds[:]),
	}
}

func drawOdds(draw *Random, odds []uint64) uint64 { return odds[draw.Below(uint64(len(odds)))] }

func drawShape(draw *Random, p *Profile) shape {
	weights := shapeWeights
	if len(p.Shifts) == 0 { // Nobody can depose the only server.
		weights[deposed] = 0
	}
	if !p.expires {
		weights[overslept] = 0
	}
	if len(p.Shifts) == 0 || !p.reopens {
		weights[reopened] = 0
	}
	total := uint64(0)
	for _, weight := range weights {
		total += weight
	}
	kind := shapeless
	for at := draw.Below(total); at >= weights[kind]; kind++ {
		at -= weights[kind]
	}
	return kind
}

// Watch notes the run, and lets the other strategy see it.
func (s *shaped) Watch(view engine.View) {
	s.view = view
	engine.Watch(s.Strategy, view)
}

// Choose returns a fault that the shape seeks if one is drawn, or the choice of the other strategy
// among the steps that are not held back.
func (s *shaped) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	now := s.view.Now()
	if s.holding {
		s.held += now - s.last
	}
	s.holding, s.last = false, now
	if fault, ok := s.strike(enabled); ok {
		return fault
	}
	s.options, s.indexes = s.options[:0], s.indexes[:0]
	s.prompt = s.opening > 0 && slices.ContainsFunc(enabled, isMessage)
	s.late = slices.ContainsFunc(enabled, s.endsOpening)
	for i := range enabled {
		if s.shape == reopened && enabled[i].Kind == sim.Fault {
			break // It needs the budget for the faults that it seeks. Faults come last.
		}
		if s.held >= heldTimeMax || !s.holds(&enabled[i]) || s.draw.Below(s.heldOdds) == 0 {
			s.options, s.indexes = append(s.options, enabled[i]), append(s.indexes, i)
		}
	}
	if len(s.options) == len(enabled) {
		return s.Strategy.Choose(index, enabled, defaultIndex)
	}
	s.holding = true
	chosen := s.Strategy.Choose(index, s.options, engine.DefaultIndex(s.options))
	if chosen < 0 { // It is not listed.
		return chosen
	}
	return s.indexes[chosen]
}

// holds reports whether a step is held back.
func (s *shaped) holds(step *sim.EnabledStep) bool {
	if s.shape == reopened {
		return s.holdsReopened(step)
	}
	if step.Process <= 0 {
		return s.shape == deposed && step.Kind == sim.Heal
	}
	process, _ := history.ProcessOf(step.Process)
	switch step.Kind {
	case sim.Resume:
		return s.shape == overslept
	case sim.Leave:
		if s.shape == lateLeaver {
			return s.view.Lost(step.Process) || !s.view.Client(process).Connected()
		}
		return s.shape == afterlife && s.any(s.view.Finished) ||
			s.shape == overslept && !s.struck
	case sim.Serve, sim.Deliver:
		return s.shape == afterlife && s.view.Finished(process) && !s.any(s.view.Holds)
	}
	return false
}

// holdsReopened is holds for the shape reopened, in which time passes only where no message waits.
// The session comes back late, but mostly before it ends.
func (s *shaped) holdsReopened(step *sim.EnabledStep) bool {
	switch step.Kind {
	case sim.Tick:
		return s.prompt
	case sim.Leave:
		return step.Process == s.opening || s.late
	case sim.Heal:
		return step.Process <= 0 ||
			s.endsOpening(*step) && (s.prompt || s.draw.Below(openingOdds) > 0)
	}
	return false
}

// endsOpening reports whether a step gives the process its session back.
func (s *shaped) endsOpening(o sim.EnabledStep) bool {
	return o.Kind == sim.Heal && s.opening > 0 && o.Process == s.opening
}

// isMessage reports whether a step is one of a message, or of the log of a server.
func isMessage(o sim.EnabledStep) bool {
	return o.Kind <= sim.Enter || o.Kind == sim.Log || o.Kind == sim.Apply
}

// any reports whether some process is in a state.
func (s *shaped) any(is func(process int32) bool) bool {
	for process := range s.view.Processes() {
		if is(int32(process + 1)) {
			return true
		}
	}
	return false
}

// strike returns the index of a fault that the shape seeks, if one is drawn.
func (s *shaped) strike(enabled []sim.EnabledStep) (index int, ok bool) {
	s.indexes = s.indexes[:0]
	for i := len(enabled) - 1; i >= 0 && enabled[i].Kind == sim.Fault; i-- {
		if s.seeks(&enabled[i]) {
			s.indexes = append(s.indexes, i)
		}
	}
	odds := s.soughtOdds
	if s.shape == reopened && s.struck {
		odds = soughtOdds[0]
	}
	if len(s.indexes) == 0 || s.draw.Below(odds) > 0 {
		return 0, false
	}
	s.soughtOdds, s.struck = drawOdds(s.draw, soughtOdds[:]), true
	index = s.indexes[s.draw.Below(uint64(len(s.indexes)))]
	switch fault := &enabled[index]; {
	case s.shape == searchers && fault.Fault != faults.Cancel:
		s.searching, s.attempt = fault.Process, s.view.State(fault.Process).Attempt
	case s.shape == reopened && fault.Fault == faults.SlowOpen:
		s.opening = fault.Process
	}
	return index, true
}

// seeks reports whether the shape seeks a fault.
func (s *shaped) seeks(fault *sim.EnabledStep) bool {
	if server, ok := fault.Server(); ok {
		return fault.Fault == faults.PartitionServer &&
			(s.shape == deposed && s.view.Leads(server) && s.any(s.waits) ||
				s.shape == reopened && s.cutsOffHolder(server))
	}
	switch s.shape {
	case searchers:
		return s.seeksSearcher(fault)
	case quitters:
		if fault.Fault != faults.Cancel {
			return false
		}
		s.line.follow(s.view.Events())
		return s.line.within(fault.Process)
	case overslept:
		return fault.Fault == faults.Pause && s.view.Holds(fault.Process)
	case reopened:
		if s.opening > 0 || fault.Fault != faults.Reset {
			return s.opening == 0 && fault.Fault == faults.SlowOpen
		}
		s.line.follow(s.view.Events())
		return !s.struck && s.waits(fault.Process) && s.line.before(fault.Process) &&
			!s.view.Leads(s.view.Client(fault.Process).ServerIndex()+1) // It goes there.
	case afterlife:
		if fault.Fault == faults.Cancel {
			return s.view.LastAttempt(fault.Process)
		}
		return slices.Contains(unanswered[:], fault.Fault) &&
			s.view.Phase(fault.Step) == faults.Releasing && s.view.LastAttempt(fault.Process)
	}
	return false
}

// cutsOffHolder reports whether a follower is the server of the holder whose session came back late,
// and a process waits for the lock at another server.
func (s *shaped) cutsOffHolder(server int) bool {
	at := func(process int32) bool { return s.view.Client(process).ServerIndex() == server }
	return s.opening > 0 && s.view.Holds(s.opening) && at(s.opening) && !s.view.Leads(server) &&
		s.any(func(process int32) bool { return s.waits(process) && !at(process) })
}

// waits reports whether a process waits for the lock.
func (s *shaped) waits(process int32) bool {
	return s.view.Phase(sim.Step{Process: process}) == faults.Waiting
}

// seeksSearcher reports whether a fault breaks the connection during a create, or cancels the call
// that searches for the node of such a create.
func (s *shaped) seeksSearcher(fault *sim.EnabledStep) bool {
	phase := s.view.Phase(fault.Step)
	if fault.Fault == faults.Cancel {
		return fault.Process == s.searching && s.view.State(s.searching).Attempt == s.attempt &&
			(phase == faults.Asking || phase == faults.Listing)
	}
	return s.searchOver() && phase == faults.CreateInFlight &&
		slices.Contains(unanswered[:], fault.Fault)
}

// searchOver reports whether no attempt searches for the node of a create that the shape has
// broken.
func (s *shaped) searchOver() bool {
	p := s.searching
	return p == 0 || s.view.State(p).Attempt != s.attempt || s.view.Holds(p) || s.view.Finished(p)
}

// unanswered are faults after which a request has failed as far as its process knows.
var unanswered = [...]faults.Kind{
	faults.Cut, faults.LoseReply, faults.Reset, faults.StallReplies,
}

// A line is the processes that wait for the lock or hold it, in the order of their nodes, or of
// their calls where they have none.
type line struct {
	seen    int // the number of events that it has followed
	numbers []int32
}

// follow updates the line with the events since the last call.
func (l *line) follow(events []history.Event) {
	for ; l.seen < len(events); l.seen++ {
		e := &events[l.seen]
		switch {
		case e.Kind == history.LockCall, e.Kind == history.NodeCreated && e.Session != 0:
			l.remove(e.Process)
			l.numbers = append(l.numbers, e.Process)
		case e.Kind == history.LockReturn && e.Err != "", e.Kind == history.UnlockCall,
			e.Kind == history.Crashed:
			l.remove(e.Process)
		}
	}
}

func (l *line) remove(number int32) {
	l.numbers = slices.DeleteFunc(l.numbers, func(n int32) bool { return n == number })
}

// before reports whether a process is in the line, and another behind it.
func (l *line) before(number int32) bool {
	at := slices.Index(l.numbers, number)
	return at >= 0 && at < len(l.numbers)-1
}

// within reports whether others are before and behind a process.
func (l *line) within(number int32) bool {
	return l.before(number) && l.numbers[0] != number
}
