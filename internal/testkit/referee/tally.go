package referee

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// A Tally counts verdicts by dimension and by property. It is safe for concurrent use.
type Tally struct {
	mu                     sync.Mutex
	dimensions, properties map[string]*count
}

// A count says how the verdicts on some locks were.
type count struct {
	locks    int
	verdicts [verdicts]int
	both     int // a violation that the search and a walk before it found
	trivial  int // no violation, and hardly a test of the claim
}

// NewTally returns a tally of nothing.
func NewTally() *Tally {
	return &Tally{dimensions: make(map[string]*count), properties: make(map[string]*count)}
}

// Add counts the verdict on a lock.
func (t *Tally) Add(l *Lock, v Verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	add := func(of map[string]*count, key string) {
		c := of[key]
		if c == nil {
			c = new(count)
			of[key] = c
		}
		c.locks++
		c.verdicts[v]++
		if v == Found && l.breakingWalk >= 0 {
			c.both++
		}
		if v != Found && l.Trivial() {
			c.trivial++
		}
	}
	add(t.dimensions, l.Dimension)
	add(t.properties, string(l.Claim))
}

// Errs reports whether a verdict is that a search is wrong.
func (t *Tally) Errs() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.dimensions {
		if c.verdicts[Loss]+c.verdicts[FalseAlarm] > 0 {
			return true
		}
	}
	return false
}

// String returns a table with a line for each dimension and each property.
func (t *Tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %6s %6s %7s %6s %6s %6s %10s %7s\n", "", "locks", "both", "search",
		"lost",
		"false", "none", "unfinished", "trivial")
	line := func(name string, of map[string]*count) {
		c := of[name]
		if c == nil {
			c = new(count)
		}
		fmt.Fprintf(&b, "%-24s %6d %6d %7d %6d %6d %6d %10d %6.1f%%\n", name, c.locks, c.both,
			c.verdicts[Found]-c.both, c.verdicts[Loss], c.verdicts[FalseAlarm], c.verdicts[Agree],
			c.verdicts[Unfinished], 100*float64(c.trivial)/float64(max(1, c.locks)))
	}
	for _, d := range Dimensions() {
		if t.dimensions[d.Name] != nil {
			line(d.Name, t.dimensions)
		}
	}
	b.WriteByte('\n')
	for _, p := range check.Properties() {
		line(string(p), t.properties)
	}
	return b.String()
}

// dimensionOf returns the dimension of a lock.
func dimensionOf(l *Lock) *Dimension {
	table := Dimensions()
	return table[max(0, slices.IndexFunc(table, func(d *Dimension) bool {
		return d.Name == l.Dimension
	}))]
}

// Drawn returns the properties that locks of any dimension claim.
func Drawn() (drawn []history.Property) {
	for _, d := range Dimensions() {
		for seed := range uint64(200) {
			if l := draw(d, seed, 0); !slices.Contains(drawn, l.Claim) {
				drawn = append(drawn, l.Claim)
			}
		}
	}
	return drawn
}
