package timeline_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/timeline"
)

const (
	firstNode  = "/locks/a/_c_3f9a0c11d2e84b5f9a7766554433221f-lock-0000000000"
	secondNode = "/locks/a/_c_b07Ec0110000405f9a7766554433221f-lock-0000000001"
)

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// paused is a history in which c1 stays in its critical section while its session expires and c2
// enters.
func paused() timeline.Timeline {
	return timeline.Timeline{
		Events: []history.Event{
			{At: ms(0), Kind: history.SessionOpened, Process: 1, Session: 0x1a, Zxid: 1},
			{At: ms(1), Kind: history.LockCall, Process: 1, Attempt: 1},
			{
				At: ms(1), Kind: history.Send, Process: 1, Request: 1, Op: "create",
				Path: "/locks/a/_c_3f9a0c11d2e84b5f9a7766554433221f-lock-",
				Facts: &history.Facts{
					Line: "billing/lock.go:42", Function: "billing.(*Lock).Lock",
				},
			},
			{
				At: ms(2), Kind: history.NodeCreated, Process: 1, Path: firstNode, Zxid: 3,
				Session: 0x1a,
			},
			{
				At: ms(2), Kind: history.Serve, Process: 1, Request: 1, Op: "create",
				Path: "/locks/a/_c_3f9a0c11d2e84b5f9a7766554433221f-lock-", Zxid: 3,
			},
			{
				At: ms(3), Kind: history.Reply, Process: 1, Request: 1, Op: "create",
				Path: firstNode, Zxid: 3,
			},
			{At: ms(4), Kind: history.LockReturn, Process: 1, Attempt: 1, Path: firstNode, Zxid: 3},
			{At: ms(4), Kind: history.Enter, Process: 1, Attempt: 1},
			{At: ms(5), Kind: history.LockCall, Process: 2, Attempt: 2},
			{At: ms(6), Kind: history.Send, Process: 2, Request: 1, Op: "children", Path: "/locks/a"},
			{
				At: ms(7), Kind: history.Serve, Process: 2, Request: 1, Op: "children",
				Path: "/locks/a", Zxid: 3,
			},
			{
				At: ms(8), Kind: history.Reply, Process: 2, Request: 1, Op: "children",
				Path: "/locks/a", Zxid: 3, Facts: &history.Facts{Children: []history.Child{
					{Name: firstNode[len("/locks/a/"):], Process: 1, Live: true},
				}},
			},
			{At: ms(9), Kind: history.Fault, Process: 1, Name: "cut", Op: "holding"},
			{At: ms(9), Kind: history.SessionState, Process: 1, Name: "disconnected"},
			{At: ms(1009), Kind: history.Tick},
			{At: ms(2009), Kind: history.Tick},
			{At: ms(6009), Kind: history.Tick},
			{
				At: ms(6009), Kind: history.NodeDeleted, Process: 1, Path: firstNode, Zxid: 4,
				Session: 0x1a,
			},
			{At: ms(6009), Kind: history.SessionExpired, Process: 1, Session: 0x1a, Zxid: 4},
			{At: ms(6010), Kind: history.LockReturn, Process: 2, Attempt: 2, Zxid: 5},
			{At: ms(6010), Kind: history.Enter, Process: 2, Attempt: 2},
			{At: ms(6011), Kind: history.Lost, Process: 1, Attempt: 1},
		},
		Violations: []*history.Violation{{
			Property: history.ClientMutualExclusion, Event: 20, Reason: "two at once",
			Detail: "c2 entered while c1 was inside\nc1 entered at event 7 by " + firstNode,
		}},
		Show: []int{3, 6, 7, 11, 12, 17, 19, 20},
	}
}

