package production

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/history"
)

// pauseName is the name of the Fault that pauses a process.
const pauseName = "pause"

// A Pause is a period, by the clock of its process, in which the process did not run.
type Pause struct {
	Process    int32
	From, Till time.Duration
}

// ParsePause parses a text such as "c3=2026-01-31T12:00:00Z..2026-01-31T12:00:20Z", with the name
// of one of the processes. Times may also be numbers of nanoseconds, as in a history. It returns a
// pause for each process of the name.
func ParsePause(text string, processes *Processes) ([]Pause, error) {
	i := strings.LastIndexByte(text, '=')
	if i < 0 {
		return nil, fmt.Errorf("%q is not PROCESS=FROM..TO", text)
	}
	begin, end, ok := strings.Cut(text[i+1:], "..")
	if !ok {
		return nil, fmt.Errorf("%q is not PROCESS=FROM..TO", text)
	}
	from, err := parseTime(begin)
	if err != nil {
		return nil, err
	}
	till, err := parseTime(end)
	if err != nil {
		return nil, err
	}
	if till < from {
		return nil, fmt.Errorf("the pause %s ends before it begins", text)
	}
	numbers := processes.Find(text[:i])
	if numbers == nil {
		return nil, fmt.Errorf("%q is not a process such as c1", text[:i])
	}
	var pauses []Pause
	for _, number := range numbers {
		pauses = append(pauses, Pause{number, from, till})
	}
	return pauses, nil
}

// parseTime parses a time as since 1970.
func parseTime(text string) (time.Duration, error) {
	if nanoseconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(nanoseconds), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time such as 2026-01-31T12:00:00Z", text)
	}
	return time.Duration(t.UnixNano()), nil
}

// A longPause is a period in which a lock guarantees nothing about a process: a pause longer than
// [Clocks].Pause, and Clocks.Pause after it.
type longPause struct{ from, till time.Duration }

// longPauses returns the long pauses of each process in order.
func (c *Clocks) longPauses(events []history.Event) map[int32][]longPause {
	pauses := make(map[int32][]longPause)
	for _, p := range append(recordedPauses(events), c.Pauses...) {
		if p.Till-p.From > c.Pause {
			off := c.of(p.Process)
			pauses[p.Process] = append(pauses[p.Process],
				longPause{p.From - off, p.Till + off + c.Pause})
		}
	}
	for _, all := range pauses {
		slices.SortFunc(all, func(a, b longPause) int { return cmp.Compare(a.from, b.from) })
	}
	return pauses
}

// recordedPauses returns the pauses that the history records.
func recordedPauses(events []history.Event) []Pause {
	var pauses []Pause
	for i := range events {
		if begins := &events[i]; begins.Kind == history.Fault && begins.Name == pauseName {
			if ends := pauseEnd(events[i:]); ends != nil {
				process, _ := history.ProcessOf(begins.Process)
				pauses = append(pauses, Pause{process, begins.At, ends.At})
			}
		}
	}
	return pauses
}

// pauseEnd returns the event that ends the pause with which the events begin: a Resumed, or else
// the next event of the process. It returns nil if there is neither.
func pauseEnd(events []history.Event) (next *history.Event) {
	for i := 1; i < len(events); i++ {
		switch e := &events[i]; {
		case !sameProcess(e.Process, events[0].Process):
		case e.Kind == history.Resumed:
			return e
		case next == nil:
			next = e
		}
	}
	return next
}

// sameProcess reports whether two numbers are of one process or its threads.
func sameProcess(a, b int32) bool {
	one, _ := history.ProcessOf(a)
	other, _ := history.ProcessOf(b)
	return one == other
}

// withoutPauses returns the parts of a span outside of the long pauses of its process.
func withoutPauses(s insideSpan, pauses map[int32][]longPause) []insideSpan {
	var parts []insideSpan
	process, _ := history.ProcessOf(s.process)
	for _, p := range pauses[process] {
		if p.from >= s.till || p.till <= s.from {
			continue
		}
		if before := s; p.from > s.from {
			before.till = p.from
			parts = append(parts, before)
		}
		s.from = max(s.from, p.till)
	}
	return append(parts, s)
}
