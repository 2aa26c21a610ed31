package production

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/history"
)

// Clocks bounds the inaccuracy of the clocks of processes: an event with the time t happened
// between t minus the uncertainty of its process and t plus it, by a common clock. With such
// bounds, histories of services in production can be checked.
type Clocks struct {
	Default time.Duration           // the uncertainty of every process that is not in Of
	Of      map[int32]time.Duration // the uncertainty of some processes

	// Pause is the longest pause of a process that the lock tolerates. During and shortly after a
	// longer pause, which must be recorded in the history or in Pauses,
	// [history.ClientMutualExclusion] does not cover the process; see [Within]. 0 means that the
	// lock tolerates no pause.
	Pause time.Duration

	Pauses []Pause // in addition to the pauses that the history records
}

// ParseClocks parses a text such as "50ms" or "20ms,c3=100ms", with names of the given processes.
func ParseClocks(text string, processes *Processes) (Clocks, error) {
	clocks := Clocks{Of: make(map[int32]time.Duration)}
	for part := range strings.SplitSeq(text, ",") {
		name, value, named := strings.Cut(part, "=")
		if !named {
			name, value = "", part
		}
		uncertainty, err := time.ParseDuration(value)
		if err != nil || uncertainty < 0 {
			return Clocks{}, fmt.Errorf("%q is not an uncertainty such as 50ms", value)
		}
		if !named {
			clocks.Default = uncertainty
			continue
		}
		numbers := processes.Find(name)
		if numbers == nil {
			return Clocks{}, fmt.Errorf("%q is not a process such as c1", name)
		}
		for _, number := range numbers {
			clocks.Of[number] = uncertainty
		}
	}
	return clocks, nil
}

// of returns the uncertainty of a process, which is that of its threads too.
func (c *Clocks) of(process int32) time.Duration {
	process, _ = history.ProcessOf(process)
	if u, ok := c.Of[process]; ok {
		return u
	}
	return c.Default
}

// earliest and latest return the bounds of the true time of an event.
func (c *Clocks) earliest(e *history.Event) time.Duration { return e.At - c.of(e.Process) }
func (c *Clocks) latest(e *history.Event) time.Duration   { return e.At + c.of(e.Process) }

// Merge returns the events of several logs in the order of their times. Events of one log with the
// same time keep their order.
//
// If a process has several attempts for one lock open at once, with different nodes, Merge gives
// them the numbers of different threads (see [history.ThreadNumber]), so that they are checked
// against each other. Other attempts of a process for one lock are not, because an owner may
// reenter its lock or share it between goroutines.
func Merge(logs ...*history.Log) *history.Log {
	var events []history.Event
	for _, l := range logs {
		events = append(events, l.Events()...)
	}
	slices.SortStableFunc(events, func(a, b history.Event) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	separateGoroutines(events)
	return history.NewLog(events)
}
