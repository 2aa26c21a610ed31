package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
)

// The bounds of a run. They keep a schedule within a few seconds.
const (
	ClientsMax = 100
	ServersMax = 7
	ChoicesMax = 255 // goroutines or cases among which a step chooses
)

// A StepKind says what a [Step] does.
type StepKind uint8

// The kinds of steps. Each has a name that means the same in every run.
const (
	Serve   StepKind = iota // the server handles the client's next request
	Deliver                 // the client receives its next reply or watch event
	Enter                   // the process enters its critical section
	Leave                   // the process leaves its critical section
	Heal                    // the client's link, or the server, works again
	Resume                  // the paused process continues
	Log                     // a follower logs the next proposal
	Apply                   // a follower applies the next transaction
	Tick                    // time passes until the next deadline
	Fault                   // a fault strikes; the step has the fault's name
	// Fair begins the fair phase: no fault strikes any more, and the default policy decides. It is
	// never among the enabled steps; only a schedule or an exhaustive search asks for it.
	Fair
	// Of the goroutines of a process that can run, the one with the number Peer, from 1, runs next.
	// Such a step, and the next, is possible only while goroutines are scheduled; see package
	// internal/run/scheduler.
	Wake
	Case // a select takes the ready case with the number Peer
	// Like Fair, these are never among the enabled steps; see [Timers].
	Shift  // the phase of a periodic timer moves by Peer parts of [PhaseParts]
	Before // time passes until just before an instant at which a timer fires
	After  // time passes until just after such an instant
	Pass   // time passes for as long as For, unless a tick would end before
)

var stepNames = [...]string{
	Serve: "serve", Deliver: "deliver", Enter: "enter", Leave: "leave", Heal: "heal",
	Resume: "resume", Log: "log", Apply: "apply", Tick: "tick", Fair: "fair", Wake: "wake",
	Case: "case", Shift: "shift", Before: "before", After: "after",
	Pass: "pass",
}

// A Step is one thing that can happen next.
type Step struct {
	Kind  StepKind
	Fault faults.Kind // set only if Kind is Fault
	// of a link, the server at its other end, from 1; 0 if the step concerns no link to a server
	Peer uint8
	// from 1, or one of its threads (see [history.ProcessOf]); of a Serve or a Deliver also one of
	// its connections, numbered in the same way; 0 for Tick and Fair; a negative number -n is
	// server n
	Process int32
	For     time.Duration // of a Pass, and otherwise 0
}

// String returns the name of the step, such as "serve c1", "tick", "expire c2" or "wake 2".
func (s Step) String() string {
	switch s.Kind {
	case Tick, Fair, Before, After:
		return stepNames[s.Kind]
	case Pass:
		return stepNames[Pass] + " " + s.For.String()
	case Shift:
		return stepNames[Shift] + " " + s.timer() + " " + strconv.Itoa(int(s.Peer))
	case Fault:
		return s.Fault.String() + s.target()
	case Wake, Case:
		return stepNames[s.Kind] + " " + strconv.Itoa(int(s.Peer))
	}
	return stepNames[s.Kind] + s.target()
}

// target returns what the step concerns: " c1" for the first process, " s1" for the first server, "
// c1-s2" or " s1-s2" for a link.
func (s Step) target() string {
	var text string
	if s.Process < 0 {
		text = " s" + strconv.Itoa(int(-s.Process))
	} else {
		text = " " + history.ProcessName(s.Process)
	}
	if s.Peer != 0 {
		text += "-s" + strconv.Itoa(int(s.Peer))
	}
	return text
}

// OnLink returns the step that concerns a process's link to a server. Servers count from 0.
func OnLink(kind StepKind, process, server int) Step {
	return Step{Kind: kind, Process: int32(process), Peer: uint8(server + 1)}
}

// Between returns the step that concerns the link from one server to another. Servers count from 0.
func Between(kind StepKind, from, to int) Step { return OnLink(kind, -(from + 1), to) }

// StruckBy returns the step in which the fault strikes.
func (s Step) StruckBy(kind faults.Kind) Step {
	s.Kind, s.Fault = Fault, kind
	return s
}

// Thread returns the number of the thread that takes the step: processes first, then servers.
func (s Step) Thread() int32 {
	if s.Process < 0 {
		return ClientsMax - s.Process
	}
	if process, thread := history.ProcessOf(s.Process); thread > 1 {
		return ServersMax + int32(thread-1)*ClientsMax + process
	}
	return s.Process
}

