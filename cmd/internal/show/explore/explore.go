// Package explore lets a person choose the schedule of a lock step by step. It runs the real code
// of the lock: to reach a state, a run follows the path to it from the start and then ends. That
// takes milliseconds.
//
// # The JSON API
//
// A [Server] serves a page and these requests below a secret path. A body is a JSON object. Times
// are in nanoseconds of virtual time.
//
//	GET  api/scenario              what is explored: [Scenario]
//	POST api/state   PATH          the state at the end of a path: [State]
//	POST api/choose  PATH + step   the state after another step, such as "step": "cut c2"
//	POST api/run     PATH          the state after the default policy has gone on from the end of
//	                               the path to the first violation, or to the end of the run
//	POST api/save    PATH          saves the schedule: [Saved]
//
// PATH is {"length": 12, "deviations": [{"index": 10, "step": "cut c2"}]}: the first 12 decisions.
// Number 10, counted from 0, takes that step; the others follow the default policy. Deviations at
// the length or beyond it are ignored, so that a shorter length goes back, and every path is a
// branch of its own. The answers to state, choose and run have the path in the same form. If a run
// ends before the path does, the answer has the shorter path.
//
// An answer other than 200 is {"error": "…"}: 400 if a step of the path is not enabled or the body
// is malformed.
package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A Path leads from the start of a scenario to a state.
type Path struct {
	Length     int                `json:"length"`     // the number of decisions
	Deviations []engine.Deviation `json:"deviations"` // from the default policy, by index
}

// To returns the path to an earlier decision.
func (p Path) To(length int) Path {
	end := len(p.Deviations)
	for end > 0 && p.Deviations[end-1].Index >= length {
		end--
	}
	return Path{length, append([]engine.Deviation{}, p.Deviations[:end]...)}
}

// An Explorer explores the schedules of a scenario. It may be used from several goroutines, and
// performs one run at a time.
type Explorer struct {
	scenario scenarios.Scenario

	mu     sync.Mutex
	runner *engine.Runner
}

// New returns an explorer of the scenario. Nothing else may use the runner.
func New(runner *engine.Runner, scenario scenarios.Scenario) *Explorer {
	runner.NoKeys = true
	runner.GatherFacts(true)
	return &Explorer{scenario: scenario, runner: runner}
}

// Scenario returns the scenario that is explored.
func (e *Explorer) Scenario() *scenarios.Scenario { return &e.scenario }

// A BadPath is a path that leads nowhere.
type BadPath struct{ reason string }

// Error says which step of the path is wrong.
func (b *BadPath) Error() string { return b.reason }

