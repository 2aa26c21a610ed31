package interlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/supervise"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/likelihood"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client/real"
	"github.com/interlock-sim/interlock/simzk/dial"
)

// The variables that Check reads from the environment. They are not flags, because go test ./...
// would hand those to every package.
const (
	schedulesVariable = "INTERLOCK_SCHEDULES"    // number of schedules; default: defaultSchedules
	seedVariable      = "INTERLOCK_SEED"         // default: derived from the test's name
	strategyVariable  = "INTERLOCK_STRATEGY"     // one of [strategy.Names], or exhaustive
	replayVariable    = recording.ReplayVariable // directory of a counterexample to replay instead
	keepGoingVariable = "INTERLOCK_KEEP_GOING"   // 1: gather all distinct failures
	idleTicksVariable = "INTERLOCK_IDLE_TICKS"   // default: [exhaustive.DefaultIdleTicks]
	faultsVariable    = recording.FaultsVariable // fault plan; default: that of the scenario
	claimsVariable    = recording.ClaimsVariable // properties; default: what the lock claims
	outVariable       = recording.OutVariable    // directory for counterexamples
)

const defaultSchedules = 2000

var errScheduler = recording.ErrScheduler

// Check searches the schedules of a lock for one that violates a property that the lock claims, as
// the command interlock check does: schedules drawn from a seed, on all processors, a sample of
// them twice. The first schedule that fails is shrunk and written to a directory below
// testdata/interlock, and the test fails with the decisive part of its timeline, the command that
// replays it, and a command that finds it again without the directory.
//
// Check first replays the counterexamples below testdata/interlock that earlier runs of the test
// left. A schedule names steps, and a step that is no longer possible is skipped, so the schedule
// remains a regression test after the lock is fixed.
//
// Environment variables: INTERLOCK_SCHEDULES is the number of schedules; INTERLOCK_SEED a number or
// the word random; INTERLOCK_STRATEGY one of [strategy.Names], or exhaustive for an
// [exhaustive.Search]; INTERLOCK_REPLAY the directory of a counterexample to replay instead of
// searching; INTERLOCK_KEEP_GOING=1 runs all schedules and reports every distinct failure, by the
// signature of the violation and its cause; INTERLOCK_IDLE_TICKS is the number of idle ticks of an
// exhaustive search. With a random seed, run go test with -count=1, because its cache does not know
// the seed.
//
// A violation out of contract is shrunk too, but fails the test only if the shrunk schedule
// violates a property within the contract.
//
// The test also fails if the search says too little: schedules differed when they ran twice, a
// check reached its limits, a sometimes condition was not reached in 5000 schedules or more, or no
// process was ever granted the lock.
//
// go test -v prints what was run, which claims and faults were not exercised, and what else the
// lock kept. With the real client the test is skipped under the race detector; see
// [real.RaceDetector].
func Check(t *testing.T, scenario scenarios.Scenario) {
	t.Helper()
	checked := demandSound(t, &scenario)
	if replayed, subtest := replays(t); replayed != nil && !replayed.applies(&checked, subtest) {
		return
	}
	isolate(t, &checked, func(verdict *verdict) {
		t.Helper()
		checkScenario(t, checked, verdict)
	})
}