func TestWrite(t *testing.T) {
	lines := paused()
	expect(t, lines.Write, `
              zk c1 c2
   0  0.000s  ●  │  │  c1's session 0x1a opens
   1  0.001s  │  ●  │  c1 asks for the lock
   2  0.001s  │  ●  │  c1 sends create c1#0 [lock.go:42]
   3  0.002s  ●  │  │  c1#0 created by c1 [lock.go:42]
   4  0.002s  ●  │  │  the server handles c1's create c1#0
   5  0.003s  │  ●  │  c1's create c1#0: done [lock.go:42]
   6  0.004s  │  ●  │  c1 HAS THE LOCK by c1#0, token 3
   7  0.004s  │  ●  │  c1 ENTERS its critical section
   8  0.005s  │  ┃  ●  c2 asks for the lock, attempt 2
   9  0.006s  │  ┃  ●  c2 sends children a
  10  0.007s  ●  ┃  │  the server handles c2's children a
  11  0.008s  │  ┃  ●  c2 lists a: c1#0
  12  0.009s  │  ✂  │  FAULT cut c1, phase hold
  13  0.009s  │  ●  │  c1 learns that its connection is lost
  16  6.009s  │  ┇  │  6 s pass (events 14–16)
  17  6.009s  ●  ┇  │  c1's session expires: c1#0 deleted
  18  6.009s  ●  ┇  │  c1's session expires
  19  6.010s  │  ┇  ●  c2 HAS THE LOCK, token 5
! 20  6.010s  │  ┇  ●  c2 ENTERS its critical section
!             └ client-mutual-exclusion: c2 entered while c1 was inside
!               c1 entered at event 7 by c1#0
  21  6.011s  │  ●  ┃  c1 is notified that it has lost the lock

nodes  c1#0 = /locks/a/_c_3f9a0c11d2e84b5f9a7766554433221f-lock-0000000000
lanes  │ connected   ┊ not connected   ┃ has the lock, as far as it knows   ┇ has it, not connected   ● event   ✂ fault
       ! violation
`)
}

// The lane of the servers is called zk only for ZooKeeper, and the legend explains the lane of a
// process that has finished.
func TestOtherService(t *testing.T) {
	lines := timeline.Timeline{
		Events: []history.Event{
			{Kind: history.LockCall, Process: 1, Attempt: 1},
			{Kind: history.Command, Process: 1, Op: "SET"},
			{Kind: history.Finished, Process: 1},
			{Kind: history.Fault, Name: "restart"},
		},
	}
	expect(t, lines.Write, `
             s  c1
  0  0.000s  │  ●  c1 asks for the lock
  1  0.000s  │  ●  c1 sends SET to the server
  2  0.000s  │  ●  c1 is finished
  3  0.000s  ✂     FAULT restart

lanes  │ connected   ┊ not connected   ┃ has the lock, as far as it knows   (blank) finished or crashed   ● event
       ✂ fault   ! violation
`)
}

// A listing tells a znode whose creator got no reply to its create, and cannot recognize it unless
// its name has an id.
func TestOwnNodes(t *testing.T) {
	for _, test := range []struct{ prefix, err, want string }{
		{"n-", "", "c1#7 (own)"},
		{"n-", "connection closed", "c1#7 (own, but no reply has told it the name)"},
		{
			"_c_604fc2bd55323e12a3580a8edbedf61e-n-", "connection closed",
			"c1#7 (own, its create got no reply)",
		},
	} {
		name := test.prefix + "0000000007"
		lines := timeline.Timeline{Events: []history.Event{
			{Kind: history.Send, Process: 1, Request: 1, Op: "create", Path: "/l/" + test.prefix},
			{Kind: history.NodeCreated, Process: 1, Path: "/l/" + name, Zxid: 1},
			{
				Kind: history.Serve, Process: 1, Request: 1, Op: "create",
				Path: "/l/" + test.prefix, Zxid: 1,
			},
			{Kind: history.Reply, Process: 1, Request: 1, Op: "create", Err: test.err},
			{Kind: history.Send, Process: 1, Request: 2, Op: "children", Path: "/l"},
			{Kind: history.Serve, Process: 1, Request: 2, Op: "children", Path: "/l", Zxid: 1},
			{
				Kind: history.Reply, Process: 1, Request: 2, Op: "children", Path: "/l", Zxid: 1,
				Facts: &history.Facts{Children: []history.Child{
					{Name: name, Process: 1, Live: true},
				}},
			},
		}}
		if text, err := written(lines.Write); err != nil ||
			!strings.Contains(text, "lists /l: "+test.want+"\n") {
			t.Errorf("error %v, want %q, got\n%s", err, test.want, text)
		}
	}
}