// OnServer returns the step that concerns a server. Servers count from 0.
func OnServer(kind StepKind, server int) Step {
	return Step{
		Kind:    kind,
		Process: -int32(server + 1),
	}
}

// Server returns the server that the step concerns, counted from 0, and whether it concerns one.
func (s Step) Server() (int, bool) { return -int(s.Process) - 1, s.Process < 0 }

// GoString returns the name of the step, because rapid prints its draws with it.
func (s Step) GoString() string { return s.String() }

// ParseStep returns the step of that name.
func ParseStep(name string) (Step, error) {
	switch name {
	case stepNames[Tick]:
		return Step{Kind: Tick}, nil
	case stepNames[Fair]:
		return Step{Kind: Fair}, nil
	case stepNames[Before]:
		return Step{Kind: Before}, nil
	case stepNames[After]:
		return Step{Kind: After}, nil
	}
	verb, target, _ := strings.Cut(name, " ")
	switch verb {
	case stepNames[Shift]:
		return parseShift(name, target)
	case stepNames[Pass]:
		return parsePass(name, target)
	}
	if verb == stepNames[Wake] || verb == stepNames[Case] {
		return parseChoice(name, verb, target)
	}
	if step, ok := parseTarget(target); ok {
		for _, kind := range step.kinds() {
			if stepNames[kind] == verb {
				step.Kind = kind
				return step, nil
			}
		}
		for kind := range faults.Kinds {
			if kind.String() == verb && kind.Strikes() == step.Victim() &&
				(kind != faults.PartitionLink ||
					-step.Process < int32(step.Peer)) {
				return step.StruckBy(kind), nil
			}
		}
	}
	return Step{}, fmt.Errorf("%q is not the name of a step", name)
}

// parseChoice returns the step of a choice among goroutines or cases.
func parseChoice(name, verb, number string) (Step, error) {
	peer, ok := numberBehind(number, "", ChoicesMax)
	if !ok {
		return Step{}, fmt.Errorf("%q is not the name of a step", name)
	}
	kind := Wake
	if verb == stepNames[Case] {
		kind = Case
	}
	return Step{Kind: kind, Peer: uint8(peer)}, nil
}

// OfGoroutines reports whether the step chooses among goroutines or the cases of a select.
func (s Step) OfGoroutines() bool { return s.Kind == Wake || s.Kind == Case }

// parseTarget returns a step without a kind that concerns what the text names.
func parseTarget(text string) (Step, bool) {
	whose, peer, linked := strings.Cut(text, "-")
	var step Step
	if number, ok := history.ParseProcessName(whose); ok {
		if process, _ := history.ProcessOf(number); process > ClientsMax {
			return Step{}, false
		}
		step.Process = number
	} else if server, ok := numberBehind(whose, "s", ServersMax); ok {
		step.Process = -int32(server)
	} else {
		return Step{}, false
	}
	if !linked {
		return step, true
	}
	server, ok := numberBehind(peer, "s", ServersMax)
	step.Peer = uint8(server)
	return step, ok && step.Process != -int32(server)
}

// numberBehind parses a letter followed by a number from 1 to the given maximum.
func numberBehind(text, letter string, most int) (int, bool) {
	digits, ok := strings.CutPrefix(text, letter)
	number, err := strconv.Atoi(digits)
	return number, ok && err == nil && number >= 1 && number <= most
}

// kinds returns the kinds, faults excepted, of a step that concerns what this one concerns.
func (s Step) kinds() []StepKind {
	switch s.Victim() {
	case faults.OneClient:
		return []StepKind{Serve, Deliver, Enter, Leave, Heal, Resume}
	case faults.OneServer:
		return []StepKind{Log, Apply, Heal}
	case faults.LinkToServer:
		return []StepKind{Serve, Deliver, Heal}
	}
	return []StepKind{Heal}
}

// Victim returns what a fault step strikes.
func (s Step) Victim() faults.Victim {
	switch {
	case s.Process > 0 && s.Peer > 0:
		return faults.LinkToServer
	case s.Process > 0:
		return faults.OneClient
	case s.Peer > 0:
		return faults.LinkOfServers
	}
	return faults.OneServer
}

// MarshalText returns the name of the step.
func (s Step) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the name of a step.
func (s *Step) UnmarshalText(text []byte) (err error) {
	*s, err = ParseStep(string(text))
	return err
}

// An EnabledStep is a step that can happen now.
type EnabledStep struct {
	Step
	// Age orders the waiting messages and processes: the smaller, the older. It is 0 for ticks,
	// healing and faults.
	Age uint64
	Due bool // of a Tick: a session is about to expire, or a client to dial
}
