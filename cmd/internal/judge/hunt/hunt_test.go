package hunt

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
)

// newHunt returns a hunt of locks, with turns of 64 schedules, until the end of the test.
func newHunt(t *testing.T, directory string, locks ...string) *Hunt {
	t.Helper()
	h := &Hunt{
		Directory: directory, Seed: 1, ReplayBy: func(string) string { return "replay" },
		Progress: judge.NewProgress(io.Discard),
	}
	for _, lock := range locks {
		h.Targets = append(h.Targets, Target{
			Name: lock, Schedules: 64, Workers: 1,
			Configurations: []campaign.Configuration{{
				Scenario: locktest.Planned(t, locktest.Find(t, lock, bundled.All()), 2, 1, "none"), Weight: 1,
			}},
		})
	}
	if err := h.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() }) // It may be closed.
	return h
}

// run takes turns of a hunt, and returns the signatures of the failures that were found.
func run(t *testing.T, h *Hunt, turns int) (found []string) {
	t.Helper()
	var said strings.Builder
	h.Turns, h.Progress = turns, judge.NewProgress(&said)
	if err := h.Run(t.Context(), t); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(said.String()) {
		if _, signature, isFound := strings.Cut(line, ": VIOLATION "); isFound {
			found = append(found, strings.TrimSpace(signature))
		}
	}
	return found
}

// A hunt continues where an earlier one in its directory was, and each failure is found once.
func TestHunt(t *testing.T) {
	directory := t.TempDir()
	h := newHunt(t, directory, "textbook", "exists-then-wait")
	first := run(t, h, 2)
	if len(first) == 0 {
		t.Fatal("the broken lock passes")
	}
	before := h.Status()
	correct, broken := before.Locks[0], before.Locks[1]
	if before.Schedules != 128 || correct.Schedules != 64 || len(correct.Failures) > 0 ||
		correct.Behaviours == 0 || len(broken.Failures) != len(first) {
		t.Errorf("status %+v", before)
	}
	for _, f := range broken.Failures {
		page := filepath.Join(h.FailuresDirectory(), f.Directory, "timeline.html")
		if _, err := os.Stat(page); err != nil || f.Directory == "" {
			t.Errorf("%s: %v", f.Signature, err)
		}
	}
	h.Close()
	h = newHunt(t, directory, "textbook", "exists-then-wait")
	for _, again := range run(t, h, 4) {
		if slices.Contains(first, again) {
			t.Errorf("%q was found again", again)
		}
	}
	after := h.Status()
	for i, f := range after.Locks {
		old := before.Locks[i]
		if f.Turns <= old.Turns || f.Schedules != 64*f.Turns || f.Behaviours < old.Behaviours ||
			f.Behaviours >= 2*old.Behaviours {
			t.Errorf("%s: %+v after %+v", f.Lock, f, old)
		}
	}
	if now := after.Locks[1].Failures[0]; now.Signature != broken.Failures[0].Signature ||
		now.Schedules <= broken.Failures[0].Schedules {
		t.Errorf("failure %+v after %+v", now, broken.Failures[0])
	}
}

// A failure whose cause is known is not found again, and one with another cause is new.
func TestNewCause(t *testing.T) {
	directory := t.TempDir()
	turn := func(ways ...string) []string {
		h := newHunt(t, directory)
		h.Close()
		h.Targets = []Target{{
			Name: "causes", Schedules: 1000, Workers: 1, Configurations: []campaign.Configuration{{
				Scenario: *locktest.Scenario(locktest.Causes(ways...), 2, 2, 2), Weight: 1,
			}},
		}}
		if err := h.Open(); err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		return run(t, h, 1)
	}
	if found := turn(locktest.TakesUnanswered); len(found) != 1 {
		t.Fatalf("found %q", found)
	}
	if again := turn(locktest.TakesUnanswered); len(again) > 0 {
		t.Errorf("%q was found again", again)
	}
	if other := turn(locktest.TakesUnanswered, locktest.TakesDeleted); len(other) != 1 {
		t.Errorf("found %q, want one with another cause", other)
	}
}

// A directory belongs to one hunt at a time.
func TestOneHuntPerDirectory(t *testing.T) {
	h := newHunt(t, t.TempDir(), "textbook")
	other := &Hunt{Directory: h.Directory}
	want := fmt.Sprintf("the hunt of process %d is using %s", os.Getpid(), h.Directory)
	if err := other.Open(); err == nil || err.Error() != want {
		t.Errorf("error %v, not %s", err, want)
	}
	h.Close()
	if err := other.Open(); err != nil {
		t.Fatal(err)
	}
	other.Close()
}

// A turn mutates the schedules in which earlier turns have shown new behaviour. Those of
// configurations that are hunted no longer are left out.
func TestMutants(t *testing.T) {
	directory := t.TempDir()
	mutants := func(h *Hunt) Yield { return h.Status().Locks[0].Strategies[strategy.MutantName] }
	h := newHunt(t, directory, "textbook")
	run(t, h, 1)
	if f := h.Status().Locks[0]; f.Kept == 0 || mutants(h) != (Yield{}) {
		t.Errorf("%d schedules kept; %+v", f.Kept, mutants(h))
	}
	h.Close()
	h = newHunt(t, directory, "textbook")
	h.Targets[0].Configurations[0].Clients = 3
	run(t, h, 1)
	if mutants(h) != (Yield{}) {
		t.Errorf("schedules of another configuration were mutated: %+v", mutants(h))
	}
	run(t, h, 1)
	total := Yield{}
	f := h.Status().Locks[0]
	for _, y := range f.Strategies {
		total.Schedules += y.Schedules
		total.Behaviours += y.Behaviours
	}
	if n := mutants(h).Schedules; n < 64/5 || n > 64/3 || total != (Yield{f.Schedules, f.Behaviours}) {
		t.Errorf("mutants %+v of %+v; %+v", mutants(h), total, f)
	}
}