// At the minimum width there are no lanes, and texts continue on further lines.
func TestNarrow(t *testing.T) {
	lines := paused()
	lines.Width = 1
	expect(t, lines.Decisive, `
   3  0.002s  c1#0 created by c1
              [lock.go:42]
   6  0.004s  c1 HAS THE LOCK by c1#0,
              token 3
   7  0.004s  c1 ENTERS its critical
              section
  11  0.008s  c2 lists a: c1#0
  12  0.009s  FAULT cut c1, phase hold
              6 s later
  17  6.009s  c1's session expires: c1#0
              deleted
  19  6.010s  c2 HAS THE LOCK, token 5
! 20  6.010s  c2 ENTERS its critical
              section
! └ client-mutual-exclusion: c2 entered
!   while c1 was inside
!   c1 entered at event 7 by c1#0

nodes  c1#0 =
         /locks/a/_c_3f9a0c11d2e84b5f9a7
         766554433221f-lock-0000000000
shown  8 of 22 events
`)
}

func TestFitsEveryWidth(t *testing.T) {
	for width := timeline.MinimumWidth; width <= 130; width++ {
		for _, color := range []bool{false, true} {
			lines := paused()
			lines.Width, lines.Color = width, color
			for _, write := range []func() (string, error){
				func() (string, error) { return written(lines.Write) },
				func() (string, error) { return written(lines.Decisive) },
			} {
				text, err := write()
				if err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(escape.ReplaceAllString(text, "")) {
					if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
						t.Errorf("%d columns at width %d: %s", n, width, line)
					}
				}
			}
		}
	}
}

var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Colors change nothing but the escape sequences, and every one of them is ended.
func TestColor(t *testing.T) {
	plain, colored := paused(), paused()
	colored.Color = true
	want, _ := written(plain.Decisive)
	got, err := written(colored.Decisive)
	if err != nil || got == want || escape.ReplaceAllString(got, "") != want {
		t.Errorf("error %v, with colors:\n%q", err, got)
	}
	if begun := strings.Count(got, "\x1b["); begun != 2*strings.Count(got, "\x1b[0m") {
		t.Errorf("%d escape sequences, %d of them ends", begun, strings.Count(got, "\x1b[0m"))
	}
}

// Consecutive rows with the same text are one row, unless one of them breaks a property.
func TestRepeated(t *testing.T) {
	lines := timeline.Timeline{Violations: []*history.Violation{{
		Property: history.NoLivelock, Event: 4, Reason: "polls",
	}}}
	for range 6 {
		lines.Events = append(lines.Events,
			history.Event{Kind: history.Send, Process: 1, Op: "exists", Path: "/a"})
	}
	expect(t, lines.Write, `
             c1
  0  0.000s  ●  c1 sends exists /a (4 times, until event 3)
! 4  0.000s  ●  c1 sends exists /a
!            └ no-livelock: polls
  5  0.000s  ●  c1 sends exists /a

lanes  │ connected   ┊ not connected   ┃ has the lock, as far as it knows   ● event   ✂ fault   ! violation
`)
}

// Many rows with the same text between which time passes are one row.
func TestPaced(t *testing.T) {
	var lines timeline.Timeline
	for i := range 9 {
		lines.Events = append(lines.Events, history.Event{
			At: time.Duration(i) * time.Second, Kind: history.Send, Process: 1, Op: "exists",
			Path: "/a",
		})
	}
	lines.Events = append(lines.Events, history.Event{
		At: 9 * time.Second, Kind: history.Finished, Process: 1,
	})
	expect(t, lines.Write, `
             c1
  0  0.000s  ●  c1 sends exists /a (9 times, until event 8 at 8.000s)
             │  1 s later
  9  9.000s  ●  c1 is finished

lanes  │ connected   ┊ not connected   ┃ has the lock, as far as it knows   ● event   ✂ fault   ! violation
`)
}

