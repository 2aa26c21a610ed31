// Package trackrecord measures how soon campaigns find the known defects of published locks.
package trackrecord

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim"
)

// Bounds say how much is run for a defect.
type Bounds struct {
	Seeds         int           // campaigns, with the seeds from 1 on
	Schedules     int           // of a campaign
	Budget        time.Duration // of a campaign
	TwinSchedules int           // of the lock without the defect
	Shrink        bool          // shrink the first counterexample
}

// An Entry is the track record of a defect. The campaigns have the defaults of interlock check, but
// one worker, so that Seconds are those of one processor.
type Entry struct {
	Name     string           `json:"name"`
	Property history.Property `json:"property"` // the property that it is known to violate
	Summary  string           `json:"summary"`
	Source   string           `json:"source"`
	Servers  int              `json:"servers"`
	// Seeds is how many campaigns ran, and Found in how many of them a property was violated.
	Seeds int `json:"seeds"`
	Found int `json:"found"`
	// Others are the properties that campaigns found violated before that one, in order.
	Others []history.Property `json:"others,omitempty"`
	// FoundBy says what drew the schedule with the violation, in order of the seeds that found one.
	FoundBy []Finder `json:"found_by,omitempty"`
	// Schedules and Seconds are the medians over the campaigns, whatever they found. Without a
	// violation, a campaign runs to its bounds.
	Schedules int     `json:"schedules_median"`
	Seconds   float64 `json:"seconds_median"`
	Slowest   float64 `json:"seconds_max"`
	// Shrunk is the counterexample of the first seed that found it, if Bounds.Shrink is set.
	Shrunk *Shrunk `json:"shrunk,omitempty"`
	// Twin is how the lock without the defect did.
	Twin Twin `json:"twin"`
}

// A Finder is the part of the default search that drew a schedule.
type Finder struct {
	Strategy      string `json:"strategy"`
	Configuration string `json:"configuration"`
}

// Shrunk is the size of a counterexample.
type Shrunk struct {
	Processes int `json:"processes"`
	Cycles    int `json:"cycles"`
	Faults    int `json:"faults"`
	Decisions int `json:"decisions"` // deviations from the default schedule, faults included
}

// A Twin is the result of the lock without the defect.
type Twin struct {
	Schedules int `json:"schedules"`
	// Undecided counts schedules without a verdict on every property.
	Undecided int `json:"undecided,omitempty"`
	// Violation is the signature of a violation, which is a mistake of Interlock or of the twin.
	Violation string `json:"violation,omitempty"`
}

// Missed reports whether a campaign did not find the defect, or its twin was flagged.
func (e *Entry) Missed() bool { return e.Found < e.Seeds || e.Twin.Violation != "" }

// Measure runs the campaigns of a defect. If the context ends, it returns the context's error.
func Measure(ctx context.Context, t *testing.T, d *subjects.Defect, bounds Bounds) (*Entry, error) {
	e := &Entry{
		Name: d.Name, Property: d.Property, Summary: d.Summary, Source: d.Source,
		Servers: d.Servers,
	}
	var schedules []int
	var seconds []float64
	for seed := range uint64(bounds.Seeds) {
		c := newCampaign(d.Broken, seed+1, bounds.Schedules, bounds.Budget)
		r, err := run(ctx, t, c)
		if err != nil {
			return nil, err
		}
		e.Seeds++
		schedules = append(schedules, r.Schedules)
		seconds = append(seconds, r.Elapsed.Seconds())
		if r.Failure == nil {
			continue
		}
		e.Found++
		at := &c.Configurations[r.Failure.Configuration].Scenario
		e.FoundBy = append(e.FoundBy, Finder{r.Failure.Strategy, scenarios.Extent(at)})
		if first := r.Failure.Violations[0].Property; first != d.Property &&
			!slices.Contains(e.Others, first) {
			e.Others = append(e.Others, first)
		}
		if bounds.Shrink && e.Shrunk == nil {
			for group := range judge.Shrink(ctx, t, c, r, nil) {
				if group.Err != nil {
					return nil, group.Err
				}
				e.Shrunk = sizeOf(group.Counterexample)
			}
		}
	}
	slices.Sort(schedules)
	slices.Sort(seconds)
	slices.Sort(e.Others)
	low, high := (len(schedules)-1)/2, len(schedules)/2
	e.Schedules, e.Seconds = (schedules[low]+schedules[high])/2, (seconds[low]+seconds[high])/2
	e.Slowest = seconds[len(seconds)-1]
	if bounds.TwinSchedules > 0 {
		c := newCampaign(d.Fixed, 1, bounds.TwinSchedules, 0)
		r, err := run(ctx, t, c)
		if err != nil {
			return nil, err
		}
		e.Twin.Schedules, e.Twin.Undecided = r.Schedules, r.Unknown+r.Unsettled
		if r.Failure != nil {
			e.Twin.Violation = r.Failure.Violations[0].Signature()
		}
	}
	return e, nil
}

// newCampaign returns the default campaign of interlock check.
func newCampaign(s scenarios.Subject, seed uint64, schedules int, budget time.Duration,
) *campaign.Campaign {
	c := &campaign.Campaign{
		Seed: seed, Schedules: schedules, Budget: budget, Workers: 1,
		Configurations: campaign.DefaultConfigurations(),
	}
	for i := range c.Configurations {
		c.Configurations[i].Subject = s
	}
	c.Scenario = c.Configurations[0].Scenario
	return c
}

// run runs a campaign. It returns an error if the context ends, or the lock is nondeterministic.
func run(ctx context.Context, t *testing.T, c *campaign.Campaign) (*report.Campaign, error) {
	r := (&judge.Search{Campaign: c}).Run(ctx, t, nil).(*report.Campaign)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.Nondeterministic != nil {
		return nil, r.Nondeterministic
	}
	return r, nil
}

// sizeOf returns the size of a counterexample.
func sizeOf(c *recording.Counterexample) *Shrunk {
	size := &Shrunk{
		Processes: c.Scenario.Clients, Cycles: c.Scenario.Cycles,
		Decisions: len(c.Recording.Deviations),
	}
	for _, d := range c.Recording.Deviations {
		if d.Step.Kind == sim.Fault {
			size.Faults++
		}
	}
	return size
}
