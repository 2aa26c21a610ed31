package history_test

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/interlock-sim/interlock/history"
)

const (
	firstNode  = "/locks/a/_c_3f9a0c11d2e84b5f9a7766554433221f-lock-0000000000"
	secondNode = "/locks/a/_c_b07Ec0110000405f9a7766554433221f-lock-0000000001"
)

// ms sets the times of the events in milliseconds, which keeps the tables of events narrow.
func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// paused is a history in which c1 stays in its critical section while its session expires and c2
// enters.
func paused() *Timeline {
	return &Timeline{
		Title:     "paused holder",
		Processes: 2,
		Events: []Event{
			{At: ms(0), Kind: SessionOpened, Process: 1, Session: 0x1a, Zxid: 1},
			{At: ms(0), Kind: SessionOpened, Process: 2, Session: 0x1b, Zxid: 2},
			{At: ms(1), Kind: LockCall, Process: 1, Attempt: 1},
			{
				At: ms(1), Kind: Send, Process: 1, Request: 1, Op: "create",
				Path: "/locks/a/_c_3f9a0c11d2e84b5f9a7766554433221f-lock-",
			},
			{
				At: ms(2), Kind: Serve, Process: 1, Request: 1, Op: "create", Path: firstNode,
				Zxid: 3,
			},
			{At: ms(2), Kind: NodeCreated, Process: 1, Path: firstNode, Zxid: 3, Session: 0x1a},
			{
				At: ms(3), Kind: Reply, Process: 1, Request: 1, Op: "create", Path: firstNode,
				Zxid: 3,
			},
			{At: ms(4), Kind: LockReturn, Process: 1, Attempt: 1, Path: firstNode, Zxid: 3},
			{At: ms(4), Kind: Enter, Process: 1, Attempt: 1},
			{At: ms(5), Kind: LockCall, Process: 2, Attempt: 2},
			{At: ms(6), Kind: Send, Process: 2, Request: 1, Op: "exists", Path: firstNode},
			{At: ms(7), Kind: Serve, Process: 2, Request: 1, Op: "exists", Path: firstNode},
			{At: ms(7), Kind: WatchArmed, Process: 2, Watch: 1, Path: firstNode, Name: "exist"},
			{At: ms(8), Kind: Reply, Process: 2, Request: 1, Op: "exists", Path: firstNode},
			{At: ms(9), Kind: Fault, Process: 1, Name: "cut", Op: "holding"},
			{At: ms(6009), Kind: Tick},
			{At: ms(6009), Kind: SessionExpired, Process: 1, Session: 0x1a, Zxid: 4},
			{At: ms(6009), Kind: NodeDeleted, Process: 1, Path: firstNode, Zxid: 4, Session: 0x1a},
			{
				At: ms(6009), Kind: WatchFired, Process: 2, Watch: 1, Path: firstNode, Zxid: 4,
				Name: "deleted",
			},
			{
				At: ms(6010), Kind: WatchEvent, Process: 2, Watch: 1, Path: firstNode, Zxid: 4,
				Name: "deleted",
			},
			{At: ms(6010), Kind: LockReturn, Process: 2, Attempt: 2, Path: secondNode, Zxid: 5},
			{At: ms(6010), Kind: Enter, Process: 2, Attempt: 2},
			{At: ms(6011), Kind: Lost, Process: 1, Attempt: 1},
		},
		Violations: []*Violation{{
			Property: ClientMutualExclusion, Event: 21, Reason: "two at once",
			Detail: "c2 entered while c1 was inside\nc1 entered at event 8",
		}},
	}
}

func TestTimelineWrite(t *testing.T) {
	expect(t, paused().Write, `
paused holder

Each line: number of the event, virtual time since the start, and the event under the one it happens to.
!  a property is broken here   ✂  a fault lands   →  a request leaves   ←  its reply arrives   …  shortened

              │ ensemble                                            │ c1                                    │ c2
   0  +0.000s │ c1: session 0x1a opens                              │                                       │
   1  +0.000s │ c2: session 0x1b opens                              │                                       │
   2  +0.001s │                                                     │ asks for the lock                     │
   3  +0.001s │                                                     │ create → _c_3f9a…-lock-               │
   4  +0.002s │ c1: serves create _c_3f9a…-lock-0000000000          │                                       │
   5  +0.002s │ c1: _c_3f9a…-lock-0000000000 created, zxid 3        │                                       │
   6  +0.003s │                                                     │ create ← _c_3f9a…-lock-0000000000     │
   7  +0.004s │                                                     │ HAS THE LOCK _c_3f9a…-lock-0000000000 │
   8  +0.004s │                                                     │ ENTERS                                │
   9  +0.005s │                                                     │                                       │ asks for the lock, attempt 2
  10  +0.006s │                                                     │                                       │ exists → _c_3f9a…-lock-0000000000
  11  +0.007s │ c2: serves exists _c_3f9a…-lock-0000000000          │                                       │
  12  +0.007s │ c2: watch 1 set: _c_3f9a…-lock-0000000000, exist    │                                       │
  13  +0.008s │                                                     │                                       │ exists ← _c_3f9a…-lock-0000000000
  14  +0.009s │                                                     │ ✂ cut, phase holding                  │
  15  +6.009s │ time passes                                         │                                       │
  16  +6.009s │ c1: session 0x1a expires                            │                                       │
  17  +6.009s │ c1: _c_3f9a…-lock-0000000000 deleted, zxid 4        │                                       │
  18  +6.009s │ c2: watch 1 fires: _c_3f9a…-lock-0000000000 deleted │                                       │
  19  +6.010s │                                                     │                                       │ watch 1: _c_3f9a…-lock-0000000000 deleted
  20  +6.010s │                                                     │                                       │ HAS THE LOCK _c_b07E…-lock-0000000001
! 21  +6.010s │                                                     │                                       │ ENTERS
!             └ client-mutual-exclusion: c2 entered while c1 was inside
!               c1 entered at event 8
  22  +6.011s │                                                     │ is told: lost                         │
`)
}