// A process that waits for ever is shown at the end.
func TestStillWaits(t *testing.T) {
	lines := timeline.Timeline{
		Events: []history.Event{
			{Kind: history.LockCall, Process: 1, Attempt: 1}, {At: time.Hour, Kind: history.Tick},
		},
		Violations: []*history.Violation{{Property: history.Progress, Reason: "stuck"}},
		Show:       []int{0},
	}
	expect(t, lines.Decisive, `
               c1
!   0  0.000s  ●  c1 asks for the lock
!              └ progress: stuck
               │  60 minutes later
! end          ●  c1 STILL WAITS

lanes  │ connected   ┊ not connected   ┃ has the lock, as far as it knows   ● event   ✂ fault   ! violation
shown  1 of 2 events
`)
}

// A violation that no event shows says so.
func TestNoneDecisive(t *testing.T) {
	lines := timeline.Timeline{
		Events:     []history.Event{{Kind: history.LockCall, Process: 1, Attempt: 1}},
		Violations: []*history.Violation{{Property: "no-goroutine-leak", Reason: "leak"}},
	}
	expect(t, lines.Decisive, `
! └ no-goroutine-leak: leak

shown  none of 1 events: none shows how it came about
`)
}

// Names from a file must neither control the terminal nor break the layout.
func TestUnprintable(t *testing.T) {
	lines := timeline.Timeline{
		Events: []history.Event{{
			Kind: history.NodeDeleted, Process: 1, Path: "/a\x1b[2J\nb",
		}},
		Violations: []*history.Violation{{Property: "p\x1b", Reason: "r", Detail: "d\x1b"}},
	}
	text, err := written(lines.Write)
	if err != nil || strings.Contains(text, "\x1b") || strings.Count(text, "\n") != 5 {
		t.Errorf("error %v, text %q", err, text)
	}
}

