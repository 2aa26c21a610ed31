package certify_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/cmd/internal/judge/certify"
	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/report"
)

const textbookPlan = `locks:
  - names: [textbook]
    sampled: [{faults: expire=1, schedules: 100}]
`

// certified returns the certificate of a plan, compared with an older one if there is one.
func certified(ctx context.Context, t *testing.T, plan string,
	old *certify.Certificate,
) *certify.Certificate {
	t.Helper()
	c, _ := certifiedAt(ctx, t, filepath.Join(t.TempDir(), "plan.yaml"), plan, t.TempDir(), old)
	return c
}

// certifiedAt writes the plan to a file, and returns it with its certificate. Counterexamples go to
// the directory out.
func certifiedAt(ctx context.Context, t *testing.T, path, plan, out string,
	old *certify.Certificate,
) (*certify.Certificate, *certify.Plan) {
	t.Helper()
	if err := os.WriteFile(path, []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := certify.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	runner := &certify.Runner{T: t, Out: out, Progress: judge.NewProgress(io.Discard), Old: old}
	c, err := runner.Run(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

// changed returns a copy of the certificate with a change.
func changed(t *testing.T, c *certify.Certificate,
	change func(*certify.Certificate),
) *certify.Certificate {
	t.Helper()
	content, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	other := new(certify.Certificate)
	if err := json.Unmarshal(content, other); err != nil {
		t.Fatal(err)
	}
	change(other)
	return other
}

// fifoCell returns the verdict on FIFO.
func fifoCell(c *certify.Certificate) *reportcard.Cell { return c.Card.Locks[0].Cell(history.FIFO) }

// comparisons are changes of an older certificate, with the differences that they make.
var comparisons = []struct {
	change     func(old *certify.Certificate)
	difference string // empty if there is none
	worse      bool
}{
	{func(*certify.Certificate) {}, "", false},
	{
		func(old *certify.Certificate) { old.Locks[0].Cost.Requests = 1 },
		"textbook, requests per acquire and release: 3, was 1", true,
	},
	{
		func(old *certify.Certificate) { old.Locks[0].Cost.Requests = 9 },
		"textbook, requests per acquire and release: 3, was 9", false,
	},
	{
		func(old *certify.Certificate) { old.Locks[0].Cost.RoundTrips = 1 },
		"textbook, round trips per acquire and release: 3, was 1", true,
	},
	{
		func(old *certify.Certificate) { *old.Locks[0].Cost.HandOffRoundTrips = 0 },
		"textbook, round trips per hand-off: 1, was 0", true,
	},
	{
		func(old *certify.Certificate) { *old.Locks[0].Cost.HandOff = -1 },
		"textbook, hand-off latency: 0s, was -1ns", true,
	},
	{
		func(old *certify.Certificate) { old.Locks[0].Margins["proof-to-end"] = 10e9 + 1 },
		"textbook, smallest margin proof-to-end: 5s, was 10.000000001s", true,
	},
	{
		func(old *certify.Certificate) { old.Locks[0].Margins["proof-to-end"] = 10e9 },
		"textbook, smallest margin proof-to-end: 5s, was 10s", false,
	},
	{
		func(old *certify.Certificate) { old.Locks[0].Margins["proof-to-end"] -= 1e9 },
		"textbook, smallest margin proof-to-end: 5s, was 4s", false,
	},
	{ // A margin below 0 that comes closer to it is better.
		func(old *certify.Certificate) { old.Locks[0].Margins["loss-to-end"] = -50e9 },
		"textbook, smallest margin loss-to-end: -39s, was -50s", false,
	},
	{
		func(old *certify.Certificate) { old.Locks[0].Margins["loss-to-end"] = -30e9 },
		"textbook, smallest margin loss-to-end: -39s, was -30s", false,
	},
	{
		func(old *certify.Certificate) { old.Locks[0].Margins["loss-to-end"] = -19e9 },
		"textbook, smallest margin loss-to-end: -39s, was -19s", true,
	},
	{
		func(old *certify.Certificate) { old.Locks[0].Cost.Recovery = nil },
		"textbook, recovery from a crash: 6s, was none", false,
	},
	{
		func(old *certify.Certificate) {
			old.Locks[0].Coverage["cut"] = map[string]int{"hold": 7}
		},
		"textbook, fault cut@hold: none, was 7", true,
	},
	{
		func(old *certify.Certificate) { old.Locks[0].Coverage["expire"]["idle"] = 7 },
		"textbook, fault expire@idle: none, was 7", false,
	},
	{
		func(old *certify.Certificate) {
			old.Card.Locks[0].Searches[0].Scenario, old.Card.Locks[0].Searches[0].Schedules = "a", 7
		},
		"textbook, a: not searched, was 7 schedules", true,
	},
	{
		func(old *certify.Certificate) { fifoCell(old).Verdict = report.Violated },
		"textbook, fifo: holds, was violated", false,
	},
	{
		func(old *certify.Certificate) { fifoCell(old).Reach = report.EverySchedule },
		"textbook, fifo: no longer exhaustive, was exhaustive in every schedule", true,
	},
	{
		func(old *certify.Certificate) { old.Card.Locks[0].Name = "herd" },
		"herd is not in the plan any more", true,
	},
}

// A search of a plan has all that its keys say.
func TestPlanFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.yaml")
	const keys = "{clients: 2, cycles: 3, servers: 5, faults: any=1, schedules: 7}"
	const plan = "locks:\n  - names: [mutex]\n    sampled: [" + keys + "]\n    exhaustive: [" +
		keys + "]\n"
	if err := os.WriteFile(path, []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := certify.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []reportcard.Search{p.Locks[0].Sampled[0], p.Locks[0].Exhaustive[0]} {
		if s.Clients != 2 || s.Cycles != 3 || s.Servers != 5 || s.Faults != "any=1" ||
			s.Schedules != 7 {
			t.Errorf("%+v", s)
		}
	}
}

// The error of a plan names the line, if one is to blame.
func TestPlanErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.yaml")
	for plan, want := range map[string]string{
		"tests:\n  - {run: TestLock}":                 ":2: tests need a package, such as ./mylock",
		"tests:\n  - {package: ., schedules: -1}":     ":2: schedules must be at least 1, not -1",
		"tests:\n  - {package: ., run: '('}":          ":2: error parsing regexp",
		textbookPlan + "---\nmust_pass: [nothere]":    ": a plan is one YAML document, and this",
		"locks:\n  - names: {no: such}":               ":2: a mapping where a list belongs",
		"locks:\n  - names: [textbook]\n    tests: 3": ":3: unknown field tests",
		"":                                      "yaml: the plan is empty",
		"# Nothing yet.":                        "yaml: the plan is empty",
		"seed: 1":                               ":1: the plan needs locks",
		textbookPlan + "must_fail:\n  - none/*": ":5: no recording matches none/\\*",
		"locks:\n  - names: [no-such]\n    sampled: [{faults: none, schedules: 5}]": ":2: unknown " +
			`lock "no-such"`,
		"locks:\n  - names: [mutex]\n    sampled:\n      - {faults: fire=1, schedules: 5}": ":4: " +
			`mutex: .*unknown fault "fire"`,
		textbookPlan + "    unexercised: [swiftness]": `:4: unknown property "swiftness"`,
		"locks:\n  - names: [redlock]\n    sampled: &sampled\n      - {faults: fail-over=1, " +
			"schedules: 5}\n  - names: [mutex]\n    sampled: *sampled": ":4: mutex: .* has no fault " +
			"fail-over",
	} {
		if err := os.WriteFile(path, []byte(plan), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := certify.Read(path)
		if err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("%s\n%v, not %s", plan, err, want)
		}
	}
}

// Each part of a lock is compared with the older certificate. A worse value is a failure; a better
// one is only listed.
func TestCompare(t *testing.T) {
	base := certified(t.Context(), t, textbookPlan, nil)
	for _, test := range comparisons {
		now := certified(t.Context(), t, textbookPlan, changed(t, base, test.change))
		var got []string
		for i := range now.Against.Differences {
			got = append(got, now.Against.Differences[i].String())
		}
		var want, wantFailures, failures []string
		if test.difference != "" {
			want = []string{test.difference}
		}
		if test.worse {
			wantFailures = want
		}
		for i := range now.Failures {
			failures = append(failures, now.Failures[i].Reason)
		}
		if !slices.Equal(got, want) || !slices.Equal(failures, wantFailures) {
			t.Errorf("differences %q, failures %q, want %q, worse %v", got, failures, want, test.worse)
		}
	}
}

// A changed lock has another number of schedules in an exhaustive search. Its margins in the sampled
// ones are still compared.
func TestCompareMarginsOfChangedLock(t *testing.T) {
	const plan = textbookPlan + "    exhaustive: [{clients: 2, cycles: 1, faults: none}]\n"
	base := certified(t.Context(), t, plan, nil)
	old := changed(t, base, func(c *certify.Certificate) {
		exhaustive := slices.IndexFunc(c.Card.Locks[0].Searches, func(s reportcard.Searched) bool {
			return s.Exhaustive
		})
		c.Card.Locks[0].Searches[exhaustive].Schedules++
		c.Locks[0].Margins["proof-to-end"] = 20e9
	})
	now := certified(t.Context(), t, plan, old)
	const want = "textbook, smallest margin proof-to-end: 5s, was 20s"
	if len(now.Failures) != 1 || now.Failures[0].Reason != want {
		t.Errorf("failures %+v, want %q", now.Failures, want)
	}
}

// A property that held and is violated is worse.
func TestCompareViolated(t *testing.T) {
	const plan = "locks:\n  - names: [no-recheck]\n    sampled: [{faults: cut=1, schedules: 100}]\n"
	base := certified(t.Context(), t, plan, nil)
	old := changed(t, base, func(c *certify.Certificate) {
		violated := c.Card.Locks[0].Cell(history.ServerMutualExclusion)
		if violated.Verdict != report.Violated {
			t.Fatalf("verdict %s", violated.Verdict)
		}
		violated.Verdict, violated.Counterexamples = report.Holds, nil
	})
	now := certified(t.Context(), t, plan, old)
	last := now.Failures[len(now.Failures)-1]
	if last.Check != certify.NotWorse ||
		last.Reason != "no-recheck, server-mutual-exclusion: violated, was holds" {
		t.Errorf("%+v", last)
	}
}

// A lock that promises a margin in time is judged by it.
func TestMarginIsJudged(t *testing.T) {
	c := certified(t.Context(), t, "locks:\n  - names: [tells-late]\n"+
		"    sampled: [{faults: expire=1, schedules: 60}]\n", nil)
	if f := c.Failures[0]; f.Check != string(history.Margin) || f.Recording == "" {
		t.Errorf("%+v", c.Failures)
	}
}

// A partial certificate says so, and what it lacks is neither a failure nor worse.
func TestPartial(t *testing.T) {
	base := certified(t.Context(), t, textbookPlan, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := certified(ctx, t, textbookPlan, base)
	if !c.Partial || len(c.Failures) > 0 || len(c.Against.Differences) > 0 {
		t.Errorf("partial %v, failures %v, differences %v", c.Partial, c.Failures,
			c.Against.Differences)
	}
	if base.Partial || len(base.Failures) > 0 {
		t.Errorf("partial %v, failures %v", base.Partial, base.Failures)
	}
}

// The certificate is the same wherever the plan and the counterexamples are.
func TestPlaces(t *testing.T) {
	recordings, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "docs", "report-card",
		"zk-herd-*"))
	if err != nil || len(recordings) == 0 {
		t.Fatalf("%v: %d recordings", err, len(recordings))
	}
	content, err := os.ReadFile(recordings[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	var hashes []string
	for _, place := range []struct{ plan, out string }{
		{"plan.yaml", "failures"}, {filepath.Join(t.TempDir(), "plans", "plan.yaml"), t.TempDir()},
	} {
		directory := filepath.Join(filepath.Dir(place.plan), "recordings")
		if err := os.MkdirAll(directory, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, "a.json"), content, 0o644); err != nil {
			t.Fatal(err)
		}
		c, p := certifiedAt(t.Context(), t, place.plan, `locks:
  - names: [no-recheck]
    sampled: [{faults: cut=1, schedules: 100}]
must_pass: ["recordings/*.json"]
`, place.out, nil)
		shown := 0
		for i := range c.Failures {
			if path := c.Failures[i].File(p, place.out); path != "" {
				shown++
				if _, err := os.Stat(path); err != nil {
					t.Error(err)
				}
			}
		}
		if len(c.MustPass) != 1 || c.MustPass[0].Recording != "recordings/a.json" || shown < 2 {
			t.Errorf("recordings %+v, %d failures with a recording", c.MustPass, shown)
		}
		hashes = append(hashes, c.Hash)
	}
	if hashes[0] != hashes[1] {
		t.Errorf("hashes %q", hashes)
	}
}
