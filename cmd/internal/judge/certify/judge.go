package certify

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// A Failure is a reason against a release.
type Failure struct {
	Lock  string `json:"lock"`  // or the name of a test
	Check string `json:"check"` // a property, or one of Checks
	// Reason is a line that names the lock.
	Reason string `json:"reason"`
	// Signature identifies the failure of the lock and the check in other certificates.
	Signature string `json:"signature"`
	// Recording shows the failure: a recording of the plan if the check is of recordings, else a
	// counterexample in [Runner.Out].
	Recording string `json:"recording,omitempty"`
}

// File returns the path of the recording that shows the failure, or "". The counterexamples are in
// the directory out.
func (f *Failure) File(p *Plan, out string) string {
	switch {
	case f.Recording == "":
		return ""
	case f.Check == MustFail || f.Check == MustPass:
		return p.File(f.Recording)
	}
	return filepath.Join(out, f.Recording)
}

// A Check is one thing that a certificate judges in addition to the properties of locks.
type Check struct{ Name, Statement string }

// The names of the checks.
const (
	CompleteSearch = "complete-search"
	FaultCoverage  = "fault-coverage"
	Sometimes      = "sometimes"
	Measured       = "cost"
	NotWorse       = "not-worse"
	MustFail       = "must-fail"
	MustPass       = "must-pass"
	TestPasses     = "test"
)

// Checks lists the checks of each lock, then those of each recording and of each test.
var Checks = []Check{
	{CompleteSearch, "the exhaustive searches are complete"},
	{FaultCoverage, "faults strike in all required cells"},
	{Sometimes, "each sometimes condition is reached"},
	{Measured, "the costs of the lock can be measured"},
	{NotWorse, "nothing is worse than in the older certificate"},
	{MustFail, "the recording still shows its violation"},
	{MustPass, "the recording shows no violation"},
	{TestPasses, "the test passes"},
}

// OfLock reports whether the check judges a lock.
func (c *Check) OfLock() bool {
	return c.Name != MustFail && c.Name != MustPass && c.Name != TestPasses
}

// judge lists the reasons against a release.
func (c *Certificate) judge(p *Plan) {
	for _, l := range c.Card.Locks {
		c.judgeProperties(p, l)
		for i := range l.Searches {
			if s := &l.Searches[i]; s.Exhaustive && !s.Complete && !s.Interrupted {
				c.fail(l.Name, CompleteSearch, s.Scenario, "", "%s: the exhaustive search is "+
					"incomplete: %s", l.Name, s.Scenario)
			}
		}
	}
	for _, l := range c.Locks {
		for _, cell := range l.Missing {
			c.fail(l.Name, FaultCoverage, cell, "", "%s: required, but never struck: %s", l.Name,
				cell)
		}
		for _, condition := range l.NeverReached {
			c.fail(l.Name, Sometimes, condition, "", "%s: sometimes condition never reached: %s",
				l.Name, condition)
		}
		if l.Unmeasured != "" {
			c.fail(l.Name, Measured, Measured, "", "%s: the costs cannot be measured: %s", l.Name,
				l.Unmeasured)
		}
	}
	c.judgeTests()
	c.judgeRecordings()
	if c.Against == nil {
		return
	}
	for i := range c.Against.Differences {
		if d := &c.Against.Differences[i]; d.Worse {
			c.fail(d.Lock, NotWorse, d.What, "", "%v", d)
		}
	}
}

// judgeProperties lists the properties that a lock violates, and those not decided or never
// exercised.
func (c *Certificate) judgeProperties(p *Plan, l *reportcard.Lock) {
	for _, cell := range l.Of(report.Violated) {
		first := cell.Counterexamples[0]
		c.fail(l.Name, string(cell.Property), first.Signature, first.Recording,
			"%s violates %s", l.Name, first.Signature)
	}
	for _, cell := range l.Of(report.Unknown) {
		c.fail(l.Name, string(cell.Property), string(cell.Verdict), "",
			"%s: the verdict on %s is unknown: a checker reached its limit", l.Name, cell.Property)
	}
	for _, cell := range l.Of(report.NotExercised) {
		if !c.Partial && !p.unexercised(l.Name, cell.Property) {
			c.fail(l.Name, string(cell.Property), string(cell.Verdict), "",
				"%s: no search exercises %s, which it claims", l.Name, cell.Property)
		}
	}
}

// judgeTests lists the violations that tests have found, and the tests that fail without any.
func (c *Certificate) judgeTests() {
	for i := range c.Tests {
		t := &c.Tests[i]
		if t.Result != failed {
			continue
		}
		if !t.violated() || slices.ContainsFunc(t.Checks, unjudged) {
			c.fail(t.Name(), TestPasses, t.Test, "", "%s", t.reason())
		}
		for n := range t.Checks {
			v := &t.Checks[n]
			for _, f := range v.Failures {
				property, _, _ := strings.Cut(f.Signature, ":")
				shown := ""
				if f.Counterexample != "" {
					shown = ", as " + f.Counterexample + " shows"
				}
				c.fail(t.Name(), property, v.Test+", "+v.Lock+": "+f.Signature, "",
					"%s violates %s%s", t.checkName(v), f.Signature, shown)
			}
		}
	}
}

// judgeRecordings lists the recordings that do not show what they should.
func (c *Certificate) judgeRecordings() {
	for _, m := range c.MustFail {
		if !m.Shown {
			c.fail(m.Lock, MustFail, m.Recording, m.Recording,
				"%s does not fail any more: %s by %s", m.Recording, m.Signature, m.Lock)
		}
	}
	for _, m := range c.MustPass {
		if m.Shown {
			c.fail(m.Lock, MustPass, m.Recording, m.Recording,
				"%s fails again: %s by %s", m.Recording, m.Signature, m.Lock)
		}
	}
}

// fail adds a failure, whose reason becomes one line.
func (c *Certificate) fail(lock, check, signature, recording, format string, values ...any) {
	reason := strings.Join(strings.Fields(fmt.Sprintf(format, values...)), " ")
	c.Failures = append(c.Failures, Failure{lock, check, reason, signature, recording})
}

// unexercised reports whether the searches of the lock need not exercise the property.
func (p *Plan) unexercised(lock string, property history.Property) bool {
	return slices.ContainsFunc(p.Locks, func(g Group) bool {
		return slices.Contains(g.Names, lock) && slices.Contains(g.Unexercised, property)
	})
}