// At returns the state at the end of a path. The error is a [BadPath], or that of the context.
func (e *Explorer) At(ctx context.Context, path Path) (*State, error) {
	path = path.To(path.Length)
	if err := path.validate(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.follow(ctx, &follower{path: path})
}

// Choose returns the state after another step at the end of a path.
func (e *Explorer) Choose(ctx context.Context, path Path, step sim.Step) (*State, error) {
	path = path.To(path.Length)
	next := Path{path.Length + 1, append(path.Deviations, engine.Deviation{
		Index: path.Length, Step: step,
	})}
	return e.At(ctx, next)
}

// RunOn returns the state after the default policy has gone on from the end of a path to the first
// violation, or to the end of the run. If the path violates a property already, it goes to the end.
func (e *Explorer) RunOn(ctx context.Context, path Path) (*State, error) {
	here, err := e.At(ctx, path)
	if err != nil || here.Ended {
		return here, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	end, err := e.follow(ctx, &follower{path: Path{engine.StepsMax, here.Deviations}})
	if err != nil || len(here.Violations) > 0 {
		return end, err
	}
	return e.firstViolation(ctx, here.Length, end)
}

// FirstViolation returns the first state on a path in which a property is broken, or the last state
// if there is none.
func (e *Explorer) FirstViolation(ctx context.Context, path Path) (*State, error) {
	end, err := e.At(ctx, path)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.firstViolation(ctx, -1, end)
}

// firstViolation returns the first state on the path to the given one in which a property is
// broken, or the given one if there is none. Nothing is broken after holds decisions.
func (e *Explorer) firstViolation(ctx context.Context, holds int, broken *State) (*State, error) {
	if len(broken.Violations) == 0 {
		return broken, nil
	}
	// What a path violates, longer ones violate too.
	for broken.Length-holds > 1 {
		middle, err := e.follow(ctx, &follower{path: broken.To((holds + broken.Length) / 2)})
		switch {
		case err != nil:
			return nil, err
		case len(middle.Violations) > 0:
			broken = middle
		default:
			holds = middle.Length
		}
	}
	return broken, nil
}

// Load returns the path of a recorded schedule to the end of its run, and the deviations that are
// not enabled or not reached.
func (e *Explorer) Load(ctx context.Context, deviations []engine.Deviation) (path Path,
	skipped []engine.Deviation, err error,
) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := &follower{path: Path{engine.StepsMax, deviations}, lenient: true}
	state, err := e.follow(ctx, f)
	if err != nil {
		return Path{}, nil, err
	}
	return state.Path, append(f.skipped, deviations[f.next:]...), nil
}

// follow performs a run and returns the state in which it ends.
func (e *Explorer) follow(ctx context.Context, f *follower) (*State, error) {
	result := e.runner.RunWithin(ctx, &e.scenario, f)
	switch {
	case f.err != nil:
		return nil, f.err
	case result.Cancelled:
		return nil, context.Cause(ctx)
	case !f.lenient && f.next < len(f.path.Deviations):
		return nil, &BadPath{fmt.Sprintf("step %d, %v, is not reached: the run ends after %d",
			f.path.Deviations[f.next].Index, f.path.Deviations[f.next].Step, len(f.taken))}
	}
	return f.state(&e.scenario, result), nil
}

// validate returns an error if no run can follow the path.
func (p Path) validate() error {
	if p.Length < 0 || p.Length > engine.StepsMax {
		return &BadPath{fmt.Sprintf("the length of a path must be from 0 to %d, not %d",
			engine.StepsMax, p.Length)}
	}
	for i, d := range p.Deviations {
		if d.Index < 0 || i > 0 && d.Index <= p.Deviations[i-1].Index {
			return &BadPath{fmt.Sprintf("deviation %d: index %d is not greater than the one "+
				"before", i, d.Index)}
		}
	}
	return nil
}

// A Saved is a schedule that has been saved.
type Saved struct {
	Directory string           `json:"directory"`  // in which it is
	Replay    string           `json:"replay"`     // the command that replays it
	Property  string           `json:"property"`   // empty if the schedule violates nothing
	Signature string           `json:"signature"`  // of the violation, or empty
	TraceHash engine.TraceHash `json:"trace_hash"` // of the whole run
}

// Save saves a path as a schedule in a new directory below the given one. The schedule follows the
// default policy from the end of the path on. The recorded violation is the first of the path or,
// if it has none, the first of the whole run. A run without any is recorded as such.
func (e *Explorer) Save(ctx context.Context, path Path, below string,
	replayBy func(directory string) string,
) (*Saved, error) {
	state, err := e.At(ctx, path)
	if err != nil {
		return nil, err
	}
	signature := ""
	if len(state.Violations) > 0 {
		signature = state.Violations[0].Signature
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	replay := &engine.Replay{Deviations: state.Deviations}
	result := e.runner.RunWithin(ctx, &e.scenario, replay)
	if result.Cancelled {
		return nil, context.Cause(ctx)
	}
	result.Lead(&e.scenario, signature)
	c, err := e.record(result)
	if err != nil {
		return nil, err
	}
	c.ReplayBy = replayBy
	directory, err := c.Write(below)
	if err != nil {
		return nil, err
	}
	return &Saved{
		directory, replayBy(directory), c.Recording.Property, c.Recording.Signature,
		c.Recording.TraceHash,
	}, nil
}

// record runs the schedule of a result again, and records it.
func (e *Explorer) record(result *engine.Result) (*recording.Counterexample, error) {
	defer e.runner.GatherFacts(true) // Recording ends it.
	if len(result.Violations) == 0 {
		return recording.NewPassing(e.runner, e.scenario, result.Deviations)
	}
	return recording.NewCounterexample(e.runner, e.scenario, result.Deviations,
		result.Violations[0].Signature(), 0, 0)
}

// A follower is the strategy that follows a path, and then ends the run.
type follower struct {
	path    Path
	lenient bool // skip deviations that are not enabled, instead of giving up

	view    engine.View
	next    int // the next deviation
	taken   []Taken
	skipped []engine.Deviation
	enabled []sim.EnabledStep // at the end of the path
	normal  int               // the choice of the default policy there
	seen    *snapshot
	err     error
}

// Join is called before the first decision.
func (f *follower) Join(view engine.View) { f.view = view }

// Settled returns false: no decision is settled.
func (f *follower) Settled(int) (step sim.Step, deviates, ok bool) { return step, false, false }

// Choose returns the step of the path, or ends the run at the end of the path.
func (f *follower) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if index >= f.path.Length {
		f.enabled, f.normal = slices.Clone(enabled), defaultIndex
		return engine.Prune
	}
	chosen := f.deviation(index, enabled, defaultIndex)
	taken := Taken{Index: index, Event: len(f.view.Events()), Deviates: chosen != defaultIndex}
	if chosen == engine.Prune {
		return chosen
	}
	taken.Step = engine.Chosen(chosen, enabled)
	f.taken = append(f.taken, taken)
	return chosen
}

// ChooseGoroutine returns the choice of the path, or ends the run at the end of the path.
func (f *follower) ChooseGoroutine(index int, choices []sim.EnabledStep) int {
	return f.Choose(index, choices, 0)
}

// deviation returns the index of the step that the path takes at a decision.
func (f *follower) deviation(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if f.next == len(f.path.Deviations) || f.path.Deviations[f.next].Index != index {
		return defaultIndex
	}
	step := f.path.Deviations[f.next].Step
	if step.Unlisted() {
		f.next++
		return engine.Ask(step)
	}
	if i := slices.IndexFunc(enabled, func(o sim.EnabledStep) bool {
		return o.Step == step
	}); i >= 0 {
		f.next++
		return i
	}
	if f.lenient {
		f.skipped = append(f.skipped, f.path.Deviations[f.next])
		f.next++
		return defaultIndex
	}
	names := make([]string, len(enabled))
	for i := range enabled {
		names[i] = enabled[i].String()
	}
	f.err = &BadPath{fmt.Sprintf("step %d, %v, is not enabled; enabled are %s", index, step,
		strings.Join(names, ", "))}
	return engine.Prune
}

// Observe takes a snapshot of the state in which the run ends.
func (f *follower) Observe(view engine.View) { f.seen = newSnapshot(view) }
