package scenarios

import (
	"context"
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/simzk"
)

// The variables that Check reads from the environment. They are not flags, because go test ./... would hand those to
// every package.
const (
	schedulesVariable = "INTERLOCK_SCHEDULES" // how many schedules are run; 2000 unless set
	seedVariable      = "INTERLOCK_SEED"      // where chance comes from; taken from the test's name unless set
	replayVariable    = "INTERLOCK_REPLAY"    // a counterexample's directory: it is replayed, and nothing else is done
)

const defaultSchedules = 2000

// Check searches the schedules of a lock for one that breaks a property that it claims. It does in a test what the
// command interlock check does: random schedules from a seed, on all processors, a sample of them twice. The first that
// fails is shortened and written to a directory below testdata/interlock, and the test fails with the decisive part of
// its timeline and the command that replays it.
//
// What stands below testdata/interlock for the test, from earlier failures, is replayed before the search. A schedule
// names steps, and one that cannot happen any more is skipped, so it goes on to be a regression test when the lock has
// been mended.
//
// The environment variables INTERLOCK_SCHEDULES and INTERLOCK_SEED, a number or the word random, set how many schedules
// are run and which; INTERLOCK_REPLAY replays the counterexample in a directory and does nothing else. With a random seed
// give go test the flag -count=1, or it may answer from its cache.
//
// What the lock does not promise, because the scenario's bounds go beyond its own, is shortened too, and fails the test only if it
// turns out to break the same within them.
//
// Where nothing fails, but a check has reached its limits, or 5000 schedules or more have never reached a goal of the lock that
// they could have reached, the test fails too: it says too little.
//
// With the real client the test is skipped under the race detector; see [simzk.RaceDetector].
func Check(t *testing.T, scenario Scenario) {
	t.Helper()
	if err := scenario.Validate(); err != nil {
		t.Fatal(err)
	}
	if scenario.Client == Real && simzk.RaceDetector {
		t.Skip("the real client does not do the same twice under the race detector: run this test without -race")
	}
	if path := os.Getenv(replayVariable); path != "" {
		if !replayInTest(t, &scenario, path) {
			t.Fatalf("%s: none of its decisions can happen any more; it says nothing of this lock", path)
		}
		return
	}
	corpus := filepath.Join("testdata", "interlock", strings.ReplaceAll(t.Name(), "/", "-"))
	recorded, err := os.ReadDir(corpus)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, entry := range recorded {
		if !strings.HasPrefix(entry.Name(), draftPrefix) {
			replayInTest(t, &scenario, filepath.Join(corpus, entry.Name()))
		}
	}
	campaign := &Campaign{Scenario: scenario, Schedules: numberFrom(t, schedulesVariable, defaultSchedules),
		Seed: seedFrom(t), Workers: runtime.GOMAXPROCS(0)}
	report := campaign.Run(context.Background(), t)
	if report.Nondeterministic != nil {
		t.Fatal(report.Nondeterministic)
	}
	short := NewRunner(t).Shorten(context.Background(), campaign, report)
	switch {
	case report.Failure != nil:
		failWith(t, campaign, report.Failure, short, corpus)
	case report.Survey.Unknown > 0:
		t.Fatalf("%v, seed %d: of %d schedules it is unknown whether they are linearizable", &campaign.Scenario, campaign.Seed, report.Survey.Unknown)
	case len(campaign.Missed(report)) > 0:
		t.Fatalf("%v, seed %d: no schedule has reached a goal, so this says too little of the lock: %s", &campaign.Scenario, campaign.Seed,
			strings.Join(campaign.Missed(report), "; "))
	case report.Broken > 0:
		t.Logf("%v: %d of %d schedules broke belief-exclusion, for which the lock does not vouch beyond %v; the first is %d of seed %d, "+
			"shortened to %v with these decisions:\n%s", &scenario, report.Broken, report.Schedules, scenario.Promised(),
			report.Beyond.Schedule, campaign.Seed, &short.Scenario, stepList(short.Recording.Deviations))
	}
}

// failWith writes down a schedule that has failed, in its short form, and ends the test.
func failWith(t *testing.T, campaign *Campaign, failure *Failure, c *Counterexample, corpus string) {
	t.Helper()
	scenario := c.Scenario
	c.ReplayBy = func(directory string) string {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^")
		return replayVariable + "='" + strings.ReplaceAll(directory, "'", `'\''`) + "' go test -count=1 -run '^" + pattern + "$' ."
	}
	directory, err := c.Write(corpus)
	if err != nil {
		t.Fatalf("%s\nthe counterexample could not be written: %v", c.Result.Describe(&scenario), err)
	}
	t.Fatalf("%v, seed %d: schedule %d fails; shortened to %v with these decisions:\n%s\n%s\ncounterexample %s\nreplay %s",
		&campaign.Scenario, campaign.Seed, failure.Schedule, &scenario, stepList(c.Recording.Deviations), c.Result.Describe(&scenario),
		directory, c.ReplayBy(directory))
}

func stepList(deviations []Deviation) string {
	var text strings.Builder
	for _, d := range deviations {
		text.WriteString("  step " + strconv.Itoa(d.Index) + ": " + d.Step.String() + "\n")
	}
	return text.String()
}

// replayInTest replays a recorded schedule for the scenario's lock, and fails the test if a property breaks. It returns
// false if there are decisions in the schedule and none of them could happen.
func replayInTest(t *testing.T, scenario *Scenario, path string) bool {
	t.Helper()
	recording, err := ReadRecording(path)
	if err != nil {
		t.Fatal(err)
	}
	if recording.Lock != scenario.Subject.Name {
		t.Fatalf("%s is a schedule of the lock %q, and this is %q", path, recording.Lock, scenario.Subject.Name)
	}
	recorded, err := recording.Scenario(scenario.Subject)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	replay := &Replay{Deviations: recording.Deviations}
	result := NewRunner(t).Run(recorded, replay)
	for _, d := range replay.Skipped {
		t.Logf("%s: step %d, %v, cannot happen there any more", path, d.Index, d.Step)
	}
	if recorded.Fails(result) {
		t.Fatalf("%s fails:\n%s", path, result.Describe(recorded))
	}
	return len(recording.Deviations) == 0 || len(replay.Skipped) < len(recording.Deviations)
}

// numberFrom reads a positive number from the environment.
func numberFrom(t *testing.T, variable string, unset int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return unset
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		t.Fatalf("%s is %q, not a number of at least 1", variable, text)
	}
	return number
}

// seedFrom reads the seed from the environment. Unless one is set it depends on the test's name, so that a new test
// does not change the schedules of the others.
func seedFrom(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(seedVariable)
	if text == "" {
		hash := fnv.New64a()
		hash.Write([]byte(t.Name()))
		return hash.Sum64()
	}
	seed, err := ParseSeed(text)
	if err != nil {
		t.Fatalf("%s: %v", seedVariable, err)
	}
	return seed
}
