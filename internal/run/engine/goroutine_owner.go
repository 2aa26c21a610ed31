package engine

import (
	"bytes"
	"context"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/interlock-sim/interlock/internal/base/goroutine"
	"github.com/interlock-sim/interlock/internal/base/refusal"
)

// owners record which process a blocked goroutine belongs to. They are profiler labels, which a
// goroutine inherits from the one that starts it. A goroutine started by a timer or by the end of a
// context has none, so its process is unknown.
//
// A run with a crashed process needs owners. The goroutines of such a process end at their next
// call to the client, so other goroutines of the process may wait for them for ever. That is no
// leak. By owners, a connection knows the code of another process; see [refusal.DemandOwn]. A run
// that gathers facts needs owners as well; see [Loop.blocked].
type owners struct {
	// unique among the runs of the program that left goroutines behind
	run    string
	labels map[int]context.Context // by number of the process or thread
	// the numbers of processes and threads, by the labels of their goroutines
	numbers map[goroutine.Label]int32
}

const (
	runLabel     = "interlock-run"
	processLabel = "interlock-process"
)

var runsLabelled atomic.Int64

// labelled has the labels of all processes of all runs, and keeps them alive.
var labelled sync.Map // of context.Context by goroutine.Label

// adopt makes the calling goroutine, and all that it starts, goroutines of the process.
func (o *owners) adopt(process int) { pprof.SetGoroutineLabels(o.labels[process]) }

// prepare makes labels for the given number of processes.
func (o *owners) prepare(processes int) {
	if o.run == "" {
		o.run = strconv.FormatInt(runsLabelled.Add(1), 10)
	}
	for number := 1; number <= processes; number++ {
		o.label(number)
	}
}

// label makes the label of a process or thread, unless it exists.
func (o *owners) label(number int) {
	if o.labels[number] != nil {
		return
	}
	if o.labels == nil {
		o.labels, o.numbers = make(map[int]context.Context), make(map[goroutine.Label]int32)
	}
	labels := pprof.Labels(runLabel, o.run, processLabel, strconv.Itoa(number))
	o.labels[number] = pprof.WithLabels(context.Background(), labels)
	label := goroutine.LabelOf(o.labels[number])
	o.numbers[label] = int32(number)
	labelled.Store(label, o.labels[number])
}

// prepareThreads makes labels for the threads of a process.
func (o *owners) prepareThreads(threads []*Process) {
	for _, p := range threads {
		o.label(p.Number)
	}
}

// current returns the number of the process or thread that the calling goroutine belongs to, or 0
// if it is unknown, or [refusal.OtherRun].
func (o *owners) current() int32 {
	label := goroutine.Current()
	number := o.numbers[label]
	if number == 0 && label != 0 {
		if _, other := labelled.Load(label); other {
			return refusal.OtherRun
		}
	}
	return number
}

// left describes where leaked goroutines are blocked, of processes for which judged returns true.
// Owned reports whether a function belongs to the simulation. It returns "" if there are none.
func (o *owners) left(judged func(process int) bool, owned func(function string) bool) string {
	var profile bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&profile, 1) // A buffer takes everything.
	var found []string
	for record := range strings.SplitSeq(profile.String(), "\n\n") {
		owner := profiledOwner.FindStringSubmatch(record)
		if owner == nil || owner[2] != o.run {
			continue
		}
		if process, err := strconv.Atoi(owner[1]); err != nil || !judged(process) {
			continue
		}
		times, _ := strconv.Atoi(profiledCount.FindStringSubmatch(record)[1])
		where := "goroutine" + standing(profiledFrame, record, owned)
		found = append(found, slices.Repeat([]string{where}, times)...)
	}
	slices.Sort(found)
	return strings.Join(found, "; ")
}

// What a goroutine profile in text form says of goroutines with the same stack and the same labels.
var (
	profiledCount = regexp.MustCompile(`(?m)^(\d+) @`)
	profiledOwner = regexp.MustCompile(`(?m)^# labels: .*"` + processLabel + `":"(\d+)", .*"` +
		runLabel + `":"(\d+)"`)
	profiledFrame = regexp.MustCompile(
		`(?m)^#\t0x[0-9a-f]+\t(\S+)\+0x[0-9a-f]+\t+.*/([^/\s]+:\d+)$`)
)
