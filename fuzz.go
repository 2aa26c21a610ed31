package interlock

import (
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// Fuzz makes the scenario a target of go test -fuzz. Every byte of the input is a decision; after
// the input ends, the default policy decides. The test also fails if a schedule differs when it
// runs twice, as each input of the corpus does, and one in 64 of the fuzzer's. With the real client
// the test is skipped under the race detector.
//
// Without -fuzz, each input of the corpus runs in a child process, as a [Check] does. With -fuzz,
// the processes of the fuzzer run inputs, and a counterexample is written when the fuzzer has
// ended.
func Fuzz(f *testing.F, scenario scenarios.Scenario) {
	f.Helper()
	checked := demandSound(f, &scenario)
	f.Add([]byte{})
	f.Add([]byte{1, 0, 2, 0, 3, 0, 1, 1, 2, 2, 3, 3})
	fuzzer := newFuzzer(f, &checked)
	f.Fuzz(func(t *testing.T, input []byte) {
		t.Helper()
		fuzzer.begin()
		isolate(t, &checked, func(verdict *verdict) {
			t.Helper()
			if !fuzzer.works && replayRecorded(t, &checked, verdict) {
				return
			}
			runner := engine.NewRunner(t)
			result := runner.Run(&checked, &fuzzBytes{input: input})
			if !result.Fails(&checked) {
				if err := fuzzer.twice.check(runner, &checked, result); err != nil {
					t.Fatal(err)
				}
				verdict.Outcome = recording.Passed
				return
			}
			text := describeRun(t, &checked, result)
			if fuzzer.works {
				fuzzer.keep(result)
			} else {
				text += recordResult(t, &checked, result.Deviations, verdict)
			}
			t.Fatal(text)
		})
	})
	fuzzer.report()
}

// fuzzBytes is the strategy that takes its decisions from a fuzzer's input.
type fuzzBytes struct{ input []byte }

func (b *fuzzBytes) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	if len(b.input) == 0 || len(enabled) == 1 {
		return defaultIndex
	}
	draw := int(b.input[0]) % len(enabled)
	b.input = b.input[1:]
	return engine.UsualFirst(draw, defaultIndex)
}

// ChooseGoroutine decides as Choose does.
func (b *fuzzBytes) ChooseGoroutine(index int, choices []sim.EnabledStep) int {
	return b.Choose(index, choices, 0)
}
