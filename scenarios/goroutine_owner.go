package scenarios

import (
	"bytes"
	"context"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Owners tell which process a goroutine belongs to that a run has left behind. They are profiler
// labels, which a goroutine inherits from the one that starts it. A goroutine that a timer or the
// end of a context starts has none, so its process is not known.
//
// Only a run in which a process has crashed needs them. The goroutines of that process end at their
// next call to the client, so others of the same process may wait for them for good, and that is no
// leak.
type owners struct {
	// differs between all runs of the program that have left goroutines behind
	run    string
	labels []context.Context // by the number of the process
}

const (
	runLabel     = "interlock-run"
	processLabel = "interlock-process"
)

var runsLabelled atomic.Int64

// adopt makes the calling goroutine, and all that it will start, the process's.
func (o *owners) adopt(process int) { pprof.SetGoroutineLabels(o.labels[process]) }

// prepare makes the labels of that many processes.
func (o *owners) prepare(processes int) {
	if o.run == "" {
		o.run = strconv.FormatInt(runsLabelled.Add(1), 10)
	}
	for number := len(o.labels); number <= processes; number++ {
		labels := pprof.Labels(runLabel, o.run, processLabel, strconv.Itoa(number))
		o.labels = append(o.labels, pprof.WithLabels(context.Background(), labels))
	}
}

// left says where goroutines stand that processes have left behind for which judged returns true.
// It is empty if there are none.
func (o *owners) left(judged func(process int) bool) string {
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
		found = append(found, slices.Repeat([]string{"goroutine" + standing(profiledFrame, record)},
			times)...)
	}
	slices.Sort(found)
	return strings.Join(found, "; ")
}

// What a goroutine profile in text form says of goroutines with the same stack and the same labels.
var (
	profiledCount = regexp.MustCompile(`(?m)^(\d+) @`)
	profiledOwner = regexp.MustCompile(`(?m)^# labels: .*"` + processLabel + `":"(\d+)", .*"` +
		runLabel + `":"(\d+)"`)
	profiledFrame = regexp.MustCompile(`(?m)^#\t0x[0-9a-f]+\t(\S+)\+0x[0-9a-f]+\t+.*/([^/\s]+:\d+)$`)
)