func checkScenario(t *testing.T, scenario scenarios.Scenario, verdict *verdict) {
	t.Helper()
	if replayRecorded(t, &scenario, verdict) {
		return
	}
	c := &campaign.Campaign{
		Scenario: scenario, Schedules: numberFrom(t, schedulesVariable, 1, 0), Seed: seedFrom(t),
		Workers: runtime.GOMAXPROCS(0), Strategy: os.Getenv(strategyVariable),
		KeepGoing: truthFrom(t, keepGoingVariable),
	}
	if job := supervise.Current(); job != nil && job.Schedules > 0 {
		c.Schedules, c.Workers = job.Schedules, 1
	}
	// An exhaustive search does not number its schedules.
	numbers := c.Strategy != strategy.ExhaustiveName
	note(childNote{Seed: c.Seed, Searches: numbers})
	found := search(t, c, verdict)
	runs := found.Common()
	verdict.ran(c, found)
	if runs.Nondeterministic != nil && runs.Failure == nil && len(runs.Distinct) == 0 {
		verdict.fatalf(t, "%v, seed %d: nothing found in %d schedules, but that says too "+
			"little: %s\n%v", &c.Scenario, c.Seed, runs.Schedules, runs.DescribeDiffering(),
			runs.Nondeterministic)
	}
	demandSetUp(t, c, runs, verdict)
	ctx, end := inTime(t)
	defer end()
	if len(runs.Distinct) > 0 {
		failWithDistinct(ctx, t, c, runs, verdict)
	}
	slow := time.AfterFunc(shrinkSilence, func() {
		fmt.Printf("%s: shrinking what was found in %d schedules\n", t.Name(), runs.Schedules)
	})
	short, err := shrink.Shorten(ctx, engine.NewRunner(t), c, runs)
	slow.Stop()
	switch {
	case err != nil:
		verdict.fatalf(t, "%v, seed %d: %v", &c.Scenario, c.Seed, err)
	case runs.Failure != nil:
		short.Likelihood = likelihood.Of(ctx, engine.NewRunner(t), &short.Scenario,
			short.Recording.Deviations, short.Recording.Signature)
		t.Fatal(describeFailure(t, c, runs, runs.Failure, short, verdict))
	case runs.Interrupted && interruption().Err() != nil:
		verdict.Outcome = recording.Interrupted
		verdict.fatalf(t, "%v, seed %d: interrupted: nothing was found in %d schedules so far",
			&c.Scenario, c.Seed, runs.Schedules)
	case runs.Interrupted:
		verdict.fatalf(t, "%v, seed %d: the time of the test is over, and nothing was found in "+
			"%d schedules so far: lower the number, or raise the -timeout of go test",
			&c.Scenario, c.Seed, runs.Schedules)
	case runs.Unknown > 0:
		verdict.fatalf(t, "%v, seed %d: linearizability is unknown for %d schedules",
			&c.Scenario, c.Seed, runs.Unknown)
	case len(neverReached(c, found)) > 0:
		verdict.fatalf(t, "%v, seed %d: no schedule reached a sometimes condition, so this says "+
			"too little about the lock: %s",
			&c.Scenario, c.Seed, strings.Join(neverReached(c, found), "; "))
	}
	if why := neverHad(t, c, found); why != "" {
		verdict.fatalf(t, "%v, seed %d: no process was granted the lock in any of %d schedules, "+
			"so this says nothing about it: %s", &c.Scenario, c.Seed, runs.Schedules, why)
	}
	if runs.OutOfContractSchedules > 0 {
		t.Logf("%v: %d of %d schedules violated %s out of contract, which is %v; the first is %d "+
			"of seed %d, shrunk to %v %s", &scenario, runs.OutOfContractSchedules,
			runs.Schedules,
			runs.OutOfContract.OutOfContract[0].Property, scenario.DescribeContract(),
			runs.OutOfContract.Schedule, c.Seed, &short.Scenario,
			stepList(short.Result, short.Recording.Deviations))
	}
	verdict.noteUnclaimed(ctx, t, c)
	t.Log(summary(c, found) + verdict.DescribeUnclaimed())
	verdict.Outcome = recording.Passed
}

// refuse ends a test whose code Interlock does not control. What it does says nothing about the
// lock.
func refuse(t testing.TB, scenario *scenarios.Scenario, why string, verdict *verdict) {
	t.Helper()
	verdict.Outcome = recording.Refused
	verdict.fatalf(t, "%v: nothing was judged: %s", scenario, why)
}

// demandSetUp ends the test if the scenario does not set up the lock, or its code is refused. That
// is no counterexample.
func demandSetUp(t *testing.T, c *campaign.Campaign, found *report.Runs, verdict *verdict) {
	t.Helper()
	failures := []*report.Failure{found.Failure}
	for i := range found.Distinct {
		failures = append(failures, found.Distinct[i].First)
	}
	for _, failure := range failures {
		if failure == nil {
			continue
		}
		for _, v := range failure.Violations {
			if why := engine.Refusal(v); why != "" {
				refuse(t, &c.Scenario, why, verdict)
			}
			if mistake := engine.SetUpError(v); mistake != "" {
				verdict.fatalf(t, "%v, seed %d: in schedule %d, %s: a mistake in the scenario, "+
					"not in the lock", &c.Scenario, c.Seed, failure.Schedule, mistake)
			}
		}
	}
}

