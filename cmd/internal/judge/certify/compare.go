package certify

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// A Comparison lists what changed since an older certificate.
type Comparison struct {
	Hash        string       `json:"hash"` // of the older one
	Versions    Versions     `json:"versions"`
	Differences []Difference `json:"differences"`
}

// A Difference is one thing that changed since the older certificate.
type Difference struct {
	Lock  string `json:"lock"`
	What  string `json:"what"`
	Old   string `json:"old"`
	New   string `json:"new"`
	Worse bool   `json:"worse"`
}

// String describes the difference in a line.
func (d *Difference) String() string {
	if d.New == unplanned {
		return d.Lock + " is " + unplanned
	}
	return fmt.Sprintf("%s, %s: %s, was %s", d.Lock, d.What, d.New, d.Old)
}

// Values of a [Difference].
const (
	absent    = "none" // the certificate has no such value
	unplanned = "not in the plan any more"
)

// compare returns the differences. What a partial certificate lacks is no difference.
func compare(old, now *Certificate) *Comparison {
	c := &Comparison{old.Hash, old.Versions, []Difference{}}
	for _, was := range old.Card.Locks {
		is := now.Card.Lock(was.Name)
		if is == nil {
			c.add(was.Name, "lock", "in the plan", unplanned, true)
			continue
		}
		c.verdicts(was, is, now.Partial)
		c.searches(was, is, now.Partial)
		c.measured(old.lock(was.Name), now.lock(was.Name), now.Partial)
		if !now.Partial {
			same := old.Card.Seed == now.Card.Seed &&
				slices.Equal(sampled(was.Searches), sampled(is.Searches))
			c.margins(old.lock(was.Name), now.lock(was.Name), same)
		}
	}
	c.tests(old, now)
	return c
}

// add adds a difference, unless the values are equal.
func (c *Comparison) add(lock, what, old, now string, worse bool) {
	if old != now {
		c.Differences = append(c.Differences, Difference{lock, what, old, now, worse})
	}
}

// ranks orders the verdicts from worse to better. A verdict that is not listed has rank 0.
var ranks = map[report.Verdict]int{
	report.Violated: -1, report.OutOfContract: 1, report.Holds: 2,
}

// verdicts compares the verdicts on a lock. In a partial certificate, only violations are final.
func (c *Comparison) verdicts(was, is *reportcard.Lock, partial bool) {
	for i := range was.Cells {
		before := &was.Cells[i]
		after := is.Cell(before.Property)
		if after == nil || partial && after.Verdict != report.Violated {
			continue
		}
		old, now := before.Meaning(), after.Meaning()
		reduced := before.Reach != "" && after.Reach == ""
		if reduced && before.Verdict == after.Verdict {
			old, now = "exhaustive "+string(before.Reach), "no longer exhaustive"
		}
		c.add(was.Name, string(before.Property), old, now,
			reduced || ranks[after.Verdict] < ranks[before.Verdict])
	}
}

// searches compares how much was searched. Fewer schedules of a scenario are worse, unless they are
// all.
func (c *Comparison) searches(was, is *reportcard.Lock, partial bool) {
	if partial {
		return
	}
	for i := range was.Searches {
		before, text := &was.Searches[i], "not searched"
		after := slices.IndexFunc(is.Searches, func(s reportcard.Searched) bool {
			return s.Scenario == before.Scenario && s.Exhaustive == before.Exhaustive
		})
		worse := true
		if after >= 0 {
			s := &is.Searches[after]
			text = fmt.Sprintf("%d schedules", s.Schedules)
			worse = !s.Complete && s.Schedules < before.Schedules
		}
		c.add(was.Name, before.Scenario, fmt.Sprintf("%d schedules", before.Schedules), text, worse)
	}
}

// measured compares faults and costs.
func (c *Comparison) measured(was, is *Lock, partial bool) {
	if partial {
		return
	}
	for _, kind := range slices.Sorted(maps.Keys(was.Coverage)) {
		for _, phase := range slices.Sorted(maps.Keys(was.Coverage[kind])) {
			if is.Coverage[kind][phase] == 0 {
				c.add(was.Name, "fault "+kind+"@"+phase, fmt.Sprint(was.Coverage[kind][phase]),
					absent, len(is.Coverage[kind]) == 0)
			}
		}
	}
	if was.Cost == nil || is.Cost == nil {
		if was.Cost != nil {
			c.add(was.Name, "cost", "measured", absent, true)
		}
		return
	}
	a, b := was.Cost, is.Cost
	atMost(c, was.Name, "requests per acquire and release", &a.Requests, &b.Requests)
	atMost(c, was.Name, "round trips per acquire and release", &a.RoundTrips, &b.RoundTrips)
	atMost(c, was.Name, "round trips per hand-off", a.HandOffRoundTrips, b.HandOffRoundTrips)
	atMost(c, was.Name, "hand-off latency", a.HandOff, b.HandOff)
	atMost(c, was.Name, "recovery from a crash", a.Recovery, b.Recovery)
}

// atMost compares two values, of which a smaller one is better. An absent value is nil.
func atMost[T int | time.Duration](c *Comparison, lock, what string, old, now *T) {
	text := func(value *T) string {
		if value == nil {
			return absent
		}
		return fmt.Sprint(*value)
	}
	c.add(lock, what, text(old), text(now), old != nil && (now == nil || *now > *old))
}

// sampled returns the searches that sample schedules. Only these have margins.
func sampled(searches []reportcard.Searched) []reportcard.Searched {
	return slices.DeleteFunc(slices.Clone(searches), func(s reportcard.Searched) bool {
		return s.Exhaustive
	})
}

// margins compares the smallest margins in time. One that is much smaller is worse if the searches
// are the same, since further schedules may come closer. Other differences arise by chance: any
// change of the lock leads to other schedules.
func (c *Comparison) margins(was, is *Lock, same bool) {
	for _, name := range slices.Sorted(maps.Keys(was.Margins)) {
		before, now := was.Margins[name], absent
		after, measured := is.Margins[name]
		if measured {
			now = after.String()
		}
		c.add(was.Name, "smallest margin "+name, before.String(), now,
			same && measured && muchSmaller(before, after))
	}
}

// muchSmaller reports whether a margin is less than half of another or, below 0, more than twice as
// far below.
func muchSmaller(before, now time.Duration) bool {
	return 2*now < before && now < before*2
}
