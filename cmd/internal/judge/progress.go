package judge

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// A Progress prints the progress of searches, one after the other: on a terminal in one line that
// it overwrites, elsewhere in a line per plainInterval.
type Progress struct {
	Terminal bool

	w        io.Writer
	campaign *campaign.Campaign
	label    string // begins each line
	last     time.Duration
	shown    bool
}

// plainInterval is the time between two progress lines if the output is not a terminal.
const plainInterval = 2 * time.Second

// NewProgress returns a progress that is printed to w.
func NewProgress(w io.Writer) *Progress {
	file, ok := w.(*os.File)
	return &Progress{w: w, Terminal: ok && term.IsTerminal(int(file.Fd()))}
}

// columns returns the width of the terminal, or 80 if it does not tell.
func (p *Progress) columns() int {
	if file, ok := p.w.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// Begin begins the progress of a search, or of something else without a campaign. Its lines begin
// with the label.
func (p *Progress) Begin(c *campaign.Campaign, label string) {
	p.Clear()
	p.campaign, p.label, p.last = c, label, 0
}

// Due reports whether it is time for a line of progress, by the time since the beginning.
func (p *Progress) Due(elapsed time.Duration) bool {
	due := elapsed-p.last >= plainInterval
	if due {
		p.last = elapsed
	}
	return due
}

// Show prints how far the search is.
func (p *Progress) Show(found report.Report) {
	r := found.Common()
	if !p.Terminal && !p.Due(r.Elapsed) {
		return
	}
	struck := 0
	for kind := range faults.Kinds {
		struck += r.Coverage.Total(kind)
	}
	var line string
	switch found := found.(type) {
	case *report.Campaign:
		line = fmt.Sprintf("%d schedules, %.0f/s, %d states, depth %d, %d distinct histories, %d "+
			"faults injected", r.Schedules, float64(r.Schedules)/r.Elapsed.Seconds(), r.States,
			r.Depth, found.Histories, struck)
	case *report.Exhaustive:
		line = fmt.Sprintf("%d states, %.0f/s, %d schedules, depth %d, %d untried steps, %d "+
			"faults injected", r.States, float64(r.States)/r.Elapsed.Seconds(), r.Schedules,
			r.Depth, found.Untried, struck)
	}
	if left, ok := p.remaining(r); ok {
		line += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	p.Print(p.label + line)
}

// Print prints a line of progress. On a terminal it is cut: a line that wraps is not overwritten.
func (p *Progress) Print(line string) {
	if !p.Terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r\x1b[K%.*s", p.columns()-1, line)
}

// Say prints a line that stays.
func (p *Progress) Say(format string, values ...any) {
	p.Clear()
	fmt.Fprintf(p.w, format+"\n", values...)
}

// remaining estimates the time until the first bound is reached. It reports false if there is no
// bound, or nothing to estimate from.
func (p *Progress) remaining(r *report.Runs) (left time.Duration, ok bool) {
	bound := func(by time.Duration) {
		if !ok || by < left {
			left, ok = by, true
		}
	}
	for _, b := range [...]struct{ limit, now int }{
		{p.campaign.Planned(), r.Schedules},
		{p.campaign.States, r.States},
	} {
		if b.limit > 0 && b.now > 0 {
			bound(time.Duration(min(float64(r.Elapsed)*float64(b.limit-b.now)/float64(b.now),
				float64(1000*time.Hour))))
		}
	}
	if p.campaign.Budget > 0 {
		bound(p.campaign.Budget - r.Elapsed)
	}
	return max(0, left), ok
}

// Shrinking says which distinct failure is shrunk next.
func (p *Progress) Shrinking(r *report.Runs, index int) {
	p.Print(fmt.Sprintf("shrinking %d of %d: %s", index+1, len(r.Distinct),
		r.Distinct[index].Signature))
}

// Clear removes the line from the terminal.
func (p *Progress) Clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
