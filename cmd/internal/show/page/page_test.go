package page_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/bundled/redislocks"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/show/page"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sizeMax is the maximum size of a page of 3,000 events, in bytes.
const sizeMax = 1_500_000

// reported returns the data of a history.
func reported(events []history.Event, violations ...*history.Violation) *page.Data {
	return page.New(page.About{Lock: "sample", Scenario: "sample, 2 clients × 1 cycles"},
		explain.NewReport("", timeline.Lock, events, violations))
}

// written returns a page as text.
func written(t *testing.T, data *page.Data) string {
	t.Helper()
	var text bytes.Buffer
	if err := (&page.Page{Data: data}).Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// smallHistory is a history in which c1 is granted the lock, c2 loses the reply to its create, and
// c2's session ends with its node, on which c1 has a watch.
func smallHistory() []history.Event {
	const one, two = "/lock/n-0000000000", "/lock/n-0000000001"
	return []history.Event{
		{Kind: history.SessionOpened, Process: 1, Zxid: 1, Session: 17},
		{Kind: history.SessionOpened, Process: 2, Zxid: 2, Session: 18},
		{Kind: history.LockCall, Process: 1, Attempt: 1},
		{
			Kind: history.Send, Process: 1, Request: 1, Op: "create", Path: "/lock/n-",
			Facts: &history.Facts{Line: "sample/lock.go:7", Data: "d"},
		},
		{Kind: history.NodeCreated, Process: 1, Zxid: 3, Session: 17, Path: one},
		{Kind: history.Serve, Process: 1, Request: 1, Zxid: 3, Op: "create", Path: "/lock/n-"},
		{Kind: history.Reply, Process: 1, Request: 1, Zxid: 3, Op: "create", Path: one},
		{Kind: history.LockReturn, Process: 1, Attempt: 1, Path: one},
		{Kind: history.Enter, Process: 1, Attempt: 1},
		{Kind: history.LockCall, Process: 2, Attempt: 1},
		{Kind: history.Send, Process: 2, Request: 1, Op: "create", Path: "/lock/n-"},
		{Kind: history.NodeCreated, Process: 2, Zxid: 4, Session: 18, Path: two},
		{Kind: history.Serve, Process: 2, Request: 1, Zxid: 4, Op: "create", Path: "/lock/n-"},
		{Kind: history.Fault, Process: 2, Name: "cut", Op: "create in flight"},
		{Kind: history.Reply, Process: 2, Request: 1, Op: "create", Err: "zk: connection closed"},
		{Kind: history.SessionState, Process: 2, Name: "disconnected", Session: 18},
		{Kind: history.Send, Process: 1, Request: 2, Op: "exists+watch", Path: two},
		{
			Kind: history.WatchArmed, Process: 1, Request: 2, Watch: 1, Path: two, Session: 17,
			Name: "data",
		},
		{Kind: history.Serve, Process: 1, Request: 2, Zxid: 4, Op: "exists+watch", Path: two},
		{Kind: history.Reply, Process: 1, Request: 2, Zxid: 4, Op: "exists+watch", Path: two},
		{At: 4e9, Kind: history.Tick},
		{At: 4e9, Kind: history.NodeDeleted, Process: 2, Zxid: 5, Session: 18, Path: two},
		{
			At: 4e9, Kind: history.WatchFired, Process: 1, Watch: 1, Path: two, Zxid: 5,
			Name: "deleted",
		},
		{At: 4e9, Kind: history.SessionExpired, Process: 2, Zxid: 5, Session: 18},
		{
			At: 4e9, Kind: history.WatchEvent, Process: 1, Watch: 1, Path: two, Zxid: 5,
			Name: "deleted",
		},
		{At: 4e9, Kind: history.Lost, Process: 1, Attempt: 1},
		{At: 4e9, Kind: history.Leave, Process: 1, Attempt: 1},
		{At: 4e9, Kind: history.UnlockCall, Process: 1, Attempt: 1},
		{At: 4e9, Kind: history.UnlockReturn, Process: 1, Attempt: 1},
		{At: 4e9, Kind: history.Finished, Process: 1},
	}
}

// The data of a small history are as recorded: lanes, states, arrows, bars, and why.
func TestData(t *testing.T) {
	data := reported(smallHistory(), &history.Violation{
		Property: history.Progress, Event: 9, Reason: "a process waits for the lock for ever",
		Detail: "c2: lock-call of attempt 1 never returned",
	})
	content, err := json.MarshalIndent(data, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	content = append(content, '\n')
	golden := filepath.Join("testdata", "small.json")
	if *update {
		if err := os.WriteFile(golden, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(content, want) {
		t.Errorf("the data differ from %s; see them with -update", golden)
	}
}

// Names cannot break out of the data: the page has two scripts, whose hashes it declares, and the
// data are those that went in.
func TestHostileNames(t *testing.T) {
	hostile := []string{
		"</script><script>alert(1)</script>", "<!--", "]]>", "\u2028\u2029", `"\`, "'&<>",
		"\x00\x1b[2J", "${alert(1)}", "</title><b>",
	}
	for _, name := range hostile {
		events := []history.Event{
			{Kind: history.NodeCreated, Process: 1, Zxid: 1, Session: 1, Path: "/" + name + "/n-0000000000"},
			{
				Kind: history.Send, Process: 1, Request: 1, Op: name, Path: "/" + name,
				Facts: &history.Facts{Line: name, Data: name},
			},
			{Kind: history.Fault, Process: 1, Name: name, Op: name},
			{Kind: history.LockReturn, Process: 1, Err: name},
		}
		data := page.New(page.About{Lock: name, Scenario: name, Replay: name},
			explain.NewReport("", timeline.Lock, events, []*history.Violation{{
				Property: history.Property(name), Event: 3, Reason: name, Detail: name,
			}}))
		text := written(t, data)
		if n := strings.Count(text, "<script>"); n != 2 {
			t.Errorf("%q: %d scripts", name, n)
		}
		if n := strings.Count(text, "</script>"); n != 2 {
			t.Errorf("%q: %d ends of scripts", name, n)
		}
		if n := strings.Count(text, "<b>"); n != 0 {
			t.Errorf("%q: a tag from the title", name)
		}
		match := regexp.MustCompile(`<script>window\.interlock = (.*)</script>`).FindStringSubmatch(text)
		if match == nil {
			t.Fatalf("%q: no data", name)
		}
		var shown page.Page
		if err := json.Unmarshal([]byte(match[1]), &shown); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if shown.Data.About.Lock != name || shown.Data.Nodes[0].Path != "/"+name+"/n-0000000000" {
			t.Errorf("%q became %q and %q", name, shown.Data.About.Lock, shown.Data.Nodes[0].Path)
		}
	}
}

// Equal runs have equal pages, and a page has nothing that a browser would load.
func TestSelfContained(t *testing.T) {
	text := written(t, brokenLock(t))
	if text != written(t, brokenLock(t)) {
		t.Error("two pages of one run differ")
	}
	for _, pattern := range []string{`src=`, `@import`, `url\(`, `https?://[^"' ]+`} {
		for _, found := range regexp.MustCompile(pattern).FindAllString(text, -1) {
			if !strings.HasPrefix(found, "http://www.w3.org/") { // Names of XML name spaces.
				t.Errorf("the page contains %q", found)
			}
		}
	}
}

// The likelihood of steps becomes that of events: each point is the last event before its
// step, and each step the first event to which it led.
func TestLikelihoodByEvent(t *testing.T) {
	data, report, result := likelyLock(t)
	l := report.Likelihood
	if len(result.Starts) != result.Steps || !slices.IsSorted(result.Starts) {
		t.Fatalf("%d steps begin with the events %v", result.Steps, result.Starts)
	}
	if len(data.Likelihood.Curve) != len(l.Curve) ||
		data.Likelihood.Text != report.LikelihoodText() {
		t.Fatalf("%+v", data.Likelihood)
	}
	for i, point := range data.Likelihood.Curve {
		if was := l.Curve[i]; point.Probability != was.Probability ||
			point.Step != result.Starts[was.Step]-1 {
			t.Errorf("point %d is %+v, of %+v", i, point, was)
		}
	}
	cut := slices.IndexFunc(data.Steps, func(s page.Step) bool { return s.Kind == history.Fault })
	if result.Starts[10] != cut {
		t.Errorf("step 10 begins with event %d, and cuts at event %d", result.Starts[10], cut)
	}
	if d := data.Likelihood.Jump; d.Number != l.Jump.Step || d.Text != l.Jump.Taken ||
		d.Step != result.Starts[d.Number] {
		t.Errorf("the jump is %+v, of %+v", d, l.Jump)
	}
	if d := data.Likelihood.Avoidable; d.Number != l.Avoidable.Step ||
		d.Text != l.Avoidable.Instead+" instead of "+l.Avoidable.Taken {
		t.Errorf("avoidable is %+v, of %+v", d, l.Avoidable)
	}
	if brokenLock(t).Likelihood != nil {
		t.Error("a report without likelihood has one on the page")
	}
}

// The data of random runs are consistent: indexes are of rows that exist, bars and arrows go
// forward, and the state follows the history.
func TestConsistent(t *testing.T) {
	for _, subject := range long.Sample(bundled.All(), 16) {
		for _, servers := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", subject.Name, servers), func(t *testing.T) {
				for schedule := range 5 {
					result, report := randomRun(t, subject, 3, 2, servers, schedule)
					consistent(t, page.New(page.About{}, report), result.Events)
				}
			})
		}
	}
}

func consistent(t *testing.T, d *page.Data, events []history.Event) {
	t.Helper()
	if len(d.Steps) != len(events) {
		t.Fatalf("%d steps of %d events", len(d.Steps), len(events))
	}
	in := func(what string, index, length int) {
		if index < -1 || index >= length {
			t.Errorf("%s: %d is not the index of one of %d", what, index, length)
		}
	}
	live := make(map[int]bool) // by the index of the node
	for i, s := range d.Steps {
		in("lane", s.Lane, len(d.Lanes))
		if s.Text == "" {
			t.Errorf("step %d has no text", i)
		}
		if s.Change == nil {
			continue
		}
		for _, n := range s.Change.Nodes {
			in("node", n.ID, len(d.Nodes))
			live[n.ID] = !n.Gone
		}
		for _, p := range s.Change.Processes {
			if p.Belief == page.Holds && p.Node != nil && d.Nodes[*p.Node].Path == "" {
				t.Errorf("step %d: c%d holds the lock by no node", i, p.ID)
			}
		}
	}
	want := make(map[string]bool)
	for i := range events {
		switch e := &events[i]; e.Kind {
		case history.NodeCreated, history.NodeChanged:
			want[e.Path] = true
		case history.NodeDeleted:
			want[e.Path] = false
		}
	}
	for n, node := range d.Nodes {
		if live[n] != want[node.Path] {
			t.Errorf("at the end %s exists: %v, want %v", node.Path, live[n], want[node.Path])
		}
	}
	for _, a := range d.Arrows {
		in("arrow", a.From, len(d.Steps))
		in("arrow", a.To, len(d.Steps))
		in("arrow", a.Lane, len(d.Lanes))
		if a.To >= 0 && (a.To <= a.From || d.Steps[a.To].Lane != a.Lane) {
			t.Errorf("arrow %+v", a)
		}
	}
	for _, b := range d.Bars {
		in("bar", b.Lane, len(d.Lanes))
		if b.To >= 0 && b.To < b.From {
			t.Errorf("bar %+v", b)
		}
	}
	if !slices.IsSorted(d.Decisive) {
		t.Errorf("the decisive steps %v are not sorted", d.Decisive)
	}
}

// longRun returns a run of at least 3,000 events.
func longRun(t *testing.T) *page.Data {
	t.Helper()
	result, report := randomRun(t, subjects.Textbook(), 6, 40, 1, 3)
	if len(result.Events) < 3000 {
		t.Fatalf("the run has only %d events", len(result.Events))
	}
	return page.New(page.About{Lock: "textbook", Scenario: "long"},
		explain.NewReport("", timeline.Lock, result.Events[:3000], report.Timeline.Violations))
}

// A page of 3,000 events has at most 1.5 MB.
func TestSize(t *testing.T) {
	size := len(written(t, longRun(t)))
	t.Logf("%d bytes", size)
	if size > sizeMax {
		t.Errorf("%d bytes, want at most %d", size, sizeMax)
	}
}

// A lock on Redis has arrows for its commands and their answers, and what happens in a server is in
// the lane of the server.
func TestMessagesOfRedis(t *testing.T) {
	result, report := randomRun(t, redislocks.SetNXRenew(), 2, 1, 1, 3)
	data := page.New(page.About{}, report)
	consistent(t, data, result.Events)
	arrows := map[string]int{}
	for _, a := range data.Arrows {
		arrows[a.Kind]++
	}
	if arrows[page.Request] == 0 || arrows[page.Reply] == 0 {
		t.Errorf("arrows %v", arrows)
	}
	for i := range result.Events {
		if of := data.Lanes[max(0, data.Steps[i].Lane)]; result.Events[i].Kind.InServer() &&
			of.Kind == page.Process {
			t.Errorf("event %d, %s, is in the lane of %s", i, data.Steps[i].Text, of.Name)
		}
	}
}
