package explain

import (
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/history/timeline"
)

// DescribedWidth is the width of a description, in columns: go test indents it.
const DescribedWidth = 100

// Describe returns the violations of the run and why they came about, with the decisive part of its
// timeline. It sets the width of the timeline.
func (r *Report) Describe() string {
	var text strings.Builder
	r.Timeline.Width = DescribedWidth
	for _, why := range r.Whys {
		more := strings.TrimPrefix(strings.TrimPrefix(why.Text, why.detail), " ")
		fmt.Fprintf(&text, "%s: %s\n%s", why.Violation.Signature(), why.Violation.Detail,
			timeline.Wrap(more, DescribedWidth, "  "))
		text.WriteByte('\n')
	}
	r.Decisive(&text) // A strings.Builder does not fail.
	r.WriteLikelihood(&text)
	return text.String()
}
