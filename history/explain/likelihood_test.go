package explain_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
)

func curve(probabilities ...float64) []explain.Point {
	points := make([]explain.Point, len(probabilities))
	for i, p := range probabilities {
		points[i] = explain.Point{Step: i, Probability: p}
	}
	return points
}

// reportOf returns a report that has a likelihood and a width only.
func reportOf(l *explain.Likelihood, width int) *explain.Report {
	report := explain.NewReport("", timeline.Lock, nil, nil)
	report.Likelihood, report.Timeline.Width = l, width
	return report
}

func TestLikelihood(t *testing.T) {
	jump := &explain.Decision{Step: 2, Taken: "serve c1"}
	for _, tc := range []struct {
		name string
		of   *explain.Likelihood
		want string
		// the number of events before each step, of 9 events; nil if it is unknown
		starts []int
	}{
		{"none", nil, "", nil},
		{
			"jump to certainty",
			&explain.Likelihood{
				Samples: 50, Curve: curve(0.02, 0.2, 0.5, 1), Jump: jump,
				Avoidable: &explain.Decision{Step: 1, Taken: "tick", Instead: "leave c1"},
			},
			"\nlikelihood, steps 0 to 3  ▁▂▄█\n" +
				"Of 50 random continuations before step 2, `serve c1`, 25 lead to the first\n" +
				"violation, and all after it. With `leave c1` instead of `tick` at step 1, and no\n" +
				"deviation after it, it does not occur.\n",
			nil,
		},
		{
			"with events",
			&explain.Likelihood{
				Samples: 50, Curve: curve(0.02, 0.2, 0.5, 1), Jump: jump,
				Avoidable: &explain.Decision{Step: 1, Taken: "tick", Instead: "leave c1"},
			},
			"\nlikelihood, steps 0 to 3  ▁▂▄█\n" +
				"Of 50 random continuations before step 2 (event 5), `serve c1`, 25 lead to the\n" +
				"first violation, and all after it. With `leave c1` instead of `tick` at step 1\n" +
				"(event 4), and no deviation after it, it does not occur.\n",
			[]int{3, 4, 5},
		},
		{
			"steps without events",
			&explain.Likelihood{
				Samples: 50, Curve: curve(0.02, 0.2, 0.5, 1), Jump: jump,
				Avoidable: &explain.Decision{Step: 3, Taken: "tick", Instead: "leave c1"},
			},
			"\nlikelihood, steps 0 to 3  ▁▂▄█\n" +
				"Of 50 random continuations before step 2, `serve c1`, 25 lead to the first\n" +
				"violation, and all after it. With `leave c1` instead of `tick` at step 3, and no\n" +
				"deviation after it, it does not occur.\n",
			[]int{3, 4, 9, 9},
		},
		{
			"the same step",
			&explain.Likelihood{
				Samples: 50, Curve: curve(0.02, 0.2, 0.5, 1), Jump: jump,
				Avoidable: &explain.Decision{Step: 2, Taken: "serve c1", Instead: "serve c2"},
			},
			"\nlikelihood, steps 0 to 3  ▁▂▄█\n" +
				"Of 50 random continuations before step 2, `serve c1`, 25 lead to the first\n" +
				"violation, and all after it. With `serve c2` instead, and no deviation after it,\n" +
				"it does not occur.\n",
			nil,
		},
		{
			"jump below certainty",
			&explain.Likelihood{
				Samples: 100, Curve: curve(0, 0, 0.29, 0.99, 1), Jump: jump,
			},
			"\nlikelihood, steps 0 to 4  ▁▁▃▇█\n" +
				"Of 100 random continuations before step 2, `serve c1`, 29 lead to the first\n" +
				"violation, and 99 after it.\n",
			nil,
		},
		{
			"certain from the start",
			&explain.Likelihood{Samples: 100, Curve: curve(1)},
			"\nThe first violation occurs in 100 of 100 random schedules.\n",
			nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var text bytes.Buffer
			report := reportOf(tc.of, 80)
			report.Starts, report.Timeline.Events = tc.starts, make([]history.Event, 9)
			if err := report.WriteLikelihood(&text); err != nil {
				t.Fatal(err)
			}
			if text.String() != tc.want {
				t.Errorf("got\n%swant\n%s", &text, tc.want)
			}
		})
	}
}

// The curve of a long schedule fits into the width. Its last bar is that of the last point.
func TestLikelihoodWidth(t *testing.T) {
	points := make([]float64, 500)
	points[499] = 1
	l := &explain.Likelihood{Samples: 100, Curve: curve(points...)}
	for width := 1; width <= 130; width++ {
		var text bytes.Buffer
		reportOf(l, width).WriteLikelihood(&text) // A buffer takes everything.
		bars, _, _ := strings.Cut(text.String()[1:], "\n")
		if !strings.HasSuffix(bars, "▁█") {
			t.Errorf("width %d: the bars are %q", width, bars)
		}
		for line := range strings.Lines(text.String()) {
			if columns := utf8.RuneCountInString(line) - 1; columns > max(width, 40) {
				t.Errorf("width %d: %d columns in %q", width, columns, line)
			}
		}
	}
}
