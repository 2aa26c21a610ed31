package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
)

// CheckRapid checks the scenario under rapid. Every decision of a schedule is a draw, so that rapid
// shrinks a schedule that fails and writes a file that -rapid.failfile reproduces. The number of
// schedules is rapid's: the flag -rapid.checks or the variable RAPID_CHECKS. With the real client
// the test is skipped under the race detector.
func CheckRapid(t *testing.T, scenario Scenario) {
	t.Helper()
	rapid.Check(t, Property(t, scenario))
}

// Property returns the property that [CheckRapid] checks, for callers of rapid. It ends the test if
// the scenario is not valid.
func Property(t *testing.T, scenario Scenario) func(*rapid.T) {
	t.Helper()
	demandSound(t, &scenario)
	runner := NewRunner(t)
	return func(rt *rapid.T) {
		result := runner.Run(&scenario, rapidDraws{rt})
		if scenario.Fails(result) {
			rt.Fatalf("%s", result.Describe(&scenario))
		}
	}
}

// rapidDraws is the strategy that takes its decisions from rapid. The default policy's step comes
// first, because rapid shrinks towards the first.
type rapidDraws struct{ t *rapid.T }

func (r rapidDraws) Choose(_ int, enabled []EnabledStep, defaultIndex int) int {
	if len(enabled) == 1 {
		return defaultIndex
	}
	steps := make([]Step, len(enabled))
	for draw := range steps {
		steps[draw] = enabled[usualFirst(draw, defaultIndex)].Step
	}
	step := rapid.SampledFrom(steps).Draw(r.t, "step")
	return slices.IndexFunc(enabled, func(o EnabledStep) bool { return o.Step == step })
}

// usualFirst maps 0 to the default index, and moves the indexes before that up by one.
func usualFirst(draw, defaultIndex int) int {
	switch {
	case draw == 0:
		return defaultIndex
	case draw <= defaultIndex:
		return draw - 1
	}
	return draw
}

// Fuzz makes the scenario a target of go test -fuzz. Every byte of the input is a decision; after
// the input ends, the default policy decides. With the real client the test is skipped under the
// race detector.
func Fuzz(f *testing.F, scenario Scenario) {
	f.Helper()
	demandSound(f, &scenario)
	f.Add([]byte{})
	f.Add([]byte{1, 0, 2, 0, 3, 0, 1, 1, 2, 2, 3, 3})
	f.Fuzz(func(t *testing.T, input []byte) {
		result := NewRunner(t).Run(&scenario, &fuzzBytes{input: input})
		if scenario.Fails(result) {
			t.Fatal(result.Describe(&scenario))
		}
	})
}

// fuzzBytes is the strategy that takes its decisions from a fuzzer's input.
type fuzzBytes struct{ input []byte }

func (b *fuzzBytes) Choose(_ int, enabled []EnabledStep, defaultIndex int) int {
	if len(b.input) == 0 || len(enabled) == 1 {
		return defaultIndex
	}
	draw := int(b.input[0]) % len(enabled)
	b.input = b.input[1:]
	return usualFirst(draw, defaultIndex)
}

// Describe returns the violations of the run and why they came about, with the decisive part of its
// timeline.
func (r *Result) Describe(scenario *Scenario) string {
	var text strings.Builder
	report := r.Explain(scenario)
	for _, why := range report.Whys {
		fmt.Fprintf(&text, "%s: %s\n%s\n", why.Violation.Signature(), why.Violation.Detail,
			timeline.Wrap(why.Text, describedWidth, "  "))
	}
	report.Timeline.Width = describedWidth
	report.Decisive(&text) // A strings.Builder does not fail.
	return text.String()
}

// describedWidth is the width of a description, in columns: go test indents it.
const describedWidth = 100

// Explain returns the run as a report. Results of a runner that gathers facts are explained in more
// detail; see [Runner.GatherFacts].
func (r *Result) Explain(scenario *Scenario) *explain.Report {
	return explain.NewReport(scenario.String(), r.Events, r.Violations)
}
