package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/history"
)

// PhaseParts is the number of parts of its period by which the phase of a timer can move.
const PhaseParts = 64

// The Process of a [Shift] that moves a timer of the ensemble. Another Shift moves the keepalive
// timer of its process.
const (
	ExpiryTimer int32 = -1 // the instants at which sessions can end
	RelayTimer  int32 = -2 // the instants at which followers report their clients to the leader
)

// Timers is a [System] with periodic timers that are not synchronized. All of them have phase 0
// unless a [Shift] moves them, before anything else happens in the run.
type Timers interface {
	// Shifts returns a Shift of each timer whose phase can move, by 0 parts, in canonical order.
	Shifts() []Step
	// Shift moves the phase of a timer. It is called at time 0.
	Shift(Step)
	// NextInstant returns the first time after the given one at which a timer fires, periodic or
	// not, and false if none does.
	NextInstant(after time.Duration) (at time.Duration, ok bool)
	// NextPing returns the first time after the given one at which the client of a process sends a
	// ping unless it is interrupted, and false if it sends none.
	NextPing(process int, after time.Duration) (at time.Duration, ok bool)
	// NextExpiry returns the first time after the given one at which sessions can end.
	NextExpiry(after time.Duration) time.Duration
}

// Unlisted reports whether the step is never among the enabled steps, so that only a strategy or a
// schedule asks for it.
func (s Step) Unlisted() bool {
	return s.Kind == Fair || s.Kind >= Shift
}

// PassesTime reports whether the step lets time pass.
func (s Step) PassesTime() bool { return s.Kind == Tick || s.Kind >= Before }

// PassMax bounds the time of a [Pass].
const PassMax = time.Hour

// parsePass returns the Pass of a duration.
func parsePass(name, text string) (Step, error) {
	pause, err := time.ParseDuration(text)
	if err != nil || pause <= 0 || pause > PassMax {
		return Step{}, fmt.Errorf("%q is not the name of a step", name)
	}
	return Step{Kind: Pass, For: pause}, nil
}

// timer returns the name of the timer that a Shift moves.
func (s Step) timer() string {
	switch s.Process {
	case ExpiryTimer:
		return "expiry"
	case RelayTimer:
		return "relay"
	}
	return history.ProcessName(s.Process)
}

// parseShift returns the Shift of a timer by a number of parts.
func parseShift(name, text string) (Step, error) {
	timer, number, _ := strings.Cut(text, " ")
	parts, ok := numberBehind(number, "", PhaseParts-1)
	step := Step{Kind: Shift, Peer: uint8(parts)}
	switch timer {
	case "expiry":
		step.Process = ExpiryTimer
	case "relay":
		step.Process = RelayTimer
	default:
		var known bool
		step.Process, known = history.ParseProcessName(timer)
		process, thread := history.ProcessOf(step.Process)
		ok = ok && known && process <= ClientsMax && thread <= 1
	}
	if !ok {
		return Step{}, fmt.Errorf("%q is not the name of a step", name)
	}
	return step, nil
}
