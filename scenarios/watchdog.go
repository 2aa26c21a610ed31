package scenarios

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// standstillLimit is how long a run may take over a step of its own, which mostly takes
// microseconds.
var watchdogLimit = 30 * time.Second

// A watchdog is looked out for while a run is under way. Virtual time and the harness wait until
// every goroutine of the lock is blocked on something of its own run, so one that is not stops them
// for good, and nothing can interrupt it. All that is left is to say so and to end the program, as
// package testing does with a test that takes too long, but sooner and with the cause.
type watchdog struct {
	timer    *time.Timer
	running  atomic.Bool
	progress atomic.Int64 // grows with every step

	// For the timer's goroutine alone.
	seen  int64 // turns when it last looked
	times int   // how often in a row it has found as many
}

// saying is held by whoever ends the program.
var stackReport sync.Mutex

// watch looks out from now on, until the function that it returns is called. Only one goroutine may
// call it.
func (s *watchdog) watch() (end func()) {
	s.progress.Add(1)
	s.running.Store(true)
	if s.timer == nil {
		s.timer = time.AfterFunc(watchdogLimit/2, s.check)
	} else {
		s.timer.Reset(watchdogLimit / 2)
	}
	return s.end
}

func (s *watchdog) end() {
	s.running.Store(false)
	s.timer.Stop()
}

// check ends the program if nothing has happened since it last looked, and had not before either: a
// program that was stopped for a while has not stood still.
func (s *watchdog) check() {
	if !s.running.Load() {
		return
	}
	if turns := s.progress.Load(); turns != s.seen {
		s.seen, s.times = turns, 0
	} else if s.times++; s.times == 2 {
		stackReport.Lock() // Of several workers that stand still one has to say so.
		panic(fmt.Sprintf("interlock: a run has stood still for %v, because of what goroutines "+
			"of the "+
			"lock do:\n%s\n"+
			"A lock cannot be tested while a goroutine of it waits for a sync.Mutex whose owner "+
			"waits for "+
			"ZooKeeper, a channel or time\n"+
			"(a channel with one place serves as a mutex that can), waits for a network, a file "+
			"or a "+
			"channel that was made outside of\n"+
			"the run, such as by a package's variable, or loops without sending anything or "+
			"sleeping.",
			watchdogLimit, unblocked()))
	}
	s.timer.Reset(watchdogLimit / 2)
}

// unblocked says where those goroutines of bubbles stand for which the bubble waits.
func unblocked() string {
	dump := make([]byte, 1<<20)
	dump = dump[:runtime.Stack(dump, true)]
	var stands []string
	for stack := range strings.SplitSeq(string(dump), "\n\n") {
		header := bubbleHeader.FindStringSubmatch(stack)
		if header != nil && !strings.HasSuffix(header[1], " (durable)") {
			stands = append(stands, "  "+header[1]+" in "+strings.Join(lockCalls(stack),
				", called by "))
		}
	}
	return strings.Join(stands, "\n")
}
