package supervise

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/base/refusal"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/flightrecorder"
)

// The reasons for a death, of which each is a kind of failure.
const (
	Panicked = "a goroutine that the lock started panicked"
	Exited   = "the lock's code ended the program"
	Fatal    = "a fatal error of the Go runtime ended the program"
	Stalled  = "a step never ended"
	Memory   = "the heap outgrew its limit"
	Killed   = "a signal ended the program"
)

// Deadly reports whether a violation with the reason ends the program.
func Deadly(reason string) bool {
	switch reason {
	case Panicked, Exited, Fatal, Stalled, Memory, Killed:
		return true
	}
	return false
}

// statusDead is the exit status of a child that ends itself.
const statusDead = 3

// Perform executes the call in the child. Owned reports whether a function belongs to the
// simulation.
func (j *Job) Perform(t *testing.T, owned func(function string) bool, call func()) {
	t.Helper()
	failed := t.Failed()
	recorder, err := flightrecorder.Create(j.path(flightName))
	if err != nil {
		t.Fatal(err)
	}
	engine.NewFlightRecorder, engine.KeepStopped = recorder.NewSlot, j.KeepStopped
	Patience(j.Stall)
	go j.endWithParent()
	go j.watchProgress(recorder, owned)
	if j.Memory > 0 {
		go j.watchMemory(owned)
	}
	if j.TrapExit {
		trapExit() // Without it, the report lacks a line.
	}
	flag.Set("test.v", fmt.Sprint(j.Verbose)) // The child itself is verbose, to print at once.
	fmt.Fprint(os.Stdout, "\n"+j.Mark+"\n")
	returned := false
	defer func() {
		flag.Set("test.v", "true")
		fmt.Fprint(os.Stdout, "\n"+j.Mark+"\n")
		file.WriteJSON(j.path(endName), ending{t.Failed() && !failed, t.Skipped(), returned})
	}()
	call()
	returned = true
}

// Watch makes this process write a flight record, and end itself if a step does not end or the heap
// outgrows a limit. Without a file there is no record.
func Watch(path string, stall time.Duration, memory uint64, owned func(string) bool) {
	recorder, err := flightrecorder.Create(path)
	if err != nil {
		return
	}
	engine.NewFlightRecorder = recorder.NewSlot
	Patience(stall)
	j := &Job{Directory: path + ".death", Stall: stall, Memory: memory}
	go j.watchProgress(recorder, owned)
	if memory > 0 {
		go j.watchMemory(owned)
	}
}

// endWithParent ends the child when the parent ends, which closes the pipe to it. The files are of
// no use then.
func (j *Job) endWithParent() {
	io.Copy(io.Discard, os.Stdin)
	j.Remove() // What is left is in the directory for temporary files.
	os.Exit(statusDead)
}

// Patience sets after which time a step counts as endless, in this process.
func Patience(limit time.Duration) { patience.Store(int64(limit)) }

var patience atomic.Int64

// checksPerStall is how often a step is looked at before it counts as endless. A program that was
// stopped for a while misses one of them.
const checksPerStall = 4

// watchProgress ends the child if a run takes no decision for too long.
func (j *Job) watchProgress(recorder *flightrecorder.Recorder, owned func(string) bool) {
	var now, before flightrecorder.Progress
	times := 0
	for {
		time.Sleep(min(time.Duration(patience.Load()), engine.WatchdogLimit) / checksPerStall)
		if now = recorder.Progress(now); !now.Stuck(before) {
			times = 0
			before = append(before[:0], now...)
			continue
		}
		if times++; times == checksPerStall {
			blocked, stack, stacks := engine.Unblocked(owned)
			death := &engine.Death{
				Reason: Stalled, Calls: engine.LockCalls(stack, owned),
				Message: notBlocked(blocked),
			}
			death.Locate(stack)
			death.RunOver = engine.EndsRun(stacks) // Another run may have the first stack.
			j.die(death)
		}
	}
}

// notBlocked describes goroutines that keep a step from its end, one a line. If one waits for a
// channel, no run has made that, and the code is refused.
func notBlocked(goroutines string) string {
	if onChannel.MatchString(goroutines) {
		return refusal.Outside
	}
	lines := strings.Split(goroutines, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return "a goroutine is not blocked within its run: " + strings.Join(lines, "; ")
}

var onChannel = regexp.MustCompile(`(?m)^\s*(chan send|chan receive|select) in \S`)

// memoryInterval is the time between two looks at the heap.
const memoryInterval = 50 * time.Millisecond

// watchMemory ends the child if its heap outgrows the limit.
func (j *Job) watchMemory(owned func(string) bool) {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for range time.Tick(memoryInterval) {
		if metrics.Read(heap); heap[0].Value.Uint64() > j.Memory {
			j.die(&engine.Death{
				Reason:  Memory,
				Message: fmt.Sprintf("the heap has more than %d MiB", j.Memory>>20),
				Calls:   engine.LockCalls(mostAllocated(), owned),
			})
		}
	}
}

// mostAllocated returns the stack on which most of the heap was allocated.
func mostAllocated() string {
	records := make([]runtime.MemProfileRecord, 4096)
	n, ok := runtime.MemProfile(records, false)
	if !ok {
		return ""
	}
	most := &records[0]
	for i := range records[:n] {
		if records[i].InUseBytes() > most.InUseBytes() {
			most = &records[i]
		}
	}
	var stack strings.Builder
	frames := runtime.CallersFrames(most.Stack())
	for {
		frame, more := frames.Next()
		fmt.Fprintf(&stack, "%s()\n\t%s:%d +0x0\n", frame.Function, frame.File, frame.Line)
		if !more {
			return stack.String()
		}
	}
}

// die ends the child.
func (j *Job) die(death *engine.Death) {
	file.WriteJSON(j.path(deathName), death)
	os.Exit(statusDead)
}

// Finish ends a child that has written its output.
func Finish() { os.Exit(statusDead) }