// A broken lock is missing until a failure of the property was found that it is known to violate.
func TestMissing(t *testing.T) {
	h := newHunt(t, t.TempDir(), "textbook", "exists-then-wait")
	for i, property := range []history.Property{"", history.Fencing} {
		h.Targets[i].Broken, h.Targets[i].Property = true, property
	}
	run(t, h, 2)
	missing := func(property history.Property) []string {
		h.Targets[1].Property = property
		return h.Status().Missing
	}
	if both := h.Status().Missing; h.Status().Broken != 2 ||
		!slices.Equal(both, []string{"textbook", "exists-then-wait"}) ||
		!slices.Equal(missing(history.Progress), both[:1]) || !slices.Equal(missing(""), both[:1]) {
		t.Errorf("missing %v, %v, %v", both, missing(history.Progress), missing(""))
	}
}

// A stored corpus is read, written as it was, and has the configurations of its schedules. Its
// checksum depends on every byte, so the names and their order must stand.
func TestCorpusFormat(t *testing.T) {
	h := newHunt(t, t.TempDir(), "textbook")
	several := h.Targets[0].Configurations[0]
	several.Clients, several.Cycles, several.Servers = 3, 2, 3
	several.Faults = faults.MustParse("cut@hold=1,any=2")
	h.Targets[0].Configurations = append(h.Targets[0].Configurations, several)
	stored, err := os.ReadFile("testdata/textbook.json")
	if err != nil {
		t.Fatal(err)
	}
	path := h.corpusPath("textbook")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, stored, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := h.readCorpus(&h.Targets[0])
	if err != nil {
		t.Fatal(err)
	}
	parents := c.known(&h.Targets[0]).Parents
	if len(parents) != 2 || parents[0].Configuration != 0 || parents[1].Configuration != 1 {
		t.Fatalf("schedules %+v", parents)
	}
	c.keep(parents, &h.Targets[0])
	if err := c.write(path); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, stored) {
		t.Errorf("written as\n%s\nerror %v, was\n%s", again, err, stored)
	}
}

// A corpus that is damaged, of another lock or of another version is refused.
func TestWrongCorpus(t *testing.T) {
	h := newHunt(t, t.TempDir(), "textbook")
	h.Close()
	path := h.corpusPath("textbook")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{
		`{`: "textbook.json is damaged: ",
		`{"format": "interlock-hunt", "version": 0}`:                 "version 0",
		`{"format": "interlock-hunt", "version": 5, "lock": "herd"}`: `is of the lock "herd"`,
		`{"kept_schedules": [{"deviations": "3 serve c1,x tick"}]}`:  `deviation "x tick" of a kept`,
		`{"kept_schedules": [{"deviations": "3 tick,3 tick"}]}`:      `deviation "3 tick" of a kept`,
		`{"kept_schedules": [{"deviations": "3 sing c1"}]}`:          `"sing c1" is not the name of`,
	} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := h.Open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, not %s", content, err, want)
		}
	}
}

// A corpus with a flipped bit is refused, or is the same.
func TestDamagedCorpus(t *testing.T) {
	h := newHunt(t, t.TempDir(), "textbook")
	run(t, h, 1)
	path := h.corpusPath("textbook")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := h.readCorpus(&h.Targets[0])
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range 200 {
		damaged, at := bytes.Clone(good), i*(len(good)-1)/199
		damaged[at] ^= 1 << (i % 8)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		switch got, err := h.readCorpus(&h.Targets[0]); {
		case err != nil && strings.Contains(err.Error(), path):
			refused++
		case err != nil || !reflect.DeepEqual(got, want):
			t.Errorf("byte %d: %v", at, err)
		}
	}
	if refused < 100 {
		t.Errorf("%d of 200 flips are refused", refused)
	}
}

// The server shows the status and the counterexamples, and no other file.
func TestHandler(t *testing.T) {
	h := newHunt(t, t.TempDir(), "exists-then-wait")
	h.Targets[0].Broken = true
	run(t, h, 1)
	page := "failures/" + h.Status().Locks[0].Failures[0].Directory + "/timeline.html"
	if err := os.WriteFile(filepath.Join(h.Directory, "secret"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	url := serve(t, h)
	for _, tc := range []struct {
		path     string
		status   int
		contains string
	}{
		{"", http.StatusOK, "<td>exists-then-wait<td>1<td>64<td>"},
		{"", http.StatusOK, `href="` + page + `"`},
		{"", http.StatusOK, `<p id="broken">1 of 1 broken locks found.</p>`},
		{"status.json", http.StatusOK, `"lock":"exists-then-wait","turns":1,`},
		{page, http.StatusOK, "<!doctype html>"},
		{"failures/..%2Fsecret/x", http.StatusBadRequest, ""},
		{"failures/..%2F/secret", http.StatusBadRequest, ""},
		{"secret", http.StatusNotFound, ""},
	} {
		answer, err := http.Get(url + tc.path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != tc.status ||
			!strings.Contains(string(body), tc.contains) {
			t.Errorf("%v: %s: %d %.300s", err, tc.path, answer.StatusCode, body)
		}
	}
}

// serve serves the site of a hunt until the end of the test, and returns its URL.
func serve(t *testing.T, h *Hunt) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site := h.Site()
	go site.Serve(t.Context(), listener)
	return site.URL(listener)
}