// replayRecorded replays the counterexample that is asked for, and returns true. If none is, it
// replays those that earlier runs of the test left.
func replayRecorded(t *testing.T, scenario *scenarios.Scenario, verdict *verdict) (only bool) {
	t.Helper()
	if replayed, _ := replays(t); replayed != nil {
		replayed.replay(t, scenario, verdict)
		return true
	}
	if path := os.Getenv(replayVariable); path != "" {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%s (relative to the directory of the package): %v%s", replayVariable, err,
				withoutDirectory(err))
		}
		if !records(t, path, scenario) {
			verdict.Outcome = notJudged
			return true
		}
		if !replayInTest(t, scenario, path, verdict) {
			verdict.fatalf(t, "%s: none of its steps is possible any more, so it says nothing "+
				"about this lock", path)
		}
		verdict.Outcome = recording.Passed
		return true
	}
	for _, path := range recordings(t) {
		if records(t, path, scenario) {
			replayInTest(t, scenario, path, verdict)
		}
	}
	return false
}

// withoutDirectory says how to go on where a counterexample does not exist.
func withoutDirectory(err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return "\ncopy it from where the test failed, or find the failure again by the command " +
		"with " + seedVariable + " and " + schedulesVariable + " that the failing test printed " +
		"below its replay command"
}

// records reports whether a recording is that of the scenario's lock. It may be that of another
// lock that the test checks; see [checkedLocks].
func records(t *testing.T, path string, scenario *scenarios.Scenario) bool {
	t.Helper()
	recorded, err := recording.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return recorded.Lock == scenario.Subject.Name
}

// recordings returns the paths of the counterexamples that earlier runs of the test left.
func recordings(t *testing.T) (paths []string) {
	t.Helper()
	if path := os.Getenv(replayVariable); path != "" {
		return []string{path}
	}
	corpus := recording.Corpus(t.Name())
	recorded, err := os.ReadDir(corpus)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, entry := range recorded {
		// A draft of a counterexample, or what an editor or a file manager has left.
		if !strings.HasPrefix(entry.Name(), ".") {
			paths = append(paths, filepath.Join(corpus, entry.Name()))
		}
	}
	return paths
}

// demandSound ends a test whose scenario is not valid or cannot run in this program, and returns
// the scenario for the engine.
func demandSound(t testing.TB, scenario *scenarios.Scenario) scenarios.Scenario {
	t.Helper()
	if err := scenario.Validate(); err != nil {
		t.Fatal(err)
	}
	demandEnvironment(t)
	if names := os.Getenv(claimsVariable); names != "" {
		var err error
		if scenario.Subject.Claims, err = check.ParseProperties(names); err != nil {
			t.Fatalf("%s: %v", claimsVariable, err)
		}
	}
	if plan := os.Getenv(faultsVariable); plan != "" {
		var err error
		if scenario.Faults, err = faults.Parse(plan); err == nil {
			err = scenario.Validate()
		}
		if err != nil {
			t.Fatalf("%s: %v", asGiven(faultsVariable, "faults"), err)
		}
	}
	switch {
	case scenario.Client != scenarios.Model && real.RaceDetector:
		t.Skip("the real client is not deterministic under the race detector: run this test " +
			"without -race")
	case scenario.Client == scenarios.Dialed && !dial.Patched():
		t.Skip("code that opens its own client is tested by the command interlock test, which " +
			"leads the client to the simulated servers")
	}
	return scenario.Resolved()
}

// inTime returns a context that ends on [interruption], and shortly before go test ends the test,
// so that findings are not lost. Shrinking leaves time for writing in the same way.
func inTime(t *testing.T) (context.Context, context.CancelFunc) {
	deadline, ok := t.Deadline()
	if !ok {
		return context.WithCancel(interruption())
	}
	left := time.Until(deadline)
	return context.WithTimeout(interruption(), left-min(left/4, 30*time.Second))
}

