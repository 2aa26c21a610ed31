package engine

import (
	"bytes"
	"cmp"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/callsite"
)

// blocked returns where the goroutines of processes that have not finished are blocked in the code
// under test, in the order of their processes and lines. The goroutines must have owners, and all
// of them must be blocked. A goroutine that a timer or the end of a context has started has no
// owner, and is left out.
func (l *Loop) blocked() []history.Wait {
	var waits []history.Wait
	for _, of := range l.profile() {
		if l.contender(int32(of.process)).done() {
			continue
		}
		wait, ok := blockedAt(of.stack, l.service.OwnsCall)
		if !ok {
			continue
		}
		wait.Process, wait.Since = int32(of.process), l.lastAction(int32(of.process))
		waits = append(waits, slices.Repeat([]history.Wait{wait}, of.times)...)
	}
	slices.SortFunc(waits, func(a, b history.Wait) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), strings.Compare(a.Line, b.Line),
			strings.Compare(a.Function, b.Function), strings.Compare(a.On, b.On))
	})
	return waits
}

// stacks returns the stacks of the goroutines of a process that has owners, innermost frame first.
// Goroutines with equal stacks are in it once.
func (l *Loop) stacks(process int) (all [][]runtime.Frame) {
	for _, of := range l.profile() {
		if owner, _ := history.ProcessOf(int32(of.process)); int(owner) == process {
			all = append(all, of.stack)
		}
	}
	return all
}

// A profiledGoroutine is a number of goroutines of a process with the same stack.
type profiledGoroutine struct {
	process, times int
	stack          []runtime.Frame
}

// profile returns the goroutines of the processes. Those that a timer or the end of a context has
// started are missing.
func (l *Loop) profile() (found []profiledGoroutine) {
	if l.owners == nil {
		return nil
	}
	var profile bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&profile, 1) // A buffer takes everything.
	for record := range strings.SplitSeq(profile.String(), "\n\n") {
		owner := profiledOwner.FindStringSubmatch(record)
		if owner == nil || owner[2] != l.owners.run {
			continue
		}
		number, err := strconv.Atoi(owner[1])
		if err != nil || number < 1 || !l.knows(int32(number)) {
			continue
		}
		times, _ := strconv.Atoi(profiledCount.FindStringSubmatch(record)[1])
		found = append(found, profiledGoroutine{number, times, profiledStack(record)})
	}
	return found
}

// knows reports whether a process or thread with the number exists.
func (l *Loop) knows(number int32) bool {
	process, thread := history.ProcessOf(number)
	return int(process) <= len(l.Processes) && thread <= l.threads
}

// lastAction returns the time of the last event that a process's code caused or received.
func (l *Loop) lastAction(process int32) time.Duration {
	events := l.log.Events()
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Process == process && ofCode(events[i].Kind) {
			return events[i].At
		}
	}
	return 0
}

// blockedAt returns what a goroutine with the given stack, innermost frame first, waits for, and
// the innermost call of the code under test. It returns false for a goroutine that is blocked in
// the engine, or runs only code of the simulation.
func blockedAt(stack []runtime.Frame, owned func(function string) bool) (history.Wait, bool) {
	wait, called := history.Wait{}, false
	if ownedGoroutine(stack, owned) {
		return wait, false
	}
	for _, frame := range stack {
		switch {
		case owned(frame.Function):
			// The code under test has called this function, or one further out.
			wait.On, called = "call of "+method(frame.Function), true
		case ofRuntime(frame.Function):
			if reason := waitReasons[frame.Function]; reason != "" && !called {
				wait.On = reason
			}
		case strings.HasPrefix(frame.Function, processMethod):
			return history.Wait{}, false
		default:
			site := callsite.Of(frame.Function, frame.File, frame.Line)
			wait.Line, wait.Function = site.Line, site.Function
			wait.On = cmp.Or(wait.On, "unknown")
			return wait, true
		}
	}
	return history.Wait{}, false
}

// ownedGoroutine reports whether a goroutine has been started by the simulation or a client library
// and not by the code under test.
func ownedGoroutine(stack []runtime.Frame, owned func(function string) bool) bool {
	for _, frame := range slices.Backward(stack) {
		if frame.Function != "runtime.goexit" {
			return owned(frame.Function)
		}
	}
	return false
}

// waitReasons names what a goroutine waits for by a function that blocks. The outermost function
// of a stack counts.
var waitReasons = map[string]string{
	"runtime.chanrecv1":      "chan receive",
	"runtime.chanrecv2":      "chan receive",
	"runtime.chansend1":      "chan send",
	"runtime.selectgo":       "select",
	"runtime.block":          "select without cases",
	"time.Sleep":             "sleep",
	"sync.(*Cond).Wait":      "sync.Cond.Wait",
	"sync.(*WaitGroup).Wait": "sync.WaitGroup.Wait",
	"sync.(*Mutex).Lock":     "sync.Mutex.Lock",
	"sync.(*RWMutex).Lock":   "sync.RWMutex.Lock",
	"sync.(*RWMutex).RLock":  "sync.RWMutex.RLock",
	"sync.(*Once).doSlow":    "sync.Once.Do",
}

// method returns the name of a method or function without its package and its receiver.
func method(function string) string { return function[strings.LastIndexByte(function, '.')+1:] }

// profiledStack returns the stack of a record in a goroutine profile in text form, the innermost
// frame first.
func profiledStack(record string) []runtime.Frame {
	addresses := profiledAddresses.FindStringSubmatch(record)
	if addresses == nil {
		return nil
	}
	var stack []uintptr
	for address := range strings.FieldsSeq(addresses[1]) {
		if pc, err := strconv.ParseUint(address, 0, 64); err == nil {
			stack = append(stack, uintptr(pc))
		}
	}
	var found []runtime.Frame
	frames := runtime.CallersFrames(stack)
	for {
		frame, more := frames.Next()
		found = append(found, frame)
		if !more {
			return found
		}
	}
}

var profiledAddresses = regexp.MustCompile(`(?m)^\d+ @((?: 0x[0-9a-f]+)+)$`)