func TestTimelineDecisive(t *testing.T) {
	expect(t, decisive(paused(), 12), `
              │ ensemble                                            │ c1                   │ c2
  ⋮ (8 events)
   8  +0.004s │                                                     │ ENTERS               │
   9  +0.005s │                                                     │                      │ asks for the lock, attempt 2
  ⋮ (4 events)
  14  +0.009s │                                                     │ ✂ cut, phase holding │
  15  +6.009s │ time passes                                         │                      │
  16  +6.009s │ c1: session 0x1a expires                            │                      │
  17  +6.009s │ c1: _c_3f9a…-lock-0000000000 deleted, zxid 4        │                      │
  18  +6.009s │ c2: watch 1 fires: _c_3f9a…-lock-0000000000 deleted │                      │
  19  +6.010s │                                                     │                      │ watch 1: _c_3f9a…-lock-0000000000 deleted
  20  +6.010s │                                                     │                      │ HAS THE LOCK _c_b07E…-lock-0000000001
! 21  +6.010s │                                                     │                      │ ENTERS
!             └ client-mutual-exclusion: c2 entered while c1 was inside
!               c1 entered at event 8
`)
}

func TestTimelineDecisiveProgress(t *testing.T) {
	expect(t, decisive(stuck(), 12), `
              │ ensemble                                     │ c1                                    │ c2
  ⋮ (7 events)
   7  +0.004s │                                              │ HAS THE LOCK _c_3f9a…-lock-0000000000 │
   8  +0.004s │                                              │ ENTERS                                │
!  9  +0.005s │                                              │                                       │ asks for the lock, attempt 2
!             └ progress: c2 waits for the lock, which nobody holds
  10  +0.006s │                                              │                                       │ exists → _c_3f9a…-lock-0000000000
  ⋮ (2 events)
  13  +0.008s │                                              │                                       │ exists ← _c_3f9a…-lock-0000000000
  14  +0.009s │                                              │ ✂ cut, phase holding                  │
  15  +6.009s │ time passes                                  │                                       │
  16  +6.009s │ c1: session 0x1a expires                     │                                       │
  17  +6.009s │ c1: _c_3f9a…-lock-0000000000 deleted, zxid 4 │                                       │
  18  +6.010s │ no more faults, fair from here on            │                                       │
  ⋮ (22 events)
`)
}

// stuck is a history in which the lock becomes free and c2 is never notified.
func stuck() *Timeline {
	events := paused().Events[:18]
	events = append(events, Event{At: ms(6010), Kind: FairPhase}, Event{
		At: ms(6010), Kind: Healed,
		Process: 1,
	})
	for i := range 20 {
		events = append(events, Event{At: ms(6011 + i), Kind: Tick})
	}
	events = append(events, Event{At: ms(6031), Kind: Finished, Process: 1})
	return &Timeline{Processes: 2, Events: events, Violations: []*Violation{{
		Property: Progress, Event: 9, Reason: "never returned",
		Detail: "c2 waits for the lock, which nobody holds",
	}}}
}

// bodyLine matches the start of the line of an event or a gap.
var bodyLine = regexp.MustCompile(`(?m)^([! ] +[0-9]+  +\+|  ⋮ )`)