// search runs the campaign, or the exhaustive search that is asked for in its place, for as long as
// there is time.
func search(t *testing.T, c *campaign.Campaign, verdict *verdict) report.Report {
	t.Helper()
	ctx, end := inTime(t)
	defer end()
	if c.Strategy != strategy.ExhaustiveName {
		c.Schedules = cmp.Or(c.Schedules, defaultSchedules)
		if supervise.Current() != nil && os.Getenv("GOGC") == "" { // The process does nothing else.
			debug.SetGCPercent(campaign.GCPercent)
		}
		return c.Run(ctx, t)
	}
	if err := exhaustible(&c.Scenario); err != nil {
		verdict.Outcome = recording.Refused
		verdict.fatalf(t, "%s: %v", asGiven(strategyVariable, "strategy"), err)
	}
	s := &exhaustive.Search{
		Scenario: c.Scenario, Schedules: c.Schedules,
		MemoryLimit: exhaustive.DefaultMemoryLimit(), KeepGoing: c.KeepGoing,
		Workers:   c.Workers,
		IdleTicks: numberFrom(t, idleTicksVariable, 0, exhaustive.DefaultIdleTicks(&c.Scenario)),
	}
	return s.Run(ctx, t)
}

// exhaustible returns why there is no exhaustive search of the scenario, or nil.
func exhaustible(s *scenarios.Scenario) error {
	switch {
	case s.Client == scenarios.Dialed:
		return errors.New("an exhaustive search needs the state of the client, so it cannot be " +
			"done with code that opens its own client")
	case s.Client.Library():
		return errors.New("an exhaustive search needs the state of the client, so it cannot be " +
			"done with the real client")
	}
	return exhaustive.Unsupported(s)
}

// asGiven returns what the user has set: the variable, or the flag of interlock test.
func asGiven(variable, flag string) string {
	if os.Getenv(recording.CommandVariable) != "" {
		return "--" + flag
	}
	return variable
}

// neverReached returns the sometimes conditions that the campaign should have reached and has not.
func neverReached(c *campaign.Campaign, found report.Report) []string {
	if r, ok := found.(*report.Campaign); ok {
		return c.NeverReached(r)
	}
	return nil
}

// neverHad says why no process was granted the lock in any schedule, by the outcome of an
// undisturbed first attempt. It returns "" if a process was granted the lock.
func neverHad(t *testing.T, c *campaign.Campaign, found report.Report) string {
	// A campaign counts grants, and an exhaustive search only notes that there was one.
	searched, ok := found.(*report.Exhaustive)
	if ok && searched.Granted || found.Exercised(history.Linearizable) > 0 {
		return ""
	}
	for _, e := range engine.NewRunner(t).Run(&c.Scenario, &engine.Replay{}).Events {
		if e.Kind == history.LockReturn {
			return fmt.Sprintf("Lock returns the error %q", e.Err)
		}
	}
	return "Lock never returns"
}

// summary says what a search without findings has run, and what it has not exercised.
func summary(c *campaign.Campaign, found report.Report) string {
	r := found.Common()
	if searched, ok := found.(*report.Exhaustive); ok {
		return exhaustiveSummary(c, searched) + unsettled(r)
	}
	text := fmt.Sprintf("%v, seed %d: nothing found in %d schedules of %d steps", &c.Scenario,
		c.Seed,
		r.Schedules, r.Steps)
	if untested := unexercised(c, found); len(untested) > 0 {
		text += "\nclaimed and not exercised: " + strings.Join(untested, ", ")
	}
	if missing := c.NeverCovered(r); len(missing) > 0 {
		text += "\nplanned, never covered: " + strings.Join(missing, ", ")
	}
	if ofCampaign, ok := found.(*report.Campaign); ok {
		strength := c.Strength(ofCampaign)
		text += "\nstrength: " + strength.String()
	}
	return text + unsettled(r)
}

// exhaustiveSummary is the summary of an exhaustive search.
func exhaustiveSummary(c *campaign.Campaign, r *report.Exhaustive) string {
	if r.Complete {
		return fmt.Sprintf("nothing found in %d schedules, which are complete: %v\n%s",
			r.Schedules, &r.Scope, r.Reaches(&c.Scenario.Subject))
	}
	text := fmt.Sprintf("%v: nothing found in %d schedules of an exhaustive search, which is "+
		"not complete", &c.Scenario, r.Schedules)
	switch {
	case r.MemoryExhausted:
		text += ": it reached the memory limit, which GOMEMLIMIT sets"
	case c.Schedules > 0 && r.Schedules >= c.Schedules:
		text += ": it reached its bound of schedules"
	}
	if r.Differing > 0 {
		text += ": " + r.DescribeDiffering()
	}
	return text
}

