package campaign

import (
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// A SometimesCount says how many schedules of a campaign reached a sometimes condition.
type SometimesCount struct {
	Name string `json:"name"`
	// a configuration has the processes and faults that the condition needs
	Applicable bool `json:"applicable"`
	Schedules  int  `json:"schedules"`

	run int // schedules of configurations where it is applicable
}

// SometimesCounts returns the counts of the subject's sometimes conditions.
func (c *Campaign) SometimesCounts(r *report.Campaign) []SometimesCount {
	counts := make([]SometimesCount, len(c.Scenario.Subject.Sometimes))
	for i := range counts {
		condition := &c.Scenario.Subject.Sometimes[i]
		counts[i].Name = condition.Name
		for at, configuration := range c.All() {
			if engine.Offers(&configuration.Scenario, condition) {
				counts[i].Applicable = true
				counts[i].run += r.Configuration(at).Schedules
			}
		}
		if i < len(r.Totals.Reached) {
			counts[i].Schedules = r.Totals.Reached[i]
		}
	}
	return counts
}

// NeverReached returns the names of the sometimes conditions that the campaign could have reached
// and has not. It returns none for a campaign that was cut short, or is only a
// part.
func (c *Campaign) NeverReached(r *report.Campaign) []string {
	var missed []string
	if !r.Finished() || c.Partial(r) {
		return nil
	}
	for _, condition := range c.SometimesCounts(r) {
		if condition.run >= sometimesAfter && condition.Schedules == 0 {
			missed = append(missed, condition.Name)
		}
	}
	return missed
}

// sometimesAfter is how many schedules of suitable configurations a campaign must have run before
// an unreached condition counts against it. In that many schedules even the rarest condition of
// package check is reached twenty times by the locks that have it.
const sometimesAfter = 5000
