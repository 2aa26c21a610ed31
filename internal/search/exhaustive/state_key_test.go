package exhaustive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/internal/testkit/referee"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim"
)

// Two paths to states with equal keys yield the same events and verdicts if the same decisions
// follow. The processes' code runs live.
func TestEqualStatesOfSearchesHaveEqualFutures(t *testing.T) {
	all := []scenarios.Scenario{
		locktest.Planned(t, subjects.Textbook(), 2, 1, "any=1"),
		locktest.Planned(t, subjects.Mutex(), 2, 1, "any=2"),
		locktest.Planned(t, subjects.Mutex(), 3, 1, "none"),
		locktest.Planned(t, subjects.Herd(), 2, 2, "none"),
		locktest.Planned(t, locktest.Named(t, "reentrant"), 2, 1, "cut=1,restart=1"),
		locktest.Planned(t, locktest.Named(t, "rwmutex"), 3, 1, "crash=1"),
		locktest.Planned(t, locktest.Named(t, "uncounted"), 2, 1, "expire=1"),
		locktest.Planned(t, locktest.Named(t, "retry-loop"), 2, 2, "none"),
	}
	several := locktest.Planned(t, subjects.Mutex(), 2, 1, "kill-server=1,cut=1")
	several.Servers = 3
	all = append(all, several)
	r := referee.New(t)
	for i := range long.Count(4, 12) { // A key without the faults that are left shows on seed 11.
		all = append(all, r.Draw(referee.Dimensions()[0], uint64(11-i)).Scenario())
	}
	compared, broken := 0, 0
	for i := range all {
		one, other := compareFutures(t, &all[i], long.Count(10, 40))
		compared, broken = compared+one, broken+other
	}
	if compared < long.Count(60, 500) || broken == 0 {
		t.Errorf("%d pairs of paths were compared, %d with a violation", compared, broken)
	}
	t.Logf("%d pairs of paths were compared, %d with a violation", compared, broken)
}

// compareFutures compares the continuations of states that random walks reach on two paths. It
// returns the number of comparisons and of comparisons with a violation.
func compareFutures(t *testing.T, s *scenarios.Scenario, walks int) (compared, broken int) {
	seen := make(map[uint64][]sim.Step)
	for walk := range walks {
		sightings := exhaustive.Sightings(t, s, strategy.NewRandom(7, walk))
		tried := 0
		for i := len(sightings) - 1; i >= 0 && tried < 2; i-- {
			now := sightings[i]
			steps, known := seen[now.Key]
			if !known {
				seen[now.Key] = slices.Clone(now.Steps)
			}
			if !known || slices.Equal(steps, now.Steps) {
				continue
			}
			tried++
			one, oneBroken := futureAfter(t, s, steps, walk)
			other, otherBroken := futureAfter(t, s, now.Steps, walk)
			if one != other || oneBroken != otherBroken {
				t.Fatalf("%v: after %v\n%s\n%s\nand after %v\n%s\n%s", s, steps, one, oneBroken,
					now.Steps, other, otherBroken)
			}
			compared++
			if oneBroken != "" {
				broken++
			}
		}
	}
	return compared, broken
}

// futureAfter returns the events after the steps, and the properties that they violate.
func futureAfter(t *testing.T, s *scenarios.Scenario, steps []sim.Step, walk int) (events,
	broken string,
) {
	result, before := exhaustive.GoOn(t, s, steps, strategy.NewRandom(8, walk))
	var lines, fired []string
	now := result.Events[before-1].At
	for i := range result.Events[before:] {
		e := result.Events[before+i]
		line := fmt.Sprintf("%v %v c%d s%d #%d %s %s %s %s %d", e.At-now, e.Kind, e.Process,
			e.Server,
			e.Attempt, e.Op, e.Path, e.Name, e.Err, e.Zxid)
		if e.Kind == history.WatchFired {
			fired = append(fired, line)
			continue
		}
		// The order in which one write fires watches of different processes is irrelevant.
		slices.Sort(fired)
		lines, fired = append(append(lines, fired...), line), nil
	}
	var verdicts []string
	for _, v := range result.Violations {
		if v.Event >= before || v.Property == history.Progress ||
			v.Property == history.NoLeakedNodes ||
			v.Property == history.NoLostWatch {
			verdicts = append(verdicts, v.Signature())
		}
	}
	return strings.Join(lines, "\n"), strings.Join(verdicts, ", ")
}

// firstStep always takes the first enabled step. It thus decides by the state alone, whereas the
// default policy also considers ages.
type firstStep struct {
	replay engine.Replay
	from   int // the index of the first decision of its own
}

func (f *firstStep) Choose(index int, options []sim.EnabledStep, usual int) int {
	if index < f.from {
		return f.replay.Choose(index, options, usual)
	}
	return 0
}

// futureFrom returns the outcome of a run that continues with firstStep from a decision, and the
// state key at that decision.
func futureFrom(runner *engine.Runner, s *scenarios.Scenario, deviations []engine.Deviation,
	from int,
) (string, uint64) {
	result := runner.Run(s, &firstStep{
		replay: engine.Replay{Deviations: deviations},
		from:   from,
	})
	text := processHistories(result.Events, s.Clients)
	for _, v := range result.Violations {
		text += v.Signature()
	}
	return text, result.Keys[from-1]
}

// States with equal keys have equal futures.
func TestEqualKeysHaveEqualFutures(t *testing.T) {
	type state struct {
		deviations []engine.Deviation
		steps      int
	}
	for _, subject := range []scenarios.Subject{
		subjects.Textbook(), subjects.Mutex(),
		subjects.RetryProtected(), locktest.Successor(true),
	} {
		runner, pairs := engine.NewRunner(t), 0
		s := locktest.Planned(t, subject, 2, 1, "any=1")
		seen := make(map[uint64]state)
		for schedule := range long.Count(120, 300) {
			result := runner.Run(&s, strategy.NewRandom(4, schedule))
			keys, deviations := slices.Clone(result.Keys), result.Deviations
			for i, key := range keys {
				until := slices.IndexFunc(deviations,
					func(d engine.Deviation) bool { return d.Index > i })
				if until < 0 {
					until = len(deviations)
				}
				now := state{deviations[:until], i + 1}
				before, ok := seen[key]
				if !ok {
					seen[key] = now
					continue
				}
				if slices.Equal(before.deviations, now.deviations) || i%7 != 0 {
					continue
				}
				pairs++
				one, oneKey := futureFrom(runner, &s, before.deviations, before.steps)
				two, twoKey := futureFrom(runner, &s, now.deviations, now.steps)
				if oneKey != key || twoKey != key {
					continue // The fair phase had begun.
				}
				if one != two {
					t.Fatalf("%s: after %v and %v:\n%s\n\n%s", subject.Name, before.deviations,
						now.deviations, one, two)
				}
			}
		}
		if pairs < 20 {
			t.Errorf("%s: only %d pairs of paths to one state, want at least 20", subject.Name,
				pairs)
		}
	}
}
