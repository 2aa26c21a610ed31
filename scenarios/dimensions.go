package scenarios

import (
	"cmp"
	"fmt"

	"github.com/interlock-sim/interlock/faults"
)

// Dimensions are what a scenario has besides its lock, as files store them. Scenarios with equal
// dimensions run alike. A number that is 0 has its default; one thread and one server are 0.
type Dimensions struct {
	Clients  int             `json:"clients"`
	Cycles   int             `json:"cycles"`
	Threads  int             `json:"threads,omitzero"`
	Faults   faults.Plan     `json:"faults"`
	Severity faults.Severity `json:"severity,omitzero"`
	Client   ClientKind      `json:"client,omitzero"`
	Servers  int             `json:"servers,omitzero"`
}

// Dimensions returns the dimensions of the scenario. If the scenario sets no number of servers, the
// lock's is taken.
func (s *Scenario) Dimensions() Dimensions {
	several := func(n int) int {
		if n == 1 {
			return 0
		}
		return n
	}
	return Dimensions{
		s.Clients, s.Cycles, several(s.EffectiveThreads()), s.Faults, s.Severity, s.Client,
		several(s.EffectiveServers()),
	}
}

// Of returns the scenario of a lock with the dimensions.
func (d *Dimensions) Of(lock Subject) Scenario {
	return Scenario{
		lock, d.Clients, d.Cycles, d.Threads, d.Faults, d.Client, d.Severity, d.Servers,
	}
}

// Difference names the first dimension that differs, with both values, or returns "".
func (d *Dimensions) Difference(other *Dimensions) string {
	mine, others := d.Of(Subject{}), other.Of(Subject{})
	for _, dimension := range []struct {
		name string
		of   func(*Scenario) any
	}{
		{"clients", func(s *Scenario) any { return s.Clients }},
		{"cycles", func(s *Scenario) any { return s.Cycles }},
		{"threads", func(s *Scenario) any { return s.EffectiveThreads() }},
		{"servers", func(s *Scenario) any { return s.EffectiveServers() }},
		{"client", func(s *Scenario) any { return s.Client }},
		{"faults", func(s *Scenario) any { return s.Faults }},
		{"severity", func(s *Scenario) any { return s.Severity }},
	} {
		if a, b := dimension.of(&mine), dimension.of(&others); a != b {
			return fmt.Sprintf("%s %v, not %v", dimension.name, a, b)
		}
	}
	return ""
}

// EffectiveThreads returns the number of threads of each process.
func (s *Scenario) EffectiveThreads() int { return max(1, s.Threads) }

// EffectiveServers returns the number of servers that the scenario sets, or else that the lock
// needs.
func (s *Scenario) EffectiveServers() int { return max(1, cmp.Or(s.Servers, s.Subject.Servers)) }

// Describe describes scenarios of a lock in a line. They differ only in what [Extent] describes.
func Describe(all ...*Scenario) string {
	s := all[0]
	text := s.Subject.Name + ", "
	if len(all) > 1 {
		text += fmt.Sprintf("%d configurations, ", len(all))
	}
	text += Extent(all...)
	if s.Severity != (faults.Severity{}) && s.Severity != faults.DefaultSeverity() {
		text += fmt.Sprintf(", %v", s.Severity)
	}
	if s.Client != Model {
		text += ", " + s.Client.String() + " client"
	}
	return text
}

// Extent describes how many clients, threads, cycles and servers there are, and the faults. Of
// several scenarios, it gives ranges, and faults only if all have the same.
func Extent(all ...*Scenario) string {
	clients, threads, cycles, servers := span{}, span{}, span{}, span{}
	samePlan := true
	for _, s := range all {
		clients.add(s.Clients)
		threads.add(s.EffectiveThreads())
		cycles.add(s.Cycles)
		servers.add(s.EffectiveServers())
		samePlan = samePlan && s.Faults == all[0].Faults
	}
	text := fmt.Sprintf("%v clients × ", clients)
	if threads.most > 1 {
		text += fmt.Sprintf("%v threads × ", threads)
	}
	text += fmt.Sprintf("%v cycles", cycles)
	if samePlan {
		text += fmt.Sprintf(", faults %v", all[0].Faults)
	}
	if servers.most > 1 {
		text += fmt.Sprintf(", %v servers", servers)
	}
	return text
}

// A span is a range of numbers.
type span struct{ least, most int }

// add extends the span to a number, which must be positive.
func (s *span) add(n int) {
	if s.least == 0 {
		s.least = n
	}
	s.least, s.most = min(s.least, n), max(s.most, n)
}

func (s span) String() string {
	if s.least == s.most {
		return fmt.Sprint(s.least)
	}
	return fmt.Sprintf("%d to %d", s.least, s.most)
}
