package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/sim"
)

// WatchdogLimit is how long a single step may take in real time. Most take microseconds.
var WatchdogLimit = 30 * time.Second

// A watchdog detects runs that make no progress. Virtual time and the engine wait until every
// goroutine of the lock is blocked on something of its own run; a goroutine that is not stops them
// for ever, and nothing can interrupt it. The watchdog reports the cause and ends the program, as
// package testing does after its timeout.
type watchdog struct {
	timer    *time.Timer
	running  atomic.Bool
	progress atomic.Int64 // grows with every step

	mu    sync.Mutex // guards the fields below: a check can last until the next run's
	seen  int64      // progress at the last check
	times int        // how many checks in a row saw the same progress
	// waiting describes the goroutines that waited for mutexes at the last of these checks.
	waiting string

	service atomic.Pointer[sim.Service] // of the run under way
}

// stackReport is held by the worker that ends the program.
var stackReport sync.Mutex

// watch starts the watchdog for a run of the service and returns the function that stops it. Only
// one goroutine may call it.
func (s *watchdog) watch(service sim.Service) (end func()) {
	if last := s.service.Load(); last == nil || *last != service {
		s.service.Store(&service)
	}
	s.progress.Add(1)
	s.running.Store(true)
	if s.timer == nil {
		s.timer = time.AfterFunc(WatchdogLimit/watchdogChecks, s.check)
	} else {
		s.timer.Reset(WatchdogLimit / watchdogChecks)
	}
	return s.end
}

func (s *watchdog) end() {
	s.running.Store(false)
	s.timer.Stop()
}

// check ends the program if the checks of [WatchdogLimit] in a row saw no progress, or two in a row
// saw goroutines that wait for mutexes for ever. One alone may mean that the program was stopped
// for a while.
func (s *watchdog) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running.Load() {
		return
	}
	if turns := s.progress.Load(); turns != s.seen {
		s.seen, s.times, s.waiting = turns, 0, ""
		s.timer.Reset(WatchdogLimit / watchdogChecks)
		return
	}
	s.times++
	owned := (*s.service.Load()).OwnsFrame
	waiting := onMutexes(allStacks(), owned)
	if waiting != "" && waiting == s.waiting {
		stackReport.Lock() // Only one of several workers reports.
		panic("interlock: a run cannot go on, because goroutines of the lock wait for a mutex " +
			"whose owner waits for ZooKeeper, a channel or time:\n" + waiting + "\n" +
			"The stock Go runtime cannot tell such a wait. Run go test with " +
			"GOFLAGS=\"$(interlock scheduler)\", or use a channel of capacity 1 as a mutex.")
	}
	s.waiting = waiting
	if s.times == watchdogChecks {
		stackReport.Lock()
		panic(fmt.Sprintf("interlock: a run has made no progress for %v, because these goroutines "+
			"of the lock are not blocked within their run:\n%s\n%s",
			WatchdogLimit, unblocked(owned), MustNotRun))
	}
	s.timer.Reset(WatchdogLimit / watchdogChecks)
}

// MustNotRun says what keeps a run from going on.
const MustNotRun = "A goroutine of a lock under test must not\n" +
	"  wait for a sync.Mutex whose owner waits for ZooKeeper, a channel or time " +
	"(use a channel of capacity 1 as a mutex, or run go test with " +
	"GOFLAGS=\"$(interlock scheduler)\" or interlock test with --scheduler),\n" +
	"  wait for a network, a file, or a channel made outside of the run, " +
	"such as by a package's variable,\n" +
	"  or loop without sending or sleeping."

// watchdogChecks is how often a step is checked within [WatchdogLimit].
const watchdogChecks = 15

// unblocked describes the goroutines for which the bubbles wait.
func unblocked(owned func(function string) bool) string {
	text, _, _ := Unblocked(owned)
	return text
}

// Unblocked describes the goroutines for which the bubbles wait, and returns the stack of the first
// of them and the stacks of all goroutines. Owned reports whether a function belongs to the
// simulation.
func Unblocked(owned func(function string) bool) (text, first, stacks string) {
	stacks = allStacks()
	var blocked []string
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		header := bubbleHeader.FindStringSubmatch(stack)
		if header == nil || strings.HasSuffix(header[1], " (durable)") {
			continue
		}
		if strings.Contains(stack, loopStandStill+"(") {
			continue
		}
		calls := lockCalls(stack, owned)
		if first == "" && len(calls) > 0 {
			first = stack
		}
		blocked = append(blocked, "  "+state(header[1])+" in "+strings.Join(calls, ", called by "))
	}
	return strings.Join(blocked, "\n"), first, stacks
}

// loopStandStill is the full name of [Loop.standStill].
var loopStandStill = functionName((*Loop).standStill)

// state returns the state of a goroutine that is not blocked. Whether it has a processor differs
// between runs.
func state(header string) string {
	if header == "runnable" || header == "preempted" {
		return "running"
	}
	return header
}

// onMutexes describes the goroutines of a bubble that waits for nothing but goroutines that wait
// for mutexes. It returns "" if there is no such bubble.
func onMutexes(stacks string, owned func(function string) bool) string {
	waiting, running := make(map[string][]string), make(map[string]bool)
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		header := bubbleHeader.FindStringSubmatch(stack)
		switch {
		case header == nil || strings.HasSuffix(header[1], " (durable)"):
		case strings.HasPrefix(header[1], "sync.Mutex.") ||
			strings.HasPrefix(header[1], "sync.RWMutex."):
			waiting[header[2]] = append(waiting[header[2]], "  "+header[1]+" in "+
				strings.Join(lockCalls(stack, owned), ", called by "))
		default:
			running[header[2]] = true
		}
	}
	for _, bubble := range slices.Sorted(maps.Keys(waiting)) {
		if !running[bubble] {
			slices.Sort(waiting[bubble])
			return strings.Join(waiting[bubble], "\n")
		}
	}
	return ""
}
