// Package explore lets a person choose the schedule of a lock step by step. It runs the real code
// of the lock: to reach a state, a run follows the path to it from the start and then ends. That
// takes milliseconds. The runs are those of this process ([Local]) or of another one ([Remote]).
package explore

import (
	"context"
	"fmt"
	"sync"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A Path leads from the start of a scenario to a state.
type Path struct {
	Length     int                `json:"length"`     // the number of steps
	Deviations []engine.Deviation `json:"deviations"` // from the default policy, by index
}

// To returns the path to an earlier step.
func (p Path) To(length int) Path {
	end := len(p.Deviations)
	for end > 0 && p.Deviations[end-1].Index >= length {
		end--
	}
	return Path{length, append([]engine.Deviation{}, p.Deviations[:end]...)}
}

// A Scenario says what is explored.
type Scenario struct {
	Lock    string             `json:"lock"`
	Summary string             `json:"summary"`
	Claims  []history.Property `json:"claims"`
	Text    string             `json:"text"` // the scenario in a line
	scenarios.Dimensions
}

// Runs are the runs of a scenario from which an [Explorer] learns.
type Runs interface {
	// Scenario returns the scenario of the runs.
	Scenario() *Scenario
	// Follow returns the state in which a run along the path ends. A lenient run goes on where a
	// deviation is not enabled. Skipped are the deviations that are not enabled or not reached. The
	// error is a [BadPath], that of the context, or says why there is no run.
	Follow(ctx context.Context, path Path, lenient bool) (_ *State, skipped []engine.Deviation,
		_ error)
	// Save saves a path as [Explorer.Save] says.
	Save(ctx context.Context, path Path) (*Saved, error)
}

// An Explorer explores the schedules of a scenario. It may be used from several goroutines, and
// performs one run at a time.
type Explorer struct {
	mu   sync.Mutex
	runs Runs
}

// New returns an explorer. Nothing else may use the runs.
func New(runs Runs) *Explorer { return &Explorer{runs: runs} }

// Scenario returns the scenario that is explored.
func (e *Explorer) Scenario() *Scenario { return e.runs.Scenario() }

// A BadPath is a path that leads nowhere.
type BadPath struct{ Reason string }

// Error says which step of the path is wrong.
func (b *BadPath) Error() string { return b.Reason }

// At returns the state at the end of a path. The error is that of [Runs.Follow].
func (e *Explorer) At(ctx context.Context, path Path) (*State, error) {
	path = path.To(path.Length)
	if err := path.validate(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.follow(ctx, path)
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
	end, err := e.follow(ctx, Path{engine.StepsMax, here.Deviations})
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
// broken, or the given one if there is none. Nothing is broken after holds steps.
func (e *Explorer) firstViolation(ctx context.Context, holds int, broken *State) (*State, error) {
	if len(broken.Violations) == 0 {
		return broken, nil
	}
	// What a path violates, longer ones violate too.
	for broken.Length-holds > 1 {
		middle, err := e.follow(ctx, broken.To((holds+broken.Length)/2))
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

// Load returns the path of a recorded schedule, to the end of its run if that comes first, and the
// deviations that are not enabled or not reached.
func (e *Explorer) Load(ctx context.Context, recorded Path) (path Path,
	skipped []engine.Deviation, err error,
) {
	e.mu.Lock()
	defer e.mu.Unlock()
	state, skipped, err := e.runs.Follow(ctx, recorded, true)
	if err != nil {
		return Path{}, nil, err
	}
	return state.Path, skipped, nil
}

// follow returns the state at the end of a path.
func (e *Explorer) follow(ctx context.Context, path Path) (*State, error) {
	state, _, err := e.runs.Follow(ctx, path, false)
	return state, err
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

// Save saves a path as a schedule in a new directory. The schedule follows the default policy from
// the end of the path on. The recorded violation is the first of the path or, if it has none, the
// first of the whole run. A run without any is recorded as such.
func (e *Explorer) Save(ctx context.Context, path Path) (*Saved, error) {
	path = path.To(path.Length)
	if err := path.validate(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs.Save(ctx, path)
}
