// Package recording stores schedules and counterexamples in files and reads them.
package recording

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/internal/show/page"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Recording is the stored form of a schedule: everything that is needed to run it again.
type Recording struct {
	Format  string `json:"format"`  // always recordingFormat
	Version int    `json:"version"` // of the format
	Lock    string `json:"lock"`
	scenarios.Dimensions
	// Scheduler reports that the schedule decides the order of goroutines.
	Scheduler  bool               `json:"scheduler,omitzero"`
	Seed       uint64             `json:"seed"`     // of the campaign that found it
	Schedule   int                `json:"schedule"` // its number there
	Deviations []engine.Deviation `json:"deviations"`
	TraceHash  engine.TraceHash   `json:"trace_hash"`
	Property   string             `json:"property"`  // empty if the run violates nothing
	Signature  string             `json:"signature"` // of the violation; empty as Property is
	// Reproduces says how often the schedule fails, unless it fails in every run.
	Reproduces Reproduction `json:"reproduces,omitzero"`
	Checksum   string       `json:"checksum"` // of all the others
}

// A Reproduction says in how many runs of a schedule a violation occurred.
type Reproduction struct {
	Failures int `json:"failures"`
	Runs     int `json:"runs"`
}

// ReproductionRuns is how often a schedule is run whose runs differ.
const ReproductionRuns = 20

// Reproduce runs a schedule [ReproductionRuns] times, and counts the runs with a violation of the
// signature within the contract, or of any if that is empty.
func Reproduce(r *engine.Runner, scenario *scenarios.Scenario, deviations []engine.Deviation,
	signature string,
) Reproduction {
	n := Reproduction{Runs: ReproductionRuns}
	for range n.Runs {
		result := r.Run(scenario, &engine.Replay{Deviations: deviations})
		if slices.ContainsFunc(result.Violations, func(v *history.Violation) bool {
			return signature == "" || v.Signature() == signature
		}) {
			n.Failures++
		}
	}
	return n
}

// String says how often the violation occurred.
func (n Reproduction) String() string {
	return fmt.Sprintf("reproduces in %d of %d runs", n.Failures, n.Runs)
}

// Violates reports whether the recorded run violates a property.
func (r *Recording) Violates() bool { return r.Signature != "" }

const (
	recordingFormat  = "interlock-schedule"
	recordingVersion = 3
	recordingName    = "schedule.json"
	reportName       = "report.json"
	traceName        = "trace.jsonl"
	timelineName     = "timeline.txt"
	pageName         = "timeline.html"
)

// otherNames are the files of a counterexample beside its schedule.
var otherNames = []string{reportName, traceName, timelineName, pageName}

// Read reads a schedule from a file or from the directory of a counterexample. The error
// names the file and what is wrong with it.
func Read(path string) (*Recording, error) {
	path, err := fileAt(path)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Recording
	switch err := json.Unmarshal(content, &r); {
	case len(content) == 0:
		return nil, fmt.Errorf("%s is not a schedule of Interlock: it is empty", path)
	case err != nil:
		return nil, fmt.Errorf("%s is not a schedule of Interlock, or is damaged: %w", path,
			inTermsOfJSON(err))
	}
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}

// fileAt returns the file of the schedule at a path, which may be the directory of a
// counterexample.
func fileAt(path string) (string, error) {
	beside := filepath.Join(filepath.Dir(path), recordingName)
	if _, err := os.Stat(beside); err == nil && slices.Contains(otherNames, filepath.Base(path)) {
		return "", fmt.Errorf("%s is no schedule: give its directory, %s", path, filepath.Dir(path))
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return inDirectory(path)
	}
	inside, _ := filepath.Glob(filepath.Join("*", filepath.Base(path), recordingName))
	if err != nil && len(inside) == 1 {
		return "", fmt.Errorf("%w; there is %s", err, filepath.Dir(inside[0]))
	}
	return path, nil // If there is no such file, reading it says so.
}

// inDirectory returns the file of the schedule in the directory of a counterexample.
func inDirectory(path string) (string, error) {
	name := filepath.Join(path, recordingName)
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	var inside []string
	for _, pattern := range []string{"*", "*/*"} {
		found, err := filepath.Glob(filepath.Join(path, pattern, recordingName))
		if err != nil {
			return "", err
		}
		inside = append(inside, found...)
	}
	if len(inside) == 0 {
		return "", fmt.Errorf("%s is no directory of a counterexample: it has no %s", path,
			recordingName)
	}
	for i := range inside {
		inside[i] = filepath.Dir(inside[i])
	}
	return "", fmt.Errorf("%s holds counterexamples: name one, such as %s", path,
		strings.Join(inside[:min(3, len(inside))], " or "))
}

// ReadSchedule reads the JSON form of a schedule that need not be complete.
func ReadSchedule(path string) (*Recording, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Recording)
	return r, json.Unmarshal(content, r)
}

