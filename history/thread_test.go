package history_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
)

// The name of a thread has its process and its number among the threads.
func TestThreadNames(t *testing.T) {
	for _, tc := range []struct {
		process int32
		thread  int
		name    string
	}{
		{1, 1, "c1"}, {100, 1, "c100"}, {1, 2, "c1.2"}, {100, 8, "c100.8"}, {10_000, 3, "c10000.3"},
	} {
		number := history.ThreadNumber(tc.process, tc.thread)
		if process, thread := history.ProcessOf(number); process != tc.process ||
			thread != tc.thread {
			t.Errorf("thread %d of process %d is taken for %d of %d", tc.thread, tc.process, thread,
				process)
		}
		if name := history.ProcessName(number); name != tc.name {
			t.Errorf("thread %d of process %d is called %s", tc.thread, tc.process, name)
		}
		if parsed, ok := history.ParseProcessName(tc.name); !ok || parsed != number {
			t.Errorf("%s is parsed as %d, %v", tc.name, parsed, ok)
		}
	}
	for _, name := range []string{"", "c", "c0", "s1", "c1.", "c1.1", "c1.9", "c1.2.3", "c-1"} {
		if number, ok := history.ParseProcessName(name); ok {
			t.Errorf("%q is parsed as %d", name, number)
		}
	}
}

// An event that strikes a process is one of each of its threads.
func TestEventsOfThreads(t *testing.T) {
	var log history.Log
	log.SetThreads(3)
	log.Append(history.Event{Kind: history.Crashed, Process: 2})
	log.Append(history.Event{Kind: history.Fault, Process: 2, Name: "cut"})
	log.Append(history.Event{Kind: history.Fault, Process: 2, Name: "cancel"})
	log.Append(history.Event{Kind: history.SessionExpired})
	log.Append(history.Event{Kind: history.Enter, Process: 2})
	var got string
	for i := range log.Events() {
		e := &log.Events()[i]
		got += e.Kind.String() + " " + history.ProcessName(e.Process) + "; "
	}
	const want = "crashed c2; crashed c2.2; crashed c2.3; fault c2; fault c2.2; fault c2.3; " +
		"fault c2; session-expired c0; enter c2; "
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
