package site_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/show/explore/site"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// The answer to scenario has one server if the scenario sets none.
func TestScenarioFormat(t *testing.T) {
	for servers, want := range map[int]string{0: "1", 3: "3"} {
		s := newScenario(t, "textbook", 2, "cut@hold=1,any=2")
		s.Servers, s.Subject.Summary = servers, "a lock"
		c := newClient(t, exploring(t, s, ""))
		r, err := http.Get(c.url + "api/scenario")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), s.String())
		if !strings.HasPrefix(string(text), `{"lock":"textbook","summary":"a lock","claims":["`) ||
			rest != `","clients":2,"cycles":1,"faults":"cut@hold=1,any=2","servers":`+want+
				`,"start":{"length":0,"deviations":[]}}`+"\n" {
			t.Errorf("%s", text)
		}
	}
}

// A client is what a page has: the URL of a server.
type client struct {
	t   *testing.T
	url string
}

// newClient returns a client of a server that explores the lock.
func newClient(t *testing.T, e *explore.Explorer) client {
	t.Helper()
	pages := (&site.Server{Explorer: e}).Site()
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	return client{t, pages.URL(server.Listener)}
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
	c := newClient(t, exploring(t, newScenario(t, "no-recheck", 3, "cut=1"), out))
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
		t.Fatalf("after %d steps: ended %v, violations %v", s.Length, s.Ended, s.Violations)
	}
	if len(s.Deviations) != 1 || s.Deviations[0].Index != 10 {
		t.Errorf("deviations %v", s.Deviations)
	}
	// The default policy takes the same way.
	var on explore.State
	c.post("run", body{Path: s.Path.To(11)}, http.StatusOK, &on)
	if on.Length != s.Length || on.TraceHash != s.TraceHash {
		t.Errorf("running on ends after %d steps, not %d", on.Length, s.Length)
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
	recorded := explore.Path{Length: engine.StepsMax, Deviations: append(r.Deviations,
		engine.Deviation{Index: 11, Step: step(t, "cut c1")})}
	path, skipped, err := e.Load(t.Context(), recorded)
	if err != nil || len(skipped) != 1 || len(path.Deviations) != 1 {
		t.Errorf("loaded %v, skipped %v, %v", path, skipped, err)
	}
}

// A schedule that violates nothing is saved as such. It leads to the same trace again, and can be
// explored further.
func TestSavePassing(t *testing.T) {
	out := t.TempDir()
	e := exploring(t, newScenario(t, "textbook", 2, "cut=1"), out)
	c := newClient(t, e)
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
	loaded, skipped, err := e.Load(t.Context(),
		explore.Path{Length: engine.StepsMax, Deviations: r.Deviations})
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
	c := newClient(t, newExplorer(t, "textbook", 2, "none"))
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
	c := newClient(t, newExplorer(t, "textbook", 2, "none"))
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
