package explain_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// cited matches the number of an event in a text.
var cited = regexp.MustCompile(`events? (\d+)(?: and (\d+))?`)

// Failures of random schedules, which are longer than counterexamples, are explained too: the
// texts are about events of the history, and the timeline shows those of the first.
func TestRandomFailures(t *testing.T) {
	for i, defect := range subjects.Defects() {
		for _, servers := range []int{1, 3} {
			if !long.Enabled() && (servers == 1) == (i%2 == 0) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", defect.Name, servers), func(t *testing.T) {
				scenario := &scenarios.Scenario{
					Subject: defect.Broken, Clients: 3, Cycles: 2,
					Servers: servers,
					Faults:  faults.Default(),
				}
				runner := engine.NewRunner(t)
				runner.GatherFacts(true)
				for schedule := range long.Count(15, 30) {
					result := runner.Run(scenario, strategy.NewRandom(1, schedule))
					if len(result.Violations) == 0 {
						continue
					}
					checkExplained(t, explain.NewReport("", result.Events, result.Violations))
				}
			})
		}
	}
}

func checkExplained(t *testing.T, report *explain.Report) {
	t.Helper()
	for n, why := range report.Whys {
		if strings.Contains(why.Text, "%!") || strings.Contains(why.Text, "  ") ||
			!strings.HasSuffix(why.Text, ".") {
			t.Errorf("%s: %q", why.Violation.Property, why.Text)
		}
		for _, match := range cited.FindAllStringSubmatch(why.Text, -1) {
			for _, number := range match[1:] {
				event, err := strconv.Atoi(number)
				if err == nil && event >= len(report.Timeline.Events) {
					t.Errorf("%s: no event %d: %s", why.Violation.Property, event, why.Text)
				}
			}
		}
		for _, event := range why.Events {
			if n == 0 && !slices.Contains(report.Show, event) {
				t.Errorf("%s: event %d is not shown: %s", why.Violation.Property, event, why.Text)
			}
		}
	}
	var text bytes.Buffer
	if err := report.Write(&text); err != nil {
		t.Error(err)
	}
	if err := report.Decisive(&text); err != nil {
		t.Error(err)
	}
}
