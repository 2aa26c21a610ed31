package engine

import (
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/refusal"
)

// callsMax bounds how many calls of the lock a panic report names.
const callsMax = 8

// setUpMark begins the message of a setUpError among panics.
const setUpMark = "set-up: "

// reasonSetUp is the reason of violations by setUpErrors.
const reasonSetUp = "the scenario does not set up the lock"

// setUpMistake returns the message of a set-up error if the process's Open failed before any fault
// struck the process or a server, else "". After a fault, code that cannot reach the service may
// give up.
func (l *Loop) setUpMistake(p *Process) string {
	for _, e := range l.log.Events() {
		switch {
		case e.Kind == history.Fault && (e.Process == 0 || e.Process == int32(p.Number)):
			return ""
		case e.Process == int32(p.Number) && e.FailsToOpen():
			return setUpMark + e.Err
		}
	}
	return ""
}

// reasonRefused is the reason of violations by code that Interlock does not control.
const reasonRefused = "code that Interlock does not control"

// Refusal returns why code is refused that a violation shows, or "".
func Refusal(v *history.Violation) string {
	if v.Property != history.NoPanic || v.Reason != reasonRefused {
		return ""
	}
	return v.Evidence.Message
}

// SetUpError returns the mistake in the scenario that a violation shows, or "".
func SetUpError(v *history.Violation) string {
	if v.Property != history.NoPanic || v.Reason != reasonSetUp {
		return ""
	}
	return v.Evidence.Message
}

// panicked returns the violation of a run in which a process panicked. It is placed at the last
// event that the process caused or received, and names the calls of the lock that led to the panic.
func panicked(result *Result, owned func(function string) bool) *history.Violation {
	message, stack := result.Panic, ""
	if from := strings.LastIndex(message, "\ngoroutine "); from >= 0 {
		message, stack = message[:from], message[from:]
	}
	message = OneLine(message)
	_, stack, _ = strings.Cut(stack, "\npanic(")
	calls := lockCalls(stack, owned)
	message, setUp := strings.CutPrefix(message, setUpMark)
	reason := "a process panicked"
	switch {
	case setUp:
		reason = reasonSetUp
	case strings.HasPrefix(message, refusal.Mark):
		reason = reasonRefused
	}
	detail := fmt.Sprintf("%s panicked: %s", history.ProcessName(int32(result.PanicProcess)),
		message)
	if len(calls) > 0 {
		detail += " in " + strings.Join(calls, ", called by ")
	}
	return &history.Violation{
		Property: history.NoPanic, Event: lastActionOf(result.Events, int32(result.PanicProcess)),
		Reason: reason,
		Detail: detail,
		Evidence: history.Evidence{
			Process: int32(result.PanicProcess), Message: message, Calls: calls,
		},
	}
}

// OneLine returns a message without line breaks, such as that of [errors.Join].
func OneLine(message string) string {
	return strings.Join(strings.FieldsFunc(message,
		func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// lockCalls returns the calls of the lock's code on a stack, innermost first, up to the engine's
// call. Goroutine numbers and addresses are omitted, because they differ between runs.
func lockCalls(stack string, owned func(function string) bool) (calls []string) {
	for _, frame := range stackFrame.FindAllStringSubmatch(stack, -1) {
		name := frame[1][strings.LastIndexByte(frame[1], '/')+1:]
		switch {
		case strings.HasPrefix(frame[1], processMethod) || len(calls) == callsMax:
			return calls
		case !ofRuntime(frame[1]) && !owned(frame[1]):
			calls = append(calls, name+" ("+frame[2]+")")
		}
	}
	return calls
}

// lastActionOf returns the index of the last event that the process's code caused or received, or
// of the last event if there is none.
func lastActionOf(events []history.Event, process int32) int {
	for i := len(events) - 1; i >= 0; i-- {
		if e := &events[i]; e.Process == process && ofCode(e.Kind) {
			return i
		}
	}
	return len(events) - 1
}

// ofCode reports whether events of that kind are caused or received by the code of a process.
func ofCode(k history.Kind) bool {
	switch k {
	case history.LockCall, history.LockReturn, history.Enter, history.Leave, history.Lost,
		history.UnlockCall, history.UnlockReturn,
		history.Finished, history.Send, history.Reply, history.WatchEvent, history.Command,
		history.Answer, history.ReenterCall,
		history.ReenterReturn, history.Exited, history.Extended,
		history.ResourceRead, history.ResourceWrite, history.Observed,
		history.TimedCall, history.TimedReturn, history.Forfeited:
		return true
	}
	return false
}
