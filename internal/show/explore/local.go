package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A Local performs runs in this process.
type Local struct {
	runner   *engine.Runner
	scenario scenarios.Scenario
	write    Write
}

// Write writes a schedule to a new directory, and returns that and the command that replays it.
type Write func(*recording.Counterexample) (directory, replay string, err error)

// Below returns the function that writes schedules below a directory. They are replayed by the
// command that the other function returns.
func Below(out string, replayBy func(directory string) string) Write {
	return func(c *recording.Counterexample) (directory, replay string, err error) {
		c.ReplayBy = replayBy
		directory, err = c.Write(out)
		return directory, replayBy(directory), err
	}
}

// NewLocal returns runs of the scenario. Nothing else may use the runner.
func NewLocal(runner *engine.Runner, scenario scenarios.Scenario, write Write) *Local {
	runner.NoKeys = true
	runner.GatherFacts(true)
	return &Local{runner, scenario, write}
}

// Scenario implements [Runs].
func (l *Local) Scenario() *Scenario {
	s := &l.scenario
	dimensions := s.Dimensions()
	dimensions.Servers = s.EffectiveServers()
	return &Scenario{
		s.Subject.Name, s.Subject.Summary, s.Subject.Claims, s.String(), dimensions,
	}
}

// Follow implements [Runs].
func (l *Local) Follow(ctx context.Context, path Path, lenient bool) (*State, []engine.Deviation,
	error,
) {
	f := &follower{path: path, lenient: lenient}
	result := l.runner.RunWithin(ctx, &l.scenario, f)
	missed := path.Deviations[f.next:]
	switch {
	case f.err != nil:
		return nil, nil, f.err
	case result.Cancelled:
		return nil, nil, context.Cause(ctx)
	case !lenient && len(missed) > 0:
		return nil, nil, &BadPath{fmt.Sprintf("step %d, %v, is not reached: the run ends after %d",
			missed[0].Index, missed[0].Step, len(f.taken))}
	}
	return f.state(&l.scenario, result), append(f.skipped, missed...), nil
}

// Save implements [Runs].
func (l *Local) Save(ctx context.Context, path Path) (*Saved, error) {
	state, _, err := l.Follow(ctx, path, false)
	if err != nil {
		return nil, err
	}
	signature := ""
	if len(state.Violations) > 0 {
		signature = state.Violations[0].Signature
	}
	replay := &engine.Replay{Deviations: state.Deviations}
	result := l.runner.RunWithin(ctx, &l.scenario, replay)
	if result.Cancelled {
		return nil, context.Cause(ctx)
	}
	result.Lead(&l.scenario, signature)
	c, err := l.record(result)
	if err != nil {
		return nil, err
	}
	directory, command, err := l.write(c)
	if err != nil {
		return nil, err
	}
	return &Saved{
		directory, command, c.Recording.Property, c.Recording.Signature, c.Recording.TraceHash,
	}, nil
}

// record runs the schedule of a result again, and records it.
func (l *Local) record(result *engine.Result) (*recording.Counterexample, error) {
	defer l.runner.GatherFacts(true) // Recording ends it.
	if len(result.Violations) == 0 {
		return recording.NewPassing(l.runner, l.scenario, result.Deviations)
	}
	return recording.NewCounterexample(l.runner, l.scenario, result.Deviations,
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
	of      timeline.Primitive // what the lock under test is
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