// Write writes the schedule to a file, with its checksum.
func (r *Recording) Write(path string) error {
	signed := *r
	signed.Checksum = r.checksum()
	return file.WriteJSON(path, &signed)
}

// checksum returns the checksum that the schedule should have.
func (r *Recording) checksum() string {
	unsigned := *r
	unsigned.Checksum = ""
	return file.Checksum(&unsigned)
}

func (r *Recording) validate() error {
	if r.Format != recordingFormat {
		return fmt.Errorf("not a schedule of Interlock: its format is %q, not %q", r.Format,
			recordingFormat)
	}
	if r.Version != recordingVersion {
		return fmt.Errorf("version %d of the format, and this program reads only version %d",
			r.Version,
			recordingVersion)
	}
	if r.Checksum != r.checksum() {
		return errors.New("damaged or edited: its checksum is wrong. Take the file as Interlock " +
			"wrote it, search again, or choose the steps with interlock explore")
	}
	if (r.Property == "") != (r.Signature == "") {
		return errors.New("property and signature must both be empty, or neither")
	}
	for i, d := range r.Deviations {
		if d.Index < 0 || i > 0 && d.Index <= r.Deviations[i-1].Index {
			return fmt.Errorf("deviation %d: index %d is not greater than the one before", i,
				d.Index)
		}
	}
	return nil
}

// ErrScheduler is the error of a schedule that decides the order of goroutines, in a program that
// cannot, and the other way round. Such schedules count other decisions.
var ErrScheduler = errors.New("the schedule was recorded " + map[bool]string{
	true: "without the goroutine scheduler: replay it without",
	false: "with the goroutine scheduler: replay it with interlock replay --scheduler, or " +
		"GOFLAGS=\"$(interlock scheduler)\" go test",
}[scheduler.Enabled])

// Scenario returns the scenario of the schedule with the given lock.
func (r *Recording) Scenario(subject scenarios.Subject) (*scenarios.Scenario, error) {
	if r.Scheduler != scheduler.Enabled {
		return nil, ErrScheduler
	}
	s := r.Of(subject)
	return &s, s.Validate()
}

// A Counterexample is a run that violates a property, with its schedule. That of [NewPassing]
// violates nothing.
type Counterexample struct {
	Scenario   scenarios.Scenario
	Recording  Recording
	Result     *engine.Result                // its first violation is the recorded one
	ReplayBy   func(directory string) string // the command that replays it
	Test       string                        // the test that found it, or ""
	By         string                        // see [GoTest]
	Package    string                        // the import path of the test's package
	Likelihood *explain.Likelihood           // of the first violation, or nil
}

// NewCounterexample runs the schedule and records it. It records the first violation in the order
// of [engine.Result.Lead], which must have the signature unless that is empty. If the run has no
// violation, or another one comes first, NewCounterexample returns an error: the schedule does not
// fail, or the lock is nondeterministic. The result is valid until the runner's next run.
func NewCounterexample(r *engine.Runner, scenario scenarios.Scenario, deviations []engine.Deviation,
	signature string, seed uint64, schedule int,
) (*Counterexample, error) {
	r.GatherFacts(true)
	defer r.GatherFacts(false)
	result := r.Run(&scenario, &engine.Replay{Deviations: deviations})
	result.Lead(&scenario, signature)
	if len(result.Violations) == 0 {
		return nil, &notReproduced{schedule: schedule, recorded: signature}
	}
	first := result.Violations[0]
	if signature != "" && first.Signature() != signature {
		return nil, &notReproduced{schedule, signature, first.Signature()}
	}
	c := newRun(scenario, result)
	c.Recording.Seed, c.Recording.Schedule = seed, schedule
	c.Recording.Property, c.Recording.Signature = string(first.Property), first.Signature()
	return c, nil
}

// NewDeadly runs a schedule that ends the program, up to the decision that does, and records it.
func NewDeadly(r *engine.Runner, scenario scenarios.Scenario, deviations []engine.Deviation,
	death *engine.Death, seed uint64, schedule int,
) *Counterexample {
	r.GatherFacts(true)
	defer r.GatherFacts(false)
	result := r.RunToDeath(&scenario, &engine.Replay{Deviations: deviations}, death)
	c, first := newRun(scenario, result), result.Violations[0]
	c.Recording.Seed, c.Recording.Schedule = seed, schedule
	c.Recording.Property, c.Recording.Signature = string(first.Property), first.Signature()
	return c
}

// NewPassing runs a schedule that violates nothing, and records it. If it violates a property,
// NewPassing returns an error: the lock is nondeterministic. The result is valid until the runner's
// next run.
func NewPassing(r *engine.Runner, scenario scenarios.Scenario, deviations []engine.Deviation) (
	*Counterexample, error,
) {
	r.GatherFacts(true)
	defer r.GatherFacts(false)
	result := r.Run(&scenario, &engine.Replay{Deviations: deviations})
	if len(result.Violations) > 0 {
		return nil, fmt.Errorf("the schedule violated nothing, and violates %q when it is run "+
			"again\n%s", result.Violations[0].Signature(), engine.LikelyCauses)
	}
	return newRun(scenario, result), nil
}