// The lines of Decisive are a bound for every history, plus two for the one fault, which splits a
// gap, and two for each last message of a process that waits forever, here a request and its reply.
// All of these are shown, and so is the event of the violation.
func TestTimelineDecisiveBound(t *testing.T) {
	for _, timeline := range []*Timeline{paused(), stuck()} {
		on, waits := 2, timeline.Violations[0].Property == Progress
		if waits {
			on = 6
		}
		for lines := 3; lines < 50; lines++ {
			got := render(t, decisive(timeline, lines))
			if n := len(bodyLine.FindAllString(got, -1)); n > lines+on {
				t.Errorf("Decisive(%d) wrote %d lines:\n%s", lines, n, got)
			}
			if waits && (!strings.Contains(got, "exists → _c_3f9a") ||
				!strings.Contains(got, "exists ← _c_3f9a")) {
				t.Errorf("Decisive(%d) does not show what c2 last said and heard:\n%s", lines, got)
			}
			if !strings.Contains(got, "✂ cut") {
				t.Errorf("Decisive(%d) does not show the fault:\n%s", lines, got)
			}
			if !strings.Contains(got, fmt.Sprintf(" %d  +", timeline.Violations[0].Event)) {
				t.Errorf("Decisive(%d) does not show the violation:\n%s", lines, got)
			}
		}
	}
}

// Every bar is below that of the head, even if characters have several bytes.
func TestTimelineAlignment(t *testing.T) {
	lines := strings.Split(render(t, decisive(paused(), 50)), "\n")
	// The last three lines are those of the violation and after it.
	for _, line := range lines[1 : len(lines)-3] {
		for bar := range 3 {
			if got, want := barAt(line, bar), barAt(lines[0], bar); got != want {
				t.Errorf("bar %d is at %d, want %d: %q", bar, got, want, line)
			}
		}
	}
}

func TestTimelineTruncation(t *testing.T) {
	timeline := &Timeline{Events: []Event{
		{Kind: LockReturn, Process: 1, Err: strings.Repeat("é", 100)},
		{Kind: Reply, Process: 1, Op: "get", Path: "/a", Err: "escape \x1b[31m\n"},
		{Kind: Serve, Process: 1, Op: "children", Path: "/"},
		{
			Kind: NodeCreated, Process: 1,
			Path: "/locks/0f8fad5b-d9cb-469f-a165-70867728950e0000000007",
			Zxid: 9,
		},
		{Kind: NodeDeleted, Path: "/locks/", Zxid: 10},
	}}
	expect(t, decisive(timeline, 0), `
             │ ensemble                            │ c1
  0  +0.000s │                                     │ gets no lock: ééééééééééééééééééééééééééééééééééééé…
  1  +0.000s │                                     │ get ← a: escape ·[31m·
  2  +0.000s │ c1: serves children /               │
  3  +0.000s │ c1: 0f8f…0000000007 created, zxid 9 │
  4  +0.000s │ locks/ deleted, zxid 10             │
`)
}

// A truncated history, or one of another version, is still rendered.
func TestTimelineOddities(t *testing.T) {
	odd := []*Violation{{Property: FIFO, Event: 7, Reason: "not in this history"}}
	timeline := &Timeline{
		Processes:  1,
		Events:     []Event{{Kind: 200, Process: 2}, {Kind: Kind(0), Process: -1}},
		Violations: odd,
	}
	expect(t, timeline.Write, `
Each line: number of the event, virtual time since the start, and the event under the one it happens to.
!  a property is broken here   ✂  a fault lands   →  a request leaves   ←  its reply arrives   …  shortened

             │ ensemble      │ c1
  0  +0.000s │ c2: kind(200) │
  1  +0.000s │ kind(0)       │
!            └ fifo: not in this history
`)
	expect(t, decisive(&Timeline{Violations: odd}, 0), `
     │ ensemble
!    └ fifo: not in this history
`)
}

func TestTimelineWriteError(t *testing.T) {
	if err := paused().Write(failingWriter{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write returned %v, want the error of its writer", err)
	}
}

// Every kind has a phrase of its own, even one that is added later.
func TestTimelineKnowsKinds(t *testing.T) {
	for kind := Kind(1); !strings.HasPrefix(kind.String(), "kind("); kind++ {
		timeline := &Timeline{Events: []Event{{Kind: kind, Process: 1}}}
		got := render(t, decisive(timeline, 0))
		if strings.Contains(got, "│ "+kind.String()+"\n") ||
			strings.Contains(got, "c1: "+kind.String()+" ") {
			t.Errorf("%v has no phrase:\n%s", kind, got)
		}
	}
}

func decisive(timeline *Timeline, lines int) func(io.Writer) error {
	return func(w io.Writer) error { return timeline.Decisive(w, lines) }
}

func render(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func expect(t *testing.T, write func(io.Writer) error, want string) {
	t.Helper()
	// The first line break keeps the golden text in one block.
	if got := render(t, write); got != want[1:] {
		t.Errorf("got\n%s\nwant%s", got, want)
	}
}

// barAt returns the index of the rune of the n-th bar of a line.
func barAt(line string, n int) int {
	parts := strings.SplitN(line, "│", n+2)
	return utf8.RuneCountInString(strings.Join(parts[:n+1], "│"))
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
