package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// A progress prints the progress of a campaign: on a terminal in one line that it overwrites,
// elsewhere in a line per plainInterval.
type progress struct {
	w        io.Writer
	warnings io.Writer
	campaign *campaign.Campaign
	label    string // begins each line
	terminal bool
	last     time.Duration
	shown    bool
}

// plainInterval is the time between two progress lines if the output is not a terminal.
const plainInterval = 2 * time.Second

func newProgress(w io.Writer, campaign *campaign.Campaign) *progress {
	file, ok := w.(*os.File)
	return &progress{
		w: w, warnings: w, campaign: campaign, terminal: ok && term.IsTerminal(int(file.Fd())),
	}
}

func (p *progress) show(found report.Report) {
	r := found.Common()
	if !p.terminal && r.Elapsed-p.last < plainInterval {
		return
	}
	p.last = r.Elapsed
	var line string
	switch found := found.(type) {
	case *report.Campaign:
		line = fmt.Sprintf("%d schedules, %.0f/s, %d states, depth %d, %d distinct histories, %d "+
			"faults injected", r.Schedules, float64(r.Schedules)/r.Elapsed.Seconds(), r.States,
			r.Depth, found.Histories, coverageTotal(r))
	case *report.Exhaustive:
		line = fmt.Sprintf("%d states, %.0f/s, %d schedules, depth %d, %d untried steps, %d "+
			"faults injected", r.States, float64(r.States)/r.Elapsed.Seconds(), r.Schedules,
			r.Depth, found.Untried, coverageTotal(r))
	}
	if left, ok := p.remaining(r); ok {
		line += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	line = p.label + line
	if p.terminal && p.label != "" {
		line = fmt.Sprintf("%.79s", line) // One line, as in shrinking.
	}
	p.print(line)
}

// print prints a line of progress.
func (p *progress) print(line string) {
	if !p.terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r\x1b[K%s", line)
}

// remaining estimates the time until the first bound is reached. It reports false if there is no
// bound, or nothing to estimate from.
func (p *progress) remaining(r *report.Runs) (left time.Duration, ok bool) {
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

// finish clears the progress line and says what follows the search.
func (p *progress) finish(found report.Report) {
	p.clear()
	r := found.Common()
	if e, ok := found.(*report.Exhaustive); ok && e.Unsaved != nil && e.Complete {
		fmt.Fprintf(p.warnings, "--checkpoint: %v\n", e.Unsaved)
		return
	}
	switch {
	case len(r.Distinct) > 0:
		fmt.Fprintf(p.w, "%s found, shrinking the schedules (Ctrl-C stops early)\n",
			counted(len(r.Distinct), "different violation"))
	case r.Failure != nil:
		fmt.Fprintln(p.w, "violation found, shrinking its schedule (Ctrl-C stops early)")
	case r.OutOfContract != nil:
		fmt.Fprintln(p.w, "out-of-contract violation found, shrinking its schedule (Ctrl-C stops "+
			"early)")
	}
}

// shrinking says which distinct failure is shrunk next.
func (p *progress) shrinking(r *report.Runs, index int) {
	line := fmt.Sprintf("shrinking %d of %d: %s", index+1, len(r.Distinct),
		r.Distinct[index].Signature)
	if p.terminal {
		line = fmt.Sprintf("%.79s", line) // One line: a longer one could not be overwritten.
	}
	p.print(line)
}

// clear removes the line from the terminal.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
