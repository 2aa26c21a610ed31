package explain

import (
	"bufio"
	"fmt"
	"io"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/timeline"
)

// A Report shows why a history breaks properties: the explanation, then the timeline.
type Report struct {
	*Explanation
	Title    string            // the first line of the whole report, if not empty
	Timeline timeline.Timeline // its Width and Color are those of the report

	Likelihood *Likelihood // of the first violation, or nil
	Starts     []int       // the number of events before each decision, if that is known
}

// NewReport returns the report of a history with the given violations, the most important first.
func NewReport(title string, primitive timeline.Primitive, events []history.Event,
	violations []*history.Violation,
) *Report {
	x := explain(primitive, events, violations)
	var cited []int
	for _, why := range x.Whys {
		cited = append(cited, why.Events...)
	}
	return &Report{Explanation: x, Title: title, Timeline: timeline.Timeline{
		Events: events, Violations: violations, Show: x.Show, Cited: cited, Of: primitive,
	}}
}

// Decisive writes the events that mattered, or the whole history if nothing is violated.
func (r *Report) Decisive(w io.Writer) error {
	if len(r.Whys) == 0 {
		return r.Timeline.Write(w)
	}
	return r.Timeline.Decisive(w)
}

// Write writes the title, the explanation, the whole history and the likelihood.
func (r *Report) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	if r.Title != "" {
		fmt.Fprintf(out, "%s\n\n", r.Title) // Flush returns the first error.
	}
	for _, why := range r.Whys {
		r.Why(out, why)
		out.WriteByte('\n')
	}
	if err := r.Timeline.Write(out); err != nil {
		return err
	}
	r.WriteLikelihood(out)
	return out.Flush()
}

// Why writes the reason of a violation and why it came about.
func (r *Report) Why(w io.Writer, why Why) {
	width := r.Timeline.EffectiveWidth()
	fmt.Fprintf(w, "VIOLATION %s\n%s%s", why.Violation.Signature(), why.demand(width),
		timeline.Wrap(why.Text, width, "  "))
	if why.Violation.Guarantee != nil {
		fmt.Fprintf(w, "  %v\n", why.Violation.Guarantee)
	}
}