// newRun records a run, but for its violation and where its schedule comes from.
func newRun(scenario scenarios.Scenario, result *engine.Result) *Counterexample {
	return &Counterexample{Scenario: scenario, Result: result, Recording: Recording{
		Format: recordingFormat, Version: recordingVersion,
		Lock: scenario.Subject.Name, Dimensions: scenario.Dimensions(),
		Scheduler:  scheduler.Enabled,
		Deviations: append([]engine.Deviation{}, result.Deviations...),
		TraceHash:  engine.TraceHash(result.TraceHash),
	}}
}

// A notReproduced is a schedule that does not fail in the same way when it is run again.
type notReproduced struct {
	schedule int
	recorded string // signature
	now      string // signature of the present violation; "" if there is none
}

// Error says what the schedule violated and what it violates now.
func (n *notReproduced) Error() string {
	what := "a property"
	if n.recorded != "" {
		what = fmt.Sprintf("%q", n.recorded)
	}
	now := "violates nothing"
	if n.now != "" {
		now = fmt.Sprintf("violates %q", n.now)
	}
	return fmt.Sprintf("schedule %d violated %s, and %s when it is run again\n%s",
		n.schedule, what, now, engine.LikelyCauses)
}

// Explain returns the run as a report.
func (c *Counterexample) Explain() *explain.Report {
	report := c.Result.Explain(&c.Scenario)
	report.Likelihood = c.Likelihood
	return report
}

// Why explains the violation with a signature, or returns nil if the counterexample has none.
func (c *Counterexample) Why(signature string) *explain.Why {
	for _, why := range c.Explain().Whys {
		if why.Violation.Signature() == signature {
			return &why
		}
	}
	return nil
}

// Write writes the counterexample to a new directory below the given one and returns its path. The
// directory appears atomically. It holds report.json, schedule.json, trace.jsonl, timeline.txt and
// timeline.html.
func (c *Counterexample) Write(below string) (string, error) {
	directory := filepath.Join(below, fmt.Sprintf("%s-%s-%s",
		pathElement(c.Recording.Lock),
		cmp.Or(c.Recording.Property, "no-violation"), c.Recording.TraceHash))
	// The name holds the trace hash, so an existing directory holds the same counterexample.
	return directory, file.WriteDirectory(directory, func(draft string) error {
		return c.writeFiles(draft, directory)
	})
}

// about names the run for the page.
func (c *Counterexample) about(directory string) page.About {
	return page.About{
		Lock: c.Recording.Lock, Scenario: c.Scenario.String(),
		TraceHash: c.Recording.TraceHash.String(), Replay: c.ReplayBy(directory),
		Deviations: Steps(c.Result, c.Recording.Deviations),
	}
}

// Steps lists deviations of a run as a page shows them.
func Steps(result *engine.Result, deviations []engine.Deviation) []string {
	steps := make([]string, len(deviations))
	for i, d := range deviations {
		steps[i] = fmt.Sprintf("%s: %v",
			explain.StepName(result.Starts, len(result.Events), d.Index), d.Step)
	}
	return steps
}

func (c *Counterexample) writeFiles(draft, directory string) error {
	if err := c.Recording.Write(filepath.Join(draft, recordingName)); err != nil {
		return err
	}
	explained := c.Explain()
	violations := make([]reportedViolation, len(c.Result.Violations))
	for i, why := range explained.Whys {
		v := why.Violation
		violations[i] = reportedViolation{
			Property: v.Property, Signature: v.Signature(), Detail: v.Detail, Why: why.Text,
			Event: v.Event, Evidence: v.Evidence,
		}
	}
	if len(violations) > 0 {
		violations[0].Likelihood = c.Likelihood
	}
	report := map[string]any{
		"version": 1, "lock": c.Recording.Lock, "scenario": c.Scenario.String(),
		"violations": violations,
		"trace_hash": c.Recording.TraceHash, "steps": c.Result.Steps,
		"replay": c.ReplayBy(directory),
	}
	if of := explained.Timeline.Of; of != timeline.Lock {
		report["primitive"] = of
	}
	if c.Result.Panic != "" {
		report["panic"] = c.Result.Panic
	}
	if c.Test != "" {
		report["test"] = c.Test
	}
	if c.By != "" {
		report["by"], report["package"] = c.By, c.Package
	}
	if err := file.WriteJSON(filepath.Join(draft, reportName), report); err != nil {
		return err
	}
	if err := file.Write(filepath.Join(draft, timelineName), explained.Write); err != nil {
		return err
	}
	shown := &page.Page{Data: page.New(c.about(directory), explained)}
	if err := file.Write(filepath.Join(draft, pageName), shown.Write); err != nil {
		return err
	}
	return file.Write(filepath.Join(draft, traceName), history.NewLog(c.Result.Events).Write)
}