// unsettled says how many schedules ended with requests in flight. It returns "" if none did.
func unsettled(r *report.Runs) string {
	if r.Unsettled == 0 {
		return ""
	}
	return fmt.Sprintf("\n%d schedules reached a bound of time or steps with requests in flight",
		r.Unsettled)
}

// describeFailure writes the shrunk form of a failed schedule and describes it.
func describeFailure(t *testing.T, searched *campaign.Campaign, r *report.Runs,
	failure *report.Failure, c *recording.Counterexample, verdict *verdict,
) string {
	often := ""
	if n := c.Recording.Reproduces; n.Runs > 0 {
		often = ", " + n.String()
	}
	text := &strings.Builder{}
	fmt.Fprintf(text, "%v, seed %d: schedule %d fails%s; shrunk to %v %s\n%s\n",
		&searched.Scenario, searched.Seed, failure.Schedule, often, &c.Scenario,
		stepList(c.Result, c.Recording.Deviations), c.Explain().Describe())
	addCounterexample(t, c, text, searchAgain(t.Name(), searched, r, failure), verdict)
	return text.String()
}

// writeCounterexample writes a counterexample and notes it in the verdict. It returns the directory
// and the command that replays it.
func writeCounterexample(t *testing.T, c *recording.Counterexample, verdict *verdict) (
	directory, replay string, err error,
) {
	c.Test, c.By, c.Package = t.Name(), recording.Command(), testedPackage()
	c.ReplayBy = func(directory string) string {
		return (&recording.GoTest{Name: t.Name(), Directory: directory, By: c.By}).Command()
	}
	if directory, err = c.Write(outDirectory(t.Name())); err != nil {
		verdict.failed(recording.Failure{Signature: c.Recording.Signature})
		return "", "", err
	}
	replay = c.ReplayBy(directory)
	verdict.failed(recording.Failure{
		Signature: c.Recording.Signature, Counterexample: directory, Replay: replay,
	})
	return directory, withScheduler(replay, c.By), nil
}

// outDirectory returns the directory for a test's counterexamples.
func outDirectory(test string) string {
	if out := os.Getenv(outVariable); out != "" {
		return filepath.Join(out, filepath.Base(recording.Corpus(test)))
	}
	return recording.Corpus(test)
}

// stepList lists the deviations of a schedule, with the events of their steps in its result.
func stepList(result *engine.Result, deviations []engine.Deviation) string {
	if len(deviations) == 0 {
		return "under the default policy\n"
	}
	return "with these deviations:\n" + recording.ListDeviations(result, deviations)
}

// shrinkSilence is how long a failure is shrunk without a word.
const shrinkSilence = 2 * time.Second

