package judge

import (
	"context"
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shrink"
)

// A Search is a campaign or, if Exhaustive is set, that search of the campaign's scenario within
// the campaign's bounds.
type Search struct {
	*campaign.Campaign
	Exhaustive *exhaustive.Search
}

// processors limits the program to as many processors as there are workers, until the returned
// function is called. A worker runs one goroutine at a time: processors without a worker only add
// hand-overs.
func processors(workers int) (restore func()) {
	all := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(min(max(1, workers), all))
	return func() { runtime.GOMAXPROCS(all) }
}

// Run runs the search, and shows its progress unless p is nil.
func (s *Search) Run(ctx context.Context, t *testing.T, p *Progress) report.Report {
	defer processors(s.Workers)()
	if p != nil {
		s.Progress = func(r *report.Campaign) { p.Show(r) }
	}
	e := s.Exhaustive
	if e == nil {
		if os.Getenv("GOGC") == "" {
			defer debug.SetGCPercent(debug.SetGCPercent(campaign.GCPercent))
		}
		return s.Campaign.Run(ctx, t)
	}
	if p != nil {
		e.Progress = func(r *report.Exhaustive) { p.Show(r) }
	}
	defer debug.SetGCPercent(debug.SetGCPercent(exhaustive.GCPercent))
	return e.Run(ctx, t)
}

// Shrink shrinks what the search has found, and yields a counterexample before it shrinks for the
// next: one of each distinct failure and cause if the search kept going, or else one of the
// schedule that failed or, if none did, of the first that violated a property out of contract. An
// error in its place says that a schedule never fails again. Before it shrinks the schedules of a
// distinct failure, it calls begin with the failure's index. See [shrink.Distinct] and
// [shrink.Shorten].
func Shrink(ctx context.Context, t *testing.T, c *campaign.Campaign, found report.Report,
	begin func(int),
) iter.Seq[*shrink.Group] {
	r := found.Common()
	return func(yield func(*shrink.Group) bool) {
		defer processors(c.Workers)()
		for group := range shrink.Distinct(ctx, t, c, r, begin) {
			if !yield(group) {
				return
			}
		}
		if failure := Failure(r); failure != nil && len(r.Distinct) == 0 {
			short, err := shrink.Shorten(ctx, engine.NewRunner(t), c, r)
			yield(&shrink.Group{Schedule: failure, Counterexample: short, Err: err})
		}
	}
}

// Failure returns the failure that a report shows: the one within the contract, else the one
// outside, else nil.
func Failure(r *report.Runs) *report.Failure {
	if r.Failure != nil {
		return r.Failure
	}
	return r.OutOfContract
}
