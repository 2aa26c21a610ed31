package report

import (
	"fmt"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Scope is what a search covers: its scenario and, of an exhaustive search, how schedules are
// bounded and where time passes. Every report describes it by the same sentence.
type Scope struct {
	Scenario *scenarios.Scenario
	// The fields below are those of an exhaustive search; see [exhaustive.Search].

	MaxDeviations int
	IdleTicks     int
	FairSuffixes  bool
	Symmetry      bool
}

// String describes a search that left no schedule out.
func (s *Scope) String() string { return s.Exhaustive("all schedules") }

// Sampled describes a search that drew some schedules, such as "2000 schedules".
func (s *Scope) Sampled(schedules string) string {
	return schedules + " of " + s.dimensions()
}

// Exhaustive describes an exhaustive search that ran some schedules, such as "all schedules".
func (s *Scope) Exhaustive(schedules string) string {
	text := s.Sampled(schedules)
	if s.MaxDeviations > 0 {
		text += fmt.Sprintf(" that deviate from the default policy at most %s",
			Counted(s.MaxDeviations, "time"))
	}
	text += s.goroutines() + "; " + s.time()
	if s.FairSuffixes {
		text += "; the fair phase begins in every state"
	}
	if s.Symmetry {
		text += "; processes that have sent only syncs are interchangeable"
	}
	return text
}

// dimensions names the numbers of processes, threads, cycles and servers, the client, the faults
// and their severity.
func (s *Scope) dimensions() string {
	c := s.Scenario
	text := Counted(c.Clients, "client")
	if threads := c.EffectiveThreads(); threads > 1 {
		text += " × " + Counted(threads, "thread")
	}
	text += " × " + Counted(c.Cycles, "cycle") + " on " + Counted(c.EffectiveServers(), "server")
	if c.Client != scenarios.Model {
		text += " with the " + c.Client.String() + " client"
	}
	if c.Faults.String() == "none" {
		return text + " without faults"
	}
	text += " with at most these faults: " + c.Faults.String()
	if engine.Graded(c) {
		text += fmt.Sprintf(" (%v)", c.EffectiveSeverity())
	}
	return text
}

// goroutines says where goroutines of a process switch.
func (s *Scope) goroutines() string {
	if scheduler.Enabled {
		return ", in which goroutines switch where they block and before the lock's code closes " +
			"or polls a channel, or uses a mutex or an atomic type"
	}
	return ""
}

// time says where time passes in an exhaustive search, and to which instants.
func (s *Scope) time() string {
	if s.MaxDeviations > 0 {
		return "time passes at any moment, to the next instant at which something happens, by at " +
			"most 1 s where something else can happen"
	}
	text := "time passes only to the next instant at which something happens, where nothing else " +
		"can happen"
	waits := ""
	if s.Scenario.Expires() {
		waits = "stored data wait for their expiry"
	}
	if s.Scenario.Faults.String() != "none" {
		if waits != "" {
			waits += " or "
		}
		waits += "an effect of a fault waits for time"
	}
	if waits != "" {
		messages := "no message is in flight"
		if s.Scenario.SlowsLinks() {
			messages = "every message in flight is still on a slow link"
		}
		text += " and, while " + waits + ", where " + messages + " and no process is about to enter"
	}
	if s.IdleTicks > 0 {
		text += ", and at " + Counted(s.IdleTicks, "other moment") + " of a schedule"
	}
	return text
}

// Counted returns a number and a noun, in the plural unless the number is one.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
