package interlock

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/refusal"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/flightrecorder"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/internal/run/supervise"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/sim"
)

const (
	// probeStall is how long a step may take when a schedule is run again.
	probeStall = 3 * time.Second
	// shrinkStall is that limit for candidates of a shrinker. The result is run again.
	shrinkStall = time.Second
	// shrinkTime bounds the time in which a deadly schedule is shrunk.
	shrinkTime = 6 * time.Second
	// memoryShare is the part of the limit of the heap that a single schedule may use.
	memoryShare = 4
	// fewTries and manyTries are how often a schedule is run to find out whether it is deadly.
	fewTries, manyTries = 20, 1000
)

// reportDeath finds the schedule that ended a child, shrinks it, and fails the test.
func (p *parent) reportDeath(o *supervise.Outcome) {
	p.t.Helper()
	var under childNote
	p.job.ReadOutput(&under) // A child that died early has noted nothing.
	if why := o.Death.Refusal(); why != "" {
		refuse(p.t, p.scenario, why, p.verdict)
	}
	active := o.Active()
	if len(active) == 0 {
		p.verdict.fatalf(p.t, "%v: the code of the test ended the program, outside of any "+
			"schedule: %s", p.scenario, describeDeath(o.Death))
	}
	found, culprit := p.findCulprit(o, active)
	if why := afterCrash(found.death, culprit); why != "" {
		refuse(p.t, p.scenario, why, p.verdict)
	}
	if under.Searches && found.deaths > 0 && !slow(found.death.Reason) && culprit.Schedule > 0 {
		found, culprit = p.findFirst(found, culprit)
	}
	run := &deadlyRun{
		Replays: under.Replays, Searched: under.Searches,
		Often: oftenText(found.deaths, found.runs), Recording: p.record(culprit),
	}
	run.Recording.Seed = under.Seed
	found.death.Steps = culprit.Steps
	run.Signature = found.death.Signature()
	if run.Searched && found.deaths == found.runs {
		run.Again = searchCommand(p.t.Name(), under.Seed, culprit.Schedule)
	}
	run.Deaths = shrink.Deaths{
		Known: map[int]*engine.Death{0: found.death}, Tries: min(found.tries(), fewTries),
	}
	if under.Replays != "" || found.deaths == 0 {
		run.Deaths.Runs = 1
	}
	report := p.shrink(run)
	p.verdict.Seed = under.Seed
	p.verdict.failed(report.Failure)
	p.t.Fatal(report.Text)
}

// afterCrash returns why a death is not judged that is the act of a process after its crash, or "".
func afterCrash(d *engine.Death, f *flightrecorder.Flight) string {
	process, _ := history.ProcessOf(int32(d.Process))
	for _, deviation := range f.Deviations {
		step := deviation.Step
		if process != 0 && step.Process == process && step.Kind == sim.Fault &&
			(step.Fault == faults.Crash || step.Fault == faults.Restart) {
			return fmt.Sprintf("%scode of %s that runs on after its crash, without a call of its "+
				"client, and ends the program: %s; leave crash and restart out of the faults, or "+
				"let such code only return an error", refusal.Mark,
				history.ProcessName(process), describeDeath(d))
		}
	}
	return ""
}

// describeDeath describes a death outside of runs.
func describeDeath(d *engine.Death) string { return d.Violation(nil, sim.Step{}).Detail }

// A finding says how often a schedule ended the program, and how.
type finding struct {
	death  *engine.Death
	deaths int
	runs   int
}

// tries returns how often the schedule must be run until it is likely to end the program.
func (f *finding) tries() int { return (f.runs + f.deaths - 1) / max(1, f.deaths) }

// findCulprit runs the schedules that were under way again, until one of them ends a child. If none
// does, it returns the first.
func (p *parent) findCulprit(o *supervise.Outcome, active []flightrecorder.Flight) (*finding,
	*flightrecorder.Flight,
) {
	runs := 0
	for _, tries := range []int{fewTries, manyTries} {
		for i := range active {
			f := p.probe(&active[i], tries)
			if f.deaths == 0 {
				runs += f.runs
				continue
			}
			if o.Death.Reason == f.death.Reason && f.death.Reason == supervise.Exited {
				f.death.Message = o.Death.Message
			}
			if slow(f.death.Reason) {
				return f, &active[i]
			}
			for range 2 { // to know how often
				again := p.probe(&active[i], tries)
				f.deaths, f.runs = f.deaths+again.deaths, f.runs+again.runs
			}
			return f, &active[i]
		}
	}
	return &finding{death: o.Death, runs: runs}, &active[0]
}

// firstTime bounds the time in which a search is repeated up to a deadly schedule.
const firstTime = 5 * time.Second

// findFirst returns the first deadly schedule of the search that found one. Which one ends a child
// with several workers depends on the machine.
func (p *parent) findFirst(found *finding, culprit *flightrecorder.Flight) (*finding,
	*flightrecorder.Flight,
) {
	job, err := p.job.Again(searchMode)
	if err != nil {
		p.t.Fatal(err)
	}
	job.Schedules = culprit.Schedule + 1
	o, err := p.run(job, false, min(firstTime, timeLeft(p.t)/4))
	if err != nil || o.Death == nil || len(o.Active()) == 0 || o.TimedOut {
		return found, culprit
	}
	if f, first := p.findCulprit(o, o.Active()); f.deaths > 0 {
		return f, first
	}
	return found, culprit
}