// replayInTest replays a recorded schedule twice, and fails the test if a property is violated or
// the runs differ. It returns false if the schedule has deviations and none of them was possible.
func replayInTest(t *testing.T, scenario *scenarios.Scenario, path string, verdict *verdict) bool {
	t.Helper()
	stored, err := recording.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := stored.Scenario(scenario.Subject)
	if errors.Is(err, errScheduler) && os.Getenv(replayVariable) == "" {
		t.Logf("%s is not replayed: %v", path, err)
		return true
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	note(childNote{Replays: path})
	replay := &engine.Replay{Deviations: stored.Deviations}
	result := engine.NewRunner(t).Run(recorded, replay)
	if difference := engine.NewRunner(t).RunAgain(context.Background(), recorded,
		stored.Schedule, replay, result); difference != nil {
		replayUnstable(t, recorded, path, stored.Deviations, difference, verdict)
		return true
	}
	for _, d := range replay.Skipped {
		t.Logf("%s: step %d, %v, is not possible any more", path, d.Index, d.Step)
	}
	for _, d := range replay.Unreached() {
		t.Logf("%s: step %d, %v, is not reached any more", path, d.Index, d.Step)
	}
	if result.Fails(recorded) {
		verdict.failed(failureIn(t.Name(), result.Violations[0].Signature(), path))
		t.Fatalf("%s fails %s:\n%s%s", path, comparedTo(stored, result),
			describeRun(t, recorded, result), howToSearch(t, path))
	}
	switch {
	case !stored.Violates():
		t.Logf("%s: no violation, as recorded", path)
	case !recorded.Subject.Claimed(history.Property(stored.Property)):
		say := t.Logf
		if os.Getenv(replayVariable) != "" {
			say = t.Skipf // A pass would say more than was judged.
		}
		say("%s: not judged: recorded was %s, and this run does not claim that property", path,
			stored.Signature)
	default:
		t.Logf("%s: no violation any more; recorded was %s", path, stored.Signature)
	}
	gone := len(replay.Skipped) + len(replay.Unreached())
	return gone == 0 || gone < len(stored.Deviations)
}

// comparedTo compares a failed run with the recorded one.
func comparedTo(recorded *recording.Recording, result *engine.Result) string {
	switch {
	case result.TraceHash == uint64(recorded.TraceHash):
		return "as recorded"
	case !recorded.Violates():
		return "and did not when it was recorded"
	case result.Violations[0].Signature() == recorded.Signature:
		return fmt.Sprintf("with the recorded violation, but not every event is as recorded "+
			"(trace hash %v, recorded %v)", engine.TraceHash(result.TraceHash),
			recorded.TraceHash)
	}
	return "differently from the recorded " + recorded.Signature
}

// howToSearch ends the text of a recording that fails in place of a search. It is empty where the
// user has asked for the replay.
func howToSearch(t *testing.T, path string) string {
	replayed, _ := replays(t)
	if replayed != nil || os.Getenv(replayVariable) != "" {
		return ""
	}
	return fmt.Sprintf("\nthe search was not run; to run it while the recorded schedule fails, "+
		"delete %s", path)
}

// describeRun describes a failed run with the lines of the lock's calls. The run need not have
// gathered them, which is slow: its schedule runs again, and if that run differs, the description
// has no lines.
func describeRun(t *testing.T, scenario *scenarios.Scenario, failed *engine.Result) string {
	runner := engine.NewRunner(t)
	runner.GatherFacts(true)
	again := runner.Run(scenario, &engine.Replay{Deviations: failed.Deviations})
	if again.TraceHash != failed.TraceHash {
		return failed.Describe(scenario)
	}
	return again.Describe(scenario)
}

// replayUnstable replays a schedule whose runs differ several times, and fails the test if a run
// violates a property.
func replayUnstable(t *testing.T, scenario *scenarios.Scenario, path string,
	deviations []engine.Deviation, difference *engine.Nondeterminism, verdict *verdict,
) {
	t.Helper()
	n := recording.Reproduce(engine.NewRunner(t), scenario, deviations, "")
	if n.Failures > 0 {
		verdict.fatalf(t, "%s: a violation %v\n%v%s", path, n, difference, howToSearch(t, path))
	}
	verdict.fatalf(t, "%s: no violation in %d runs, but that says too little: %v", path, n.Runs,
		difference)
}

// demandEnvironment ends a test if a variable has a wrong value, even if the test does not use it.
func demandEnvironment(t testing.TB) {
	t.Helper()
	for _, variable := range []string{schedulesVariable, memoryVariable} {
		numberFrom(t, variable, 1, 0)
	}
	numberFrom(t, idleTicksVariable, 0, 0)
	for _, variable := range []string{keepGoingVariable, inProcessVariable} {
		truthFrom(t, variable)
	}
	seedFrom(t)
	stallLimit(t)
	name := cmp.Or(os.Getenv(strategyVariable), strategy.PortfolioName)
	if _, err := strategy.Parse(name); err != nil && name != strategy.ExhaustiveName {
		t.Fatalf("%s: %v, %s", strategyVariable, err, strategy.ExhaustiveName)
	}
}

// numberFrom reads a number from the environment, which is at least the given one.
func numberFrom(t testing.TB, variable string, least, unset int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return unset
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < least {
		t.Fatalf("%s is %q, not a number of at least %d", variable, text, least)
	}
	return number
}

// truthFrom reads a truth value from the environment, false unless it is set.
func truthFrom(t testing.TB, variable string) bool {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return false
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		t.Fatalf("%s is %q, not 1 or 0", variable, text)
	}
	return value
}

// seedFrom reads the seed from the environment. Unless one is set it depends on the test's name, so
// that a new test does not change the schedules of the others.
func seedFrom(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv(seedVariable)
	if text == "" {
		hash := fnv.New64a()
		hash.Write([]byte(t.Name()))
		return hash.Sum64()
	}
	seed, err := strategy.ParseSeed(text)
	if err != nil {
		t.Fatalf("%s: %v", seedVariable, err)
	}
	return seed
}
