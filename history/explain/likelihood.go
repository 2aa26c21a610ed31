package explain

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/interlock-sim/interlock/history/timeline"
)

// A Likelihood tells how likely a violation was at each step of a schedule, and where another
// choice avoids it.
type Likelihood struct {
	Samples int     `json:"samples"` // the number of random continuations at each step
	Curve   []Point `json:"curve"`   // the bug-probability curve, in the order of steps
	// the step at which the curve rises most, or nil if it does not rise
	Jump *Decision `json:"jump,omitempty"`
	// the last step found at which another choice, and the default policy from there on, avoid
	// every violation, or nil
	Avoidable *Decision `json:"avoidable,omitempty"`
}

// A Point is the share of random continuations that violate the property in the same way, from the
// state before a step. The last point may be that at the end of the schedule.
type Point struct {
	Step        int     `json:"step"` // the number of steps taken, from 0
	Probability float64 `json:"probability"`
}

// A Decision is a decision of a schedule.
type Decision struct {
	Step    int    `json:"step"`              // which step of the run, from 0
	Taken   string `json:"taken"`             // the step taken
	Instead string `json:"instead,omitempty"` // the other choice
}

// Rise returns the largest rise of the curve: the index of the point before it, or -1 if the curve
// does not rise. Of equal ones, the last counts.
func (l *Likelihood) Rise() int {
	found, most := -1, 1
	for i := 1; i < len(l.Curve); i++ {
		if rise := l.count(i) - l.count(i-1); rise >= most {
			found, most = i-1, rise
		}
	}
	return found
}

// WriteLikelihood writes, after an empty line, the curve of the report's likelihood as a line of
// bars, and in words, in lines of the report's width. Without a likelihood it writes nothing.
func (r *Report) WriteLikelihood(w io.Writer) error {
	l := r.Likelihood
	if l == nil || len(l.Curve) == 0 {
		return nil
	}
	width := r.Timeline.EffectiveWidth()
	text := "\n"
	if len(l.Curve) > 1 {
		label := fmt.Sprintf("likelihood, steps 0 to %d  ", l.Curve[len(l.Curve)-1].Step)
		text += label + l.bars(width-utf8.RuneCountInString(label)) + "\n"
	}
	_, err := io.WriteString(w, text+timeline.Wrap(r.LikelihoodText(), width, ""))
	return err
}

// LikelihoodText returns the largest rise of the curve and the last step found at which another
// choice avoids the violation, in words. The report must have a likelihood.
func (r *Report) LikelihoodText() string {
	var text strings.Builder
	l := r.Likelihood
	rise, jumps := l.Rise(), l.Jump != nil && l.Rise() >= 0
	if jumps {
		fmt.Fprintf(&text, "Of %d random continuations before %s, `%s`, %d lead to the first "+
			"violation, and %s after it.", l.Samples, r.step(l.Jump.Step), l.Jump.Taken,
			l.count(rise), l.countAfter(rise+1))
	} else {
		fmt.Fprintf(&text, "The first violation occurs in %d of %d random schedules.", l.count(0),
			l.Samples)
	}
	if a := l.Avoidable; a != nil {
		fmt.Fprintf(&text, " With `%s`", a.Instead)
		if !jumps || a.Step != l.Jump.Step {
			fmt.Fprintf(&text, " instead of `%s` at %s", a.Taken, r.step(a.Step))
		} else {
			text.WriteString(" instead")
		}
		text.WriteString(", and no deviation after it, it does not occur.")
	}
	return text.String()
}

func (r *Report) step(number int) string {
	return StepName(r.Starts, len(r.Timeline.Events), number)
}

// StepName names a step of a run, such as "step 2 (event 13)", with its first event as
// [FirstEvent] returns it.
func StepName(starts []int, events, step int) string {
	if event, known := FirstEvent(starts, events, step); known {
		return fmt.Sprintf("step %d (event %d)", step, event)
	}
	return fmt.Sprintf("step %d", step)
}

// FirstEvent returns the first event of a step, given the number of events before each step and at
// the end of the run. It returns false if that is unknown, or the step has no event.
func FirstEvent(starts []int, events, step int) (event int, known bool) {
	if step < 0 || step >= len(starts) {
		return 0, false
	}
	end := events
	if step+1 < len(starts) {
		end = starts[step+1]
	}
	return starts[step], starts[step] < end
}

// count returns the number of violations behind a point.
func (l *Likelihood) count(point int) int {
	return int(math.Round(l.Curve[point].Probability * float64(l.Samples)))
}

func (l *Likelihood) countAfter(point int) string {
	if n := l.count(point); n < l.Samples {
		return fmt.Sprint(n)
	}
	return "all"
}

// levels are the bars of a curve; the last is certainty.
var levels = []rune("▁▂▃▄▅▆▇█")

// bars renders the curve in at most the given number of columns. A column shows the last of its
// points.
func (l *Likelihood) bars(width int) string {
	columns := min(len(l.Curve), max(width, 1))
	bars := make([]rune, columns)
	for i := range bars {
		point := l.Curve[(i+1)*len(l.Curve)/columns-1]
		bars[i] = levels[int(point.Probability*float64(len(levels)-1))]
	}
	return string(bars)
}
