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
}

// An owner is the process or thread that goroutines with a label belong to.
type owner struct {
	run    string
	number int32
	labels context.Context // It keeps the label alive.
}

const (
	runLabel     = "interlock-run"
	processLabel = "interlock-process"
)

var runsLabelled atomic.Int64

// labelled has the owners of all labels of all runs. Goroutines read it while the loop adds to it.
var labelled sync.Map // of owner by goroutine.Label

// adopt makes the calling goroutine, and all that it starts, goroutines of the process.
func (o *owners) adopt(process int) { pprof.SetGoroutineLabels(o.labels[process]) }

// label makes the label of a process or thread, unless it exists.
func (o *owners) label(number int) {
	if o.labels[number] != nil {
		return
	}
	if o.labels == nil {
		o.run = strconv.FormatInt(runsLabelled.Add(1), 10)
		o.labels = make(map[int]context.Context)
	}
	labels := pprof.Labels(runLabel, o.run, processLabel, strconv.Itoa(number))
	ctx := pprof.WithLabels(context.Background(), labels)
	o.labels[number] = ctx
	labelled.Store(goroutine.LabelOf(ctx), owner{o.run, int32(number), ctx})
}

// current returns the number of the process or thread that the calling goroutine belongs to, or 0
// if it is unknown, or [refusal.OtherRun]. Any goroutine may call it.
func (o *owners) current() int32 {
	found, ok := labelled.Load(goroutine.Current())
	if !ok {
		return 0
	}
	if by := found.(owner); by.run == o.run {
		return by.number
	}
	return refusal.OtherRun
}

// left describes where leaked goroutines are blocked, of processes for which judged returns true.
// Owned reports whether a function belongs to the simulation. It returns "" if there are none.
func (o *owners) left(judged func(process int) bool, owned func(function string) bool) string {
	var profile bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&profile, 1) // A buffer takes everything.
	var found []string
	for record := range strings.SplitSeq(profile.String(), "\n\n") {
		of := profiledOwner.FindStringSubmatch(record)
		if of == nil || of[2] != o.run {
			continue
		}
		if process, err := strconv.Atoi(of[1]); err != nil || !judged(process) {
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
