package interlock

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/supervise"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
)

const (
	inProcessVariable = "INTERLOCK_IN_PROCESS" // 1: no child process
	memoryVariable    = "INTERLOCK_MEMORY_MIB" // limit of the child's heap
	stallVariable     = "INTERLOCK_STALL"      // how long a step may take; default: stallDefault
)

// The modes of a child.
const (
	searchMode = "search" // the call itself
	probeMode  = "probe"  // runs a schedule again
	shrinkMode = "shrink" // shrinks a deadly schedule and writes the counterexample
	recordMode = "record" // shrinks another failing schedule and writes the counterexample
)

// stallDefault is how long a step may take in a search. It is the only use of the wall clock, and
// decides only that a run is given up: a replay, which is patient for less time, must do so too.
const stallDefault = 10 * time.Second

// childNote is what a child notes for its parent while it performs a call.
type childNote struct {
	Seed     uint64             // of the search under way
	Searches bool               // schedules of the seed, by number
	Replays  string             // path of the counterexample that is being replayed
	Verdict  *recording.Verdict `json:",omitempty"` // when the call has ended
}

// note tells the parent, if there is one, what is under way.
func note(n childNote) {
	job := supervise.Current()
	if job == nil {
		return
	}
	limit := job.Stall
	if n.Replays != "" {
		limit = min(limit, probeStall)
	}
	supervise.Patience(limit)
	job.WriteOutput(n) // Without it, the parent's report says less.
}

// isolate performs a call that runs the code of the lock in a child process, so that the test
// survives the code. See package supervise. It writes the verdict of the call.
func isolate(t *testing.T, scenario *scenarios.Scenario, call func(*verdict)) {
	t.Helper()
	if explored(t, scenario) {
		return
	}
	number := supervise.NextCall(t)
	if job := supervise.Current(); job != nil {
		if job.Test == t.Name() && job.Call == number {
			performJob(t, job, scenario, call)
		}
		return // The parent knows that the earlier calls of the test passed.
	}
	if replayed, _ := replays(t); replayed == nil && !fuzzes() {
		noteLock(t, scenario.Subject.Name)
	}
	defer outliveSignal()()
	verdict := newVerdict(t, scenario)
	defer verdict.write(t)
	if runsInProcess(t) {
		call(verdict)
		return
	}
	job, err := supervise.NewJob(t.Name(), number)
	if err != nil {
		t.Logf("the search runs in this process: %v", err)
		call(verdict)
		return
	}
	defer job.Remove() // What is left is in the directory for temporary files.
	job.Mode, job.Stall, job.Memory = searchMode, stallLimit(t), memoryLimit(t)
	p := &parent{t: t, scenario: scenario, job: job, verdict: verdict}
	outcome, err := p.run(job, true, 0)
	if err == nil && outcome.Death != nil && outcome.Death.RunOver {
		outcome, err = p.keepStopped()
		job = p.job
	}
	if err == nil && outcome.Ended {
		verdict.takeOver(job)
	}
	switch {
	case err != nil || !outcome.Began:
		why := ""
		if err != nil {
			why = err.Error()
		} else {
			why = "the child process did not reach it: " + outcome.Printed
		}
		t.Logf("the search runs in this process: %s", why)
		call(verdict)
	case outcome.Death != nil:
		p.reportDeath(outcome)
	case outcome.Skipped:
		t.SkipNow()
	case outcome.Failed && !outcome.Returned:
		t.FailNow()
	case outcome.Failed:
		t.Fail()
	case !outcome.Returned:
		t.Fatal("the search itself has panicked, as its output shows")
	}
}

// keepStopped performs the call again, because the code of the lock has ended the program after the
// end of a run, which no process of a real system outlives. This time, stopped code stays blocked.
func (p *parent) keepStopped() (*supervise.Outcome, error) {
	again, err := p.job.Again(searchMode)
	if err != nil {
		return nil, err
	}
	again.KeepStopped = true
	p.job = again
	return p.run(again, true, 0)
}

