package production

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// An openAttemptSpan is the part of a history from the first event of an attempt to its last.
type openAttemptSpan struct {
	first, last int
	node, lock  string // empty if unknown
	thread      int    // from 1
}

// excludes reports whether two attempts of one process are of different contenders for one lock.
func (s *openAttemptSpan) excludes(other *openAttemptSpan) bool {
	return s.lock != "" && s.lock == other.lock && s.node != "" && other.node != "" &&
		s.node != other.node
}

// separateGoroutines gives attempts of one process at one lock the numbers of different threads if
// they are open at once and have different nodes, so that they are judged against each other.
// Attempts with the same node are those of an owner, which reenters its lock or shares it between
// goroutines. Attempts without a node may be such.
func separateGoroutines(events []history.Event) {
	spans := openAttemptSpans(events)
	open := make(map[int32][]*openAttemptSpan) // of each process
	for i := range events {
		e := &events[i]
		s := spans[attemptKey{e.Process, e.Attempt}]
		if s == nil {
			continue
		}
		process := e.Process
		if s.first == i {
			s.thread = freeThread(s, open[process])
			open[process] = append(open[process], s)
		}
		if s.last == i {
			open[process] = slices.DeleteFunc(open[process],
				func(o *openAttemptSpan) bool { return o == s })
		}
		e.Process = history.ThreadNumber(process, s.thread)
	}
}

// freeThread returns the first thread without an open attempt that excludes the given one.
func freeThread(s *openAttemptSpan, open []*openAttemptSpan) int {
	for thread := 1; ; thread++ {
		taken := func(o *openAttemptSpan) bool { return o.thread == thread && s.excludes(o) }
		if !slices.ContainsFunc(open, taken) {
			return thread
		}
	}
}

func openAttemptSpans(events []history.Event) map[attemptKey]*openAttemptSpan {
	spans := make(map[attemptKey]*openAttemptSpan)
	for i := range events {
		e := &events[i]
		if e.Attempt == 0 {
			continue
		}
		key := attemptKey{e.Process, e.Attempt}
		s := spans[key]
		if s == nil {
			s = &openAttemptSpan{first: i}
			spans[key] = s
		}
		s.last = i
		if e.Path != "" && (e.Kind == history.NodeCreated || e.Kind == history.LockReturn) {
			s.node, s.lock = e.Path, history.Directory(e.Path)
		}
		if e.Name != "" && e.Kind == history.LockReturn {
			s.lock = e.Name
		}
	}
	return spans
}
