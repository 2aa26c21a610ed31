package explore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/show/explore"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// newScenario returns a scenario of a bundled lock with one cycle.
func newScenario(t *testing.T, lock string, clients int, plan string) scenarios.Scenario {
	t.Helper()
	subject, err := bundled.Named(lock)
	if err != nil {
		t.Fatal(err)
	}
	s := scenarios.Scenario{Subject: subject, Clients: clients, Cycles: 1}
	if subject.Real {
		s.Client = scenarios.Real
	}
	if s.Faults, err = faults.Parse(plan); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

func newExplorer(t *testing.T, lock string, clients int, plan string) *explore.Explorer {
	t.Helper()
	return explore.New(engine.NewRunner(t), newScenario(t, lock, clients, plan))
}

func step(t *testing.T, name string) sim.Step {
	t.Helper()
	s, err := sim.ParseStep(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// must returns a state, which must exist.
func must(t *testing.T) func(*explore.State, error) *explore.State {
	t.Helper()
	return func(s *explore.State, err error) *explore.State {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// usual returns the step that the default policy takes.
func usual(t *testing.T, s *explore.State) explore.Choice {
	t.Helper()
	i := slices.IndexFunc(s.Enabled, func(c explore.Choice) bool { return c.Default })
	if i < 0 {
		t.Fatalf("no default among %v", s.Enabled)
	}
	return s.Enabled[i]
}

// Choosing the default step again and again leads through the run that the engine performs by
// itself, to the same events.
func TestDefaultPathIsTheRun(t *testing.T) {
	e, ctx := newExplorer(t, "textbook", 2, "none"), t.Context()
	whole := engine.NewRunner(t).Run(e.Scenario(), new(engine.Replay))
	s := must(t)(e.At(ctx, explore.Path{}))
	for !s.Ended {
		if len(s.Deviations) > 0 || s.Length > whole.Steps {
			t.Fatalf("after %d decisions: %v", s.Length, s.Deviations)
		}
		next := must(t)(e.Choose(ctx, s.Path, usual(t, s).Step))
		if next.Length != s.Length+1 || len(next.Events) < len(s.Events) {
			t.Fatalf("from %d decisions, %d events to %d, %d", s.Length, len(s.Events), next.Length,
				len(next.Events))
		}
		s = next
	}
	if s.TraceHash != engine.TraceHash(whole.TraceHash) || len(s.Violations) > 0 {
		t.Errorf("trace hash %v, not %016x; violations %v", s.TraceHash, whole.TraceHash,
			s.Violations)
	}
	if last := must(t)(e.At(ctx, explore.Path{Length: 2000})); last.Length != s.Length {
		t.Errorf("a path that is too long ends after %d decisions, not %d", last.Length, s.Length)
	}
}

// A path that goes back and comes again leads to the same state.
func TestStateDependsOnThePathAlone(t *testing.T) {
	e, ctx := newExplorer(t, "no-recheck", 3, "cut=1"), t.Context()
	path := explore.Path{Length: 30, Deviations: []engine.Deviation{
		{Index: 4, Step: step(t, "deliver c3")}, {Index: 10, Step: step(t, "cut c2")},
	}}
	first := encoded(t, must(t)(e.At(ctx, path)))
	shorter := must(t)(e.At(ctx, path.To(8)))
	if len(shorter.Deviations) != 1 || shorter.Length != 8 {
		t.Errorf("back at %v", shorter.Path)
	}
	if again := encoded(t, must(t)(e.At(ctx, path))); !bytes.Equal(first, again) {
		t.Error("the same path leads to another state")
	}
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A state shows the znodes, who waits for what, and who believes that it holds the lock.
func TestStateForPeople(t *testing.T) {
	e, ctx := newExplorer(t, "textbook", 2, "none"), t.Context()
	s := must(t)(e.At(ctx, explore.Path{}))
	for !s.Ended && !slices.ContainsFunc(s.Processes, func(p explore.Process) bool {
		return p.Inside
	}) {
		s = must(t)(e.Choose(ctx, s.Path, usual(t, s).Step))
	}
	if s.Ended {
		t.Fatal("no process ever enters its critical section")
	}
	if p := s.Processes[0]; !p.Believes || p.Node != "c1#0" || !p.NodeLive ||
		p.Text != "has the lock by c1#0; in its critical section" {
		t.Errorf("c1: %+v", p)
	}
	if p := s.Processes[1]; p.Believes ||
		p.Text != "asks for the lock, waits for its watch on c1#0" {
		t.Errorf("c2: %+v", p)
	}
	if len(s.Queue) != 2 || s.Queue[0].Name != "c1#0" || s.Queue[1].Process != 2 {
		t.Errorf("queue %v", s.Queue)
	}
	system := s.System
	if len(system.Nodes) != 3 || system.Nodes[0].Path != "/lock" ||
		system.Nodes[1].Session != system.Sessions[0].ID || len(system.Watches) != 1 ||
		system.Watches[0].Process != 2 || len(system.Servers) != 1 || !system.Servers[0].Leader {
		t.Errorf("system %+v", system)
	}
	listed := slices.ContainsFunc(s.Events, func(e explore.Event) bool {
		return e.Facts != nil && len(e.Facts.Children) == 2 && e.Text != ""
	})
	if !listed {
		t.Error("no event has the facts of a listing")
	}
}

// The state of Redis servers has their keys, with values and expiry, and what is in flight.
func TestStateOfRedis(t *testing.T) {
	e, ctx := newExplorer(t, "setnx-lease", 2, "none"), t.Context()
	s := must(t)(e.At(ctx, explore.Path{}))
	if s.System.Keys == nil || len(s.System.Keys) != 0 {
		t.Errorf("system %+v", s.System)
	}
	if first := s.System.Peers[0]; len(first.Requests) != 1 ||
		!strings.HasPrefix(first.Requests[0], "SET lock ") {
		t.Errorf("c1: %+v", first)
	}
	s = must(t)(e.Choose(ctx, s.Path, step(t, "serve c1")))
	want := sim.Key{
		Name: "lock", Value: s.System.Keys[0].Value, Process: 1, Server: 1,
		Expires: 500 * time.Millisecond,
	}
	if got := s.System.Keys; len(got) != 1 || got[0] != want || want.Value == "" {
		t.Errorf("keys %+v, want %+v", got, want)
	}
	if first := s.System.Peers[0]; len(first.Requests) != 0 || len(first.Messages) != 1 ||
		!strings.HasSuffix(first.Messages[0], " gives OK") {
		t.Errorf("c1: %+v", first)
	}
}

// Every bundled lock can be explored, with a fault if one is possible, and comes to the same state
// each time.
func TestEveryLock(t *testing.T) {
	for _, subject := range bundled.All() {
		if subject.Real && real.RaceDetector || subject.Name == "spin" {
			// The real client is nondeterministic under the race detector. The run of a lock that
			// spins has a hundred thousand events.
			continue
		}
		t.Run(subject.Name, func(t *testing.T) {
			scenario := newScenario(t, subject.Name, 2, "any=1")
			e, ctx := explore.New(engine.NewRunner(t), scenario), t.Context()
			s := must(t)(e.At(ctx, explore.Path{Length: 10}))
			fault := slices.IndexFunc(s.Enabled, func(c explore.Choice) bool { return c.Fault })
			if fault < 0 {
				t.Fatalf("no fault among %v", s.Enabled)
			}
			s = must(t)(e.Choose(ctx, s.Path, s.Enabled[fault].Step))
			end := must(t)(e.RunOn(ctx, s.Path))
			again := must(t)(e.At(ctx, end.Path))
			if !bytes.Equal(encoded(t, end), encoded(t, again)) {
				t.Error("the same path leads to another state")
			}
			for _, p := range end.Processes {
				if p.Text == "" {
					t.Errorf("nothing is said of the state of c%d", p.Process)
				}
			}
		})
	}
}

// A random walk, through crashes, restarts and elections, never leaves what can be explored: each
// step that a state offers can be taken, and adds to the events.
func TestRandomWalk(t *testing.T) {
	for _, lock := range []string{"mutex", "no-guid", "semaphore", "reentrant"} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("%s/%d", lock, seed), func(t *testing.T) {
				scenario := newScenario(t, lock, 3, "any=4,restart=1,cancel=1")
				scenario.Servers, scenario.Cycles = 3, 2
				e := explore.New(engine.NewRunner(t), scenario)
				draw := rand.New(rand.NewPCG(seed, 0))
				s := must(t)(e.At(t.Context(), explore.Path{}))
				for s.Length < 80 && !s.Ended {
					choices := slices.DeleteFunc(s.Enabled, func(c explore.Choice) bool {
						return c.Step.Kind == sim.Fair
					})
					choice := choices[draw.IntN(len(choices))]
					next := must(t)(e.Choose(t.Context(), s.Path, choice.Step))
					if next.Length != s.Length+1 || next.Taken[s.Length].Step != choice.Step ||
						next.Taken[s.Length].Deviates == choice.Default ||
						!sameStart(s.Events, next.Events) {
						t.Fatalf("after %d decisions, %v leads to %v", s.Length, choice, next.Path)
					}
					s = next
				}
				if len(s.Processes) < 3 || len(s.System.Servers) != 3 ||
					len(s.System.Peers) != len(s.Processes) {
					t.Errorf("%d processes, %+v", len(s.Processes), s.System)
				}
			})
		}
	}
}

// sameStart reports whether a longer history begins with the kinds and numbers of a shorter one.
func sameStart(shorter, longer []explore.Event) bool {
	for i := range shorter {
		if i >= len(longer) || shorter[i].Kind != longer[i].Kind || shorter[i].At != longer[i].At ||
			shorter[i].Process != longer[i].Process || shorter[i].Number != i {
			return false
		}
	}
	return true
}

// A step that is not enabled, or a schedule that does not reach its step, is an error that says so.
func TestBadPaths(t *testing.T) {
	e, ctx := newExplorer(t, "textbook", 1, "none"), t.Context()
	for _, tc := range []struct {
		path explore.Path
		want string
	}{
		{explore.Path{Length: -1}, "from 0 to 2000, not -1"},
		{explore.Path{Length: 2001}, "from 0 to 2000, not 2001"},
		{explore.Path{Length: 1, Deviations: []engine.Deviation{
			{Index: 0, Step: step(t, "enter c1")},
		}}, "step 0, enter c1, is not enabled; enabled are serve c1, tick"},
		{explore.Path{Length: 2000, Deviations: []engine.Deviation{
			{Index: 1900, Step: step(t, "tick")},
		}}, "step 1900, tick, is not reached: the run ends after "},
		{explore.Path{Length: 9, Deviations: []engine.Deviation{
			{Index: 3, Step: step(t, "tick")}, {Index: 3, Step: step(t, "tick")},
		}}, "index 3 is not greater"},
	} {
		_, err := e.At(ctx, tc.path)
		var bad *explore.BadPath
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v", tc.path, err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := e.At(cancelled, explore.Path{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The fair phase can be chosen at any time. It ends the run and shows who waits forever.
func TestFairPhaseShowsProgress(t *testing.T) {
	e, ctx := newExplorer(t, "exists-then-wait", 2, "none"), t.Context()
	// c1 enters and leaves its critical section between two requests of c2.
	path := explore.Path{Length: 2000, Deviations: []engine.Deviation{
		{Index: 7, Step: step(t, "enter c1")}, {Index: 8, Step: step(t, "leave c1")},
	}}
	s := must(t)(e.At(ctx, path))
	if !s.Ended || len(s.Violations) == 0 || s.Violations[0].Property != history.Progress {
		t.Fatalf("ended %v, violations %v", s.Ended, s.Violations)
	}
	last := path.Deviations[len(path.Deviations)-1].Index
	before := must(t)(e.At(ctx, path.To(last+1)))
	if before.Ended || len(before.Violations) > 0 {
		t.Fatalf("before the fair phase: ended %v, violations %v", before.Ended, before.Violations)
	}
	fair := must(t)(e.Choose(ctx, before.Path, step(t, "fair")))
	if !fair.Ended || fair.Length != last+2 || len(fair.Violations) == 0 ||
		fair.Violations[0].Property != history.Progress {
		t.Errorf("after the fair phase: %v, violations %v", fair.Path, fair.Violations)
	}
	if on := must(t)(e.RunOn(ctx, before.Path)); !on.Ended ||
		!bytes.Equal(encoded(t, on), encoded(t, s)) {
		t.Error("the default policy leads elsewhere than the whole schedule")
	}
}

// A client is what a page has: the URL of a server.
type client struct {
	t   *testing.T
	url string
}

// newClient returns a client of a server that explores the lock and saves below out.
func newClient(t *testing.T, e *explore.Explorer, out string) client {
	t.Helper()
	s := &explore.Server{
		Explorer: e, Out: out, ReplayBy: func(path string) string { return "replay " + path },
	}
	site := s.Site()
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	return client{t, site.URL(server.Listener)}
}

// post sends a request, which must have the status, and decodes the answer.
func (c client) post(what string, body any, status int, answer any) {
	c.t.Helper()
	r, err := http.Post(c.url+"api/"+what, "application/json", bytes.NewReader(encoded(c.t, body)))
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil || r.StatusCode != status {
		c.t.Fatalf("%s: %v, status %d: %s", what, err, r.StatusCode, text)
	}
}

// A body is that of a request.
type body struct {
	explore.Path
	Step string `json:"step,omitempty"`
}

// The violation of no-recheck is reached by hand-picked steps over HTTP. The saved schedule replays
// to the same trace.
func TestNoRecheckByHand(t *testing.T) {
	out := t.TempDir()
	c := newClient(t, newExplorer(t, "no-recheck", 3, "cut=1"), out)
	var s explore.State
	c.post("state", body{}, http.StatusOK, &s)
	for !s.Ended && len(s.Violations) == 0 {
		pick := usual(t, &s).Step
		if s.Length == 10 {
			pick = step(t, "cut c2")
		}
		path := s.Path
		s = explore.State{}
		c.post("choose", body{path, pick.String()}, http.StatusOK, &s)
	}
	if len(s.Violations) == 0 || s.Ended ||
		s.Violations[0].Property != history.ServerMutualExclusion ||
		!strings.Contains(s.Violations[0].Why, "without listing again") {
		t.Fatalf("after %d decisions: ended %v, violations %v", s.Length, s.Ended, s.Violations)
	}
	if len(s.Deviations) != 1 || s.Deviations[0].Index != 10 {
		t.Errorf("deviations %v", s.Deviations)
	}
	// The default policy takes the same way.
	var on explore.State
	c.post("run", body{Path: s.Path.To(11)}, http.StatusOK, &on)
	if on.Length != s.Length || on.TraceHash != s.TraceHash {
		t.Errorf("running on ends after %d decisions, not %d", on.Length, s.Length)
	}

	var saved explore.Saved
	c.post("save", body{Path: s.Path}, http.StatusOK, &saved)
	if saved.Replay != "replay "+saved.Directory || filepath.Dir(saved.Directory) != out {
		t.Errorf("%+v", saved)
	}
	r, err := recording.Read(filepath.Join(saved.Directory, "schedule.json"))
	if err != nil {
		t.Fatal(err)
	}
	if r.TraceHash != saved.TraceHash || r.Signature != s.Violations[0].Signature ||
		r.Property != saved.Property {
		t.Errorf("recorded %v %s, not %+v", r.TraceHash, r.Signature, saved)
	}
	scenario := newScenario(t, r.Lock, r.Clients, r.Faults.String())
	again := engine.NewRunner(t).Run(&scenario, &engine.Replay{Deviations: r.Deviations})
	if engine.TraceHash(again.TraceHash) != r.TraceHash || len(again.Violations) == 0 {
		t.Errorf("replayed to %016x with %d violations, recorded %v", again.TraceHash,
			len(again.Violations), r.TraceHash)
	}
	if trace, err := os.ReadFile(filepath.Join(saved.Directory, "trace.jsonl")); err != nil ||
		!bytes.Contains(trace, []byte(`"facts"`)) {
		t.Errorf("the trace has no facts (%v)", err)
	}

	// A recording begins where it was saved.
	e := newExplorer(t, "no-recheck", 3, "cut=1")
	path, skipped, err := e.Load(t.Context(), append(r.Deviations, engine.Deviation{
		Index: 11, Step: step(t, "cut c1"),
	}))
	if err != nil || len(skipped) != 1 || len(path.Deviations) != 1 {
		t.Errorf("loaded %v, skipped %v, %v", path, skipped, err)
	}
}

// A schedule that violates nothing is saved as such. It leads to the same trace again, and can be
// explored further.
func TestSavePassing(t *testing.T) {
	out := t.TempDir()
	e := newExplorer(t, "textbook", 2, "cut=1")
	c := newClient(t, e, out)
	var saved explore.Saved
	path := explore.Path{Length: 11, Deviations: []engine.Deviation{
		{Index: 6, Step: step(t, "cut c2")},
	}}
	c.post("save", body{Path: path}, http.StatusOK, &saved)
	if saved.Property != "" || saved.Signature != "" || saved.Directory != filepath.Join(out,
		"textbook-no-violation-"+saved.TraceHash.String()) {
		t.Errorf("%+v", saved)
	}
	r, err := recording.Read(saved.Directory)
	if err != nil {
		t.Fatal(err)
	}
	if r.Violates() || r.TraceHash != saved.TraceHash || !slices.Equal(r.Deviations,
		path.Deviations) {
		t.Errorf("recorded %+v", r)
	}
	loaded, skipped, err := e.Load(t.Context(), r.Deviations)
	if err != nil || len(skipped) > 0 {
		t.Fatalf("loaded with %v skipped, %v", skipped, err)
	}
	end := must(t)(e.At(t.Context(), loaded))
	if !end.Ended || end.TraceHash != r.TraceHash || len(end.Violations) > 0 {
		t.Errorf("ended %v with trace hash %v and violations %v, recorded %v", end.Ended,
			end.TraceHash, end.Violations, r.TraceHash)
	}
	for name, want := range map[string]string{
		"report.json": `"violations": []`, "timeline.txt": "c1 HAS THE LOCK",
		"timeline.html": `"violations":[]`, "trace.jsonl": `"facts"`,
	} {
		content, err := os.ReadFile(filepath.Join(saved.Directory, name))
		if err != nil || !bytes.Contains(content, []byte(want)) {
			t.Errorf("%s lacks %q (%v)", name, want, err)
		}
	}
}

// Malformed requests are refused.
func TestRefusedRequests(t *testing.T) {
	c := newClient(t, newExplorer(t, "textbook", 2, "none"), t.TempDir())
	var refused struct{ Error string }
	for _, tc := range []struct {
		what string
		body any
		want string
	}{
		{"state", "text", "malformed"},
		{"state", map[string]any{"length": 1, "depth": 2}, "unknown field"},
		{"choose", body{}, "choose needs a step"},
		{"choose", body{Step: "dance c1"}, "not the name of a step"},
		{"choose", body{Step: "cut c1"}, "step 0, cut c1, is not enabled"},
		{"run", body{Path: explore.Path{Length: -5}}, "not -5"},
	} {
		c.post(tc.what, tc.body, http.StatusBadRequest, &refused)
		if !strings.Contains(refused.Error, tc.want) {
			t.Errorf("%s %v: %s", tc.what, tc.body, refused.Error)
		}
	}
}

// Only requests with the secret path and the name of this machine are answered.
func TestSecret(t *testing.T) {
	c := newClient(t, newExplorer(t, "textbook", 2, "none"), t.TempDir())
	root := c.url[:strings.LastIndexByte(strings.TrimSuffix(c.url, "/"), '/')+1]
	for _, tc := range []struct {
		url, host string
		status    int
	}{
		{c.url, "", http.StatusOK},
		{c.url + "api/scenario", "", http.StatusOK},
		{c.url, "localhost:80", http.StatusOK},
		{c.url, "[::1]", http.StatusOK},
		{c.url, "evil.example", http.StatusForbidden},
		{c.url, "evil.example:80", http.StatusForbidden},
		{c.url, "10.0.0.1:80", http.StatusForbidden},
		{root, "", http.StatusNotFound},
		{root + "api/scenario", "", http.StatusNotFound},
		{root + strings.Repeat("A", len(c.url)-len(root)-1) + "/", "", http.StatusNotFound},
		{c.url + "elsewhere", "", http.StatusNotFound},
		{c.url + "api/state", "", http.StatusMethodNotAllowed},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tc.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.host != "" {
			request.Host = tc.host
		}
		r, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != tc.status {
			t.Errorf("%s of host %q: status %d, not %d", tc.url, tc.host, r.StatusCode, tc.status)
		}
		if r.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: the secret path may leave in a referrer", tc.url)
		}
	}
}