// performJob performs the job of this process, which is a child.
func performJob(t *testing.T, job *supervise.Job, scenario *scenarios.Scenario,
	call func(*verdict),
) {
	t.Helper()
	interruption() // so that a signal does not look like a death by the code of the lock
	job.Perform(t, scenario.Subject.EffectiveService().OwnsFrame, func() {
		t.Helper()
		verdict := newVerdict(t, scenario)
		switch job.Mode {
		case probeMode:
			probe(t, job, scenario)
		case shrinkMode:
			shrinkDeadly(t, job, scenario, verdict)
		case recordMode:
			recordFailing(t, job, scenario, verdict)
		default:
			defer verdict.handOver(job)
			call(verdict)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	t.SkipNow() // The rest of the test is that of the parent.
}

// runsInProcess reports whether the call must run in this process.
func runsInProcess(t testing.TB) bool {
	t.Helper()
	for _, profile := range []string{
		"cpuprofile", "memprofile", "blockprofile", "mutexprofile", "trace",
	} {
		if f := flag.Lookup("test." + profile); f != nil && f.Value.String() != "" {
			return true // The profile is to show the search.
		}
	}
	return truthFrom(t, inProcessVariable) || fuzzes() || runtime.GOOS == "js" ||
		runtime.GOOS == "wasip1"
}

// stallLimit returns how long a step may take. It leaves time for a report before the test's
// timeout.
func stallLimit(t testing.TB) time.Duration {
	t.Helper()
	text := os.Getenv(stallVariable)
	if text == "" {
		return min(stallDefault, timeLeft(t)/4)
	}
	limit, err := time.ParseDuration(text)
	if err != nil || limit <= 0 {
		t.Fatalf("%s is %q, not a duration such as 30s", stallVariable, text)
	}
	return limit
}

// timeLeft returns the time until the test's timeout; an hour if there is none.
func timeLeft(t testing.TB) time.Duration {
	if test, ok := t.(*testing.T); ok {
		if deadline, ok := test.Deadline(); ok {
			return max(time.Until(deadline), time.Second)
		}
	}
	return time.Hour
}

// memoryDefault bounds the heap of a search that is not exhaustive.
const memoryDefault = 4 << 30

// memoryLimit returns the limit of a child's heap.
func memoryLimit(t testing.TB) uint64 {
	t.Helper()
	if n := numberFrom(t, memoryVariable, 1, 0); n > 0 {
		return uint64(n) << 20
	}
	total, err := memlimit.FromCgroup()
	if err != nil || total == 0 {
		total, err = memlimit.FromSystem()
	}
	exhaustive := os.Getenv(strategyVariable) == strategy.ExhaustiveName
	switch {
	case err != nil && exhaustive:
		return 0
	case err != nil:
		return memoryDefault
	case exhaustive: // The search has a limit of its own, which it reaches first.
		return total / 100 * 95
	}
	return min(memoryDefault, total/2)
}

// A parent is the process that waits for children and reports their deaths.
type parent struct {
	t        testing.TB
	scenario *scenarios.Scenario
	job      *supervise.Job
	verdict  *verdict
}

// run runs a job in a child. The limit is 0 for a child that may take until the test ends.
func (p *parent) run(job *supervise.Job, relays bool, limit time.Duration) (*supervise.Outcome,
	error,
) {
	timeout := time.Duration(0)
	if t, ok := p.t.(*testing.T); ok {
		if deadline, ok := t.Deadline(); ok {
			timeout = max(time.Until(deadline), time.Second)
		}
	}
	owned := p.scenario.Subject.EffectiveService().OwnsFrame
	if !relays {
		return job.Run(nil, limit, timeout, owned)
	}
	return job.Run(p.t.Output(), limit, timeout, owned)
}

// A deadlyRun is a schedule that may end the program, as parent and child exchange it.
type deadlyRun struct {
	Recording recording.Recording
	Tries     int // how often to run it

	// for shrinking
	Deaths    shrink.Deaths
	Signature string
	Replays   string // the path of a recording; if it is "", the counterexample is written
	Searched  bool   // the schedule was found by the search of a seed
	Often     string // how often the schedule ends the program
	Again     string // the command that finds the schedule again, or ""
}

// which names the schedule.
func (r *deadlyRun) which() string {
	if r.Searched {
		return fmt.Sprintf("seed %d: schedule %d", r.Recording.Seed, r.Recording.Schedule)
	}
	return "a schedule"
}

// A deadlyReport is what a child that shrinks hands back.
type deadlyReport struct {
	Text      string
	Directory string // of the counterexample, if one was written
	Steps     int    // the number of decisions
	Recording recording.Recording
	Failure   recording.Failure // for the verdict
}

// probeTime bounds the time in which a child runs one schedule over and over.
const probeTime = 3 * time.Second

// probe runs a schedule several times.
func probe(t *testing.T, job *supervise.Job, scenario *scenarios.Scenario) {
	run, recorded := readDeadly(t, job, scenario)
	runner := engine.NewRunner(t)
	began := time.Now()
	for try := range run.Tries {
		runner.Schedule = try
		runner.Run(recorded, &engine.Replay{Deviations: run.Recording.Deviations})
		if time.Since(began) > probeTime {
			break
		}
	}
}

// readDeadly reads the schedule that the child is to run.
func readDeadly(t *testing.T, job *supervise.Job, scenario *scenarios.Scenario) (*deadlyRun,
	*scenarios.Scenario,
) {
	run := new(deadlyRun)
	if err := job.ReadInput(run); err != nil {
		t.Fatal(err)
	}
	recorded, err := run.Recording.Scenario(scenario.Subject)
	if err != nil {
		t.Fatal(err)
	}
	return run, recorded
}

// shrinkDeadly shrinks a schedule that ends the program, and writes the counterexample.
func shrinkDeadly(t *testing.T, job *supervise.Job, scenario *scenarios.Scenario,
	verdict *verdict,
) {
	run, recorded := readDeadly(t, job, scenario)
	runner := engine.NewRunner(t)
	small, deviations, death := shrink.Deadly(context.Background(), runner, *recorded,
		run.Recording.Deviations, run.Signature, &run.Deaths)
	c := recording.NewDeadly(runner, small, deviations, death, run.Recording.Seed,
		run.Recording.Schedule)
	text, directory := &strings.Builder{}, ""
	switch {
	case run.Replays != "":
		how := "as recorded"
		if before, err := recording.Read(run.Replays); err == nil &&
			before.Signature != c.Recording.Signature {
			how = "differently from the recorded " + before.Signature
		}
		verdict.failed(failureIn(t.Name(), c.Recording.Signature, run.Replays))
		fmt.Fprintf(text, "%s fails %s (%s):\n%s", run.Replays, how, run.Often,
			c.Explain().Describe())
		if death.Reason == supervise.Stalled {
			text.WriteString("\n" + engine.MustNotRun)
		}
		text.WriteString(howToSearch(t, run.Replays))
	default:
		fmt.Fprintf(text, "%v, %s ends the program (%s); shrunk to %v %s\n%s\n", recorded,
			run.which(), run.Often, &small, stepList(c.Result, deviations),
			c.Explain().Describe())
		if death.Reason == supervise.Stalled {
			text.WriteString(engine.MustNotRun + "\n\n")
		}
		directory = addCounterexample(t, c, text, run.Again, verdict)
	}
	output := deadlyReport{
		text.String(), directory, death.Steps, c.Recording, verdict.Failures[0],
	}
	if err := job.WriteOutput(output); err != nil {
		t.Fatal(err)
	}
	supervise.Finish() // Goroutines of runs that stand still are left.
}

// recordFailing shrinks a failing schedule and writes the counterexample.
func recordFailing(t *testing.T, job *supervise.Job, scenario *scenarios.Scenario,
	verdict *verdict,
) {
	run, recorded := readDeadly(t, job, scenario)
	text := recordResult(t, recorded, run.Recording.Deviations, verdict)
	if err := job.WriteOutput(deadlyReport{Text: text}); err != nil {
		t.Fatal(err)
	}
}

// recordResult shrinks a schedule that failed, and writes the counterexample. It returns where that
// is, or why there is none. If the lock is nondeterministic, the schedule is run until it fails, at
// most [recording.ReproductionRuns] times.
func recordResult(t *testing.T, scenario *scenarios.Scenario, deviations []engine.Deviation,
	verdict *verdict,
) string {
	runner := engine.NewRunner(t)
	result, runs := runner.Run(scenario, &engine.Replay{Deviations: deviations}), 1
	for ; !result.Fails(scenario); runs++ {
		if runs == recording.ReproductionRuns {
			return fmt.Sprintf("the schedule fails in none of %d further runs\n%s", runs,
				engine.LikelyCauses)
		}
		result = runner.Run(scenario, &engine.Replay{Deviations: deviations})
	}
	if mistake := engine.SetUpError(result.Violations[0]); mistake != "" {
		return "a mistake in the scenario, not in the lock: " + mistake
	}
	c, err := shrink.Shorten(context.Background(), runner,
		&campaign.Campaign{Scenario: *scenario}, &report.Campaign{Runs: report.Runs{
			Failure: &report.Failure{
				Deviations: deviations, Violations: result.Violations, Unstable: runs > 1,
			},
		}})
	if err != nil {
		return err.Error()
	}
	text := &strings.Builder{}
	if n := c.Recording.Reproduces; n.Runs > 0 {
		fmt.Fprintf(text, "%s; ", n)
	}
	fmt.Fprintf(text, "shrunk to %v %s", &c.Scenario, stepList(c.Result, c.Recording.Deviations))
	addCounterexample(t, c, text, "", verdict)
	return text.String()
}

// addCounterexample writes a counterexample, and says and returns where it is. Again is the command
// that finds the failure without it, or "".
func addCounterexample(t *testing.T, c *recording.Counterexample, text *strings.Builder,
	again string, verdict *verdict,
) string {
	directory, replay, err := writeCounterexample(t, c, verdict)
	if err != nil {
		addUnwritten(text, err.Error(), again)
		return ""
	}
	fmt.Fprintf(text, "counterexample %s\nreplay %s", directory, replay)
	if again != "" {
		fmt.Fprintf(text, "\nor, without that directory, %s", again)
	}
	return directory
}

// addUnwritten says why a counterexample was not written, and how to find the failure again.
func addUnwritten(text *strings.Builder, why, again string) {
	fmt.Fprintf(text, "the counterexample could not be written: %s", why)
	if again != "" {
		fmt.Fprintf(text, "\nreplay %s", again)
	}
}

// oftenText says how often a schedule ends the program.
func oftenText(deaths, runs int) string {
	if deaths == 0 {
		return "but not when it is run again, in " + strconv.Itoa(runs) + " runs"
	}
	return fmt.Sprintf("in %d of %d runs", deaths, runs)
}