// slow reports whether a death takes much longer than a run.
func slow(reason string) bool { return reason == supervise.Stalled || reason == supervise.Memory }

// probe runs a schedule in a child. It updates the flight to what the schedule did before it ended
// the child.
func (p *parent) probe(flight *flightrecorder.Flight, tries int) *finding {
	job, err := p.job.Again(probeMode)
	if err != nil {
		p.t.Fatal(err)
	}
	job.Stall, job.Memory = min(p.job.Stall, probeStall), p.job.Memory/memoryShare
	job.TrapExit = true
	if err := job.WriteInput(deadlyRun{Recording: p.record(flight), Tries: tries}); err != nil {
		p.t.Fatal(err)
	}
	o, err := p.run(job, false, probeTime+3*probeStall)
	if err != nil {
		p.t.Fatal(err)
	}
	died := o.Active()
	if o.Death == nil || len(died) == 0 {
		return &finding{runs: tries}
	}
	flight.Steps = died[0].Steps
	return &finding{death: o.Death, deaths: 1, runs: died[0].Runs}
}

// record returns a flight as a recording.
func (p *parent) record(f *flightrecorder.Flight) recording.Recording {
	return recording.Recording{
		Lock: p.scenario.Subject.Name, Dimensions: f.Dimensions, Scheduler: scheduler.Enabled,
		Schedule: f.Schedule, Deviations: f.Deviations,
	}
}

// shrink shrinks a deadly schedule in children, and returns the report of the last. Each child
// performs the runs of its predecessor until it dies too. See [shrink.Deaths].
func (p *parent) shrink(run *deadlyRun) *deadlyReport {
	began, last := time.Now(), 0
	shrinkTime := min(shrinkTime, timeLeft(p.t)/2)
	for {
		job, err := p.job.Again(shrinkMode)
		if err != nil {
			p.t.Fatal(err)
		}
		job.Stall, job.Memory = min(p.job.Stall, shrinkStall), p.job.Memory/memoryShare
		job.TrapExit = true
		if err := job.WriteInput(run); err != nil {
			p.t.Fatal(err)
		}
		limit := shrinkTime - time.Since(began)
		if run.Deaths.Runs > 0 {
			limit = 0
		}
		o, err := p.run(job, false, limit)
		if err != nil {
			p.t.Fatal(err)
		}
		var report deadlyReport
		if job.ReadOutput(&report) == nil {
			if report.Directory == "" || len(run.Deaths.Known) == 1 || p.isDeadly(&report) {
				return &report
			}
			os.RemoveAll(report.Directory) // The report names another one.
			run.Deaths.Known = map[int]*engine.Death{0: run.Deaths.Known[0]}
			run.Deaths.Runs = 1
			continue
		}
		died := o.Active()
		known := o.Death != nil && len(died) == 1 && run.Deaths.Known[died[0].Schedule] == nil
		switch {
		case run.Deaths.Runs > 0:
			failure := recording.Failure{Signature: run.Signature}
			if run.Replays != "" {
				failure = failureIn(p.t.Name(), run.Signature, run.Replays)
			}
			return &deadlyReport{
				Text: p.describeUnshrunk(run, describeOutcome(o)), Failure: failure,
			}
		case known && afterCrash(o.Death, &died[0]) != "":
			known = false // It is not what is being shrunk.
		case known:
			last = died[0].Schedule
			o.Death.Steps = died[0].Steps
			run.Deaths.Known[last] = o.Death
		}
		if !known || time.Since(began) > shrinkTime {
			run.Deaths.Runs = last + 1 // The next child stops there.
		}
	}
}

// describeUnshrunk describes a deadly schedule that no child has shrunk and written, and says why.
func (p *parent) describeUnshrunk(run *deadlyRun, why string) string {
	text := &strings.Builder{}
	if run.Replays != "" {
		fmt.Fprintf(text, "%s fails (%s):\n%s", run.Replays, run.Often, run.Signature)
		return text.String()
	}
	fmt.Fprintf(text, "%v, %s ends the program (%s), %s\n%s\n", p.scenario, run.which(), run.Often,
		stepList(new(engine.Result), run.Recording.Deviations), run.Signature)
	addUnwritten(text, why, run.Again)
	return text.String()
}

// isDeadly reports whether the shrunk schedule ends a child. A candidate of the shrinker may have
// ended one because the machine was too busy.
func (p *parent) isDeadly(report *deadlyReport) bool {
	r := &report.Recording
	flight := flightrecorder.Flight{
		Schedule: r.Schedule, Deviations: r.Deviations, Dimensions: r.Dimensions,
	}
	return p.probe(&flight, manyTries).deaths > 0 && flight.Steps == report.Steps
}

// describeOutcome says how a child ended that should have written a report.
func describeOutcome(o *supervise.Outcome) string {
	if o.Death != nil {
		return describeDeath(o.Death)
	}
	return "the child process ended"
}

// recordFailed shrinks a failing schedule in a child, which writes the counterexample.
func (p *parent) recordFailed(run *recording.Recording) string {
	job, err := p.job.Again(recordMode)
	if err != nil {
		return err.Error()
	}
	if err := job.WriteInput(deadlyRun{Recording: *run}); err != nil {
		return err.Error()
	}
	o, err := p.run(job, false, 0)
	if err != nil {
		return err.Error()
	}
	var report deadlyReport
	if job.ReadOutput(&report) != nil {
		return describeOutcome(o)
	}
	return report.Text
}
