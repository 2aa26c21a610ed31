package history

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Clocks say how far the clocks of processes may be off: what happened at the time t of a process's
// clock happened, by a clock that all share, between t less its uncertainty and t plus it. They
// make histories of services in production fit to be checked, whose events come from several
// clocks.
type Clocks struct {
	Default time.Duration           // of every process that is not named
	Of      map[int32]time.Duration // of some processes

	// Pause is the longest pause of a process that the lock promises to stand. After a longer one,
	// which the history must tell, the lock is not held to [ClientMutualExclusion]; see
	// [CheckWithin]. 0 stands for no pause at all.
	Pause time.Duration
}

// ParseClocks returns the clocks that a text such as "50ms" or "20ms,c3=100ms" describes.
func ParseClocks(text string) (Clocks, error) {
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
		process, err := strconv.ParseInt(strings.TrimPrefix(name, "c"), 10, 32)
		if err != nil || process < 1 || !strings.HasPrefix(name, "c") {
			return Clocks{}, fmt.Errorf("%q is not a process such as c1", name)
		}
		clocks.Of[int32(process)] = uncertainty
	}
	return clocks, nil
}

func (c *Clocks) of(process int32) time.Duration {
	if u, ok := c.Of[process]; ok {
		return u
	}
	return c.Default
}

// earliest and latest return when an event can have happened.
func (c *Clocks) earliest(e *Event) time.Duration { return e.At - c.of(e.Process) }
func (c *Clocks) latest(e *Event) time.Duration   { return e.At + c.of(e.Process) }

// Merge puts the events of several logs in the order of their times. Events of one log that have
// the same time stay in their order.
func Merge(logs ...*Log) *Log {
	var events []Event
	for _, l := range logs {
		events = append(events, l.events...)
	}
	slices.SortStableFunc(events, func(a, b Event) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	return NewLog(events)
}