func TestWriteError(t *testing.T) {
	lines := paused()
	if err := lines.Write(broken{}); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// Every kind of event has a sentence of its own, whatever fields it has.
func TestEveryKind(t *testing.T) {
	said := make(map[string]history.Kind)
	for kind := history.LockCall; kind <= history.ResourceWrite; kind++ {
		lines := timeline.Timeline{Events: []history.Event{{Kind: kind, Process: 1, Server: 1}}}
		text, err := written(lines.Write)
		if err != nil {
			t.Fatal(err)
		}
		at := strings.Index(text, "0  0.000s")
		row, _, _ := strings.Cut(text[max(at, 0):], "\n")
		if at < 0 && kind != history.Tick || kind != history.Finished &&
			strings.HasSuffix(row, " "+kind.String()) {
			t.Errorf("kind %v has no sentence: %s", kind, text)
		}
		if other, met := said[row]; met {
			t.Errorf("kinds %v and %v have the same sentence: %s", kind, other, row)
		}
		said[row] = kind
	}
}

func TestNames(t *testing.T) {
	created := func(process int32, path string) history.Event {
		return history.Event{Kind: history.NodeCreated, Process: process, Path: path}
	}
	names := timeline.NewNames([]history.Event{
		created(1, firstNode), created(2, secondNode), created(1, "/locks/b/n-0000000000"),
		created(1, "/locks/c"),
		created(2, "/locks/b/x__READ__0000000005"), created(2, "/locks/b/x__WRIT__0000000005"),
		created(3, "/locks/b/n-0000000009"), created(3, "/locks/b/n_0000000009"),
		created(1, "/locks/d/n-0000000000"), created(2, "/locks/d/abc-0000000001"),
	})
	for path, want := range map[string]string{
		firstNode: "a/c1#0", secondNode: "a/c2#1", "/locks/b/n-0000000000": "n/c1#0",
		"/locks/d/n-0000000000": "d/c1#0", "/locks/d/abc-0000000001": "d/c2#1",
		"/locks/c": "c", "/locks": "/locks",
		"/locks/b/x__READ__0000000005": "READ/c2#5", "/locks/b/x__WRIT__0000000005": "WRIT/c2#5",
		"/locks/b/n-0000000009": "1/n/c3#9", "/locks/b/n_0000000009": "2/n/c3#9",
		"/x/_c_41f9d639c82caba3093bc1fa2e5b20de-n-0000000007": "_c_41f9…-n-0000000007",
	} {
		if got := names.Of(path); got != want {
			t.Errorf("name of %s: %s, want %s", path, got, want)
		}
	}
	if got := names.In(fmt.Sprintf("%s is before %s", firstNode, secondNode)); got !=
		"a/c1#0 is before a/c2#1" {
		t.Errorf("got %q", got)
	}
}

func written(write func(io.Writer) error) (string, error) {
	var text bytes.Buffer
	err := write(&text)
	return text.String(), err
}

// expect compares what is written with a text that begins with a line feed.
func expect(t *testing.T, write func(io.Writer) error,
	want string,
) {
	t.Helper()
	got, err := written(write)
	if err != nil {
		t.Fatal(err)
	}
	if "\n"+got != want {
		t.Errorf("got\n%s\nwant%s", got, want)
	}
}

// Data are quoted; long data are cut between characters, and what is no text is escaped.
func TestData(t *testing.T) {
	yes, two := true, int32(2)
	read := func(data string) history.Event {
		return history.Event{
			Kind: history.Reply, Process: 1, Request: 1, Op: "get", Path: "/a", Zxid: 1,
			Facts: &history.Facts{Exists: &yes, Data: data, Stat: &history.Stat{Version: 2}},
		}
	}
	set := history.Event{
		Kind: history.Send, Process: 1, Request: 2, Op: "set", Path: "/a",
		Facts: &history.Facts{Data: "new", Version: &two},
	}
	lines := timeline.Timeline{Events: []history.Event{
		{Kind: history.Send, Process: 1, Request: 1, Op: "get", Path: "/a"},
		read(strings.Repeat("é", 32)), read(strings.Repeat("é", 33)), read("\x00\xff\"\u200b"),
		read(strings.Repeat("\xff", 99)), read(strings.Repeat(`"`, 17)), set,
		{
			Kind: history.Reply, Process: 1, Request: 2, Op: "set", Path: "/a", Zxid: 2,
			Err: "bad version",
		},
		{Kind: history.Send, Process: 2, Request: 1, Op: "get", Path: "/b"},
		{
			Kind: history.Reply, Process: 2, Request: 1, Op: "get", Path: "/b", Zxid: 2,
			Facts: &history.Facts{Exists: &yes, Stat: &history.Stat{}},
		},
	}}
	expect(t, lines.Write, `
             c1 c2
  0  0.000s  ●  │  c1 sends get /a
  1  0.000s  ●  │  c1's get /a: "éééééééééééééééééééééééééééééééé" (version 2)
  2  0.000s  ●  │  c1's get /a: "éééééééééééééééééééééééééééééééé"… (version 2)
  3  0.000s  ●  │  c1's get /a: "\x00\xff\"\u200b" (version 2)
  4  0.000s  ●  │  c1's get /a: "\xff\xff\xff\xff\xff\xff\xff\xff"… (version 2)
  5  0.000s  ●  │  c1's get /a: "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\""… (version 2)
  6  0.000s  ●  │  c1 sends set /a to "new", with a check of version 2
  7  0.000s  ●  │  c1's set /a to "new", with a check of version 2, is refused: bad version
  8  0.000s  │  ●  c2 sends get /b
  9  0.000s  │  ●  c2's get /b: it exists, empty

lanes  │ connected   ┊ not connected   ┃ has the lock, as far as it knows   ● event   ✂ fault   ! violation
`)
}
