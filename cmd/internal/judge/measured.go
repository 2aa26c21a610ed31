package judge

import (
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// Measured is what sampled schedules of a lock have measured.
type Measured struct {
	// Coverage counts the faults that struck, by kind and phase.
	Coverage map[string]map[string]int `json:"fault_coverage"`
	// Margins are the smallest margins in time, by name; see [check.MarginNames].
	Margins map[string]time.Duration `json:"margins_ns"`
}

// NewMeasured returns what no schedule has measured.
func NewMeasured() Measured {
	return Measured{make(map[string]map[string]int), make(map[string]time.Duration)}
}

// Add adds what a campaign has measured. The function names the phases.
func (m *Measured) Add(r *report.Campaign, name func(faults.Phase) string) {
	for kind := range faults.Kinds {
		for phase := range faults.Phases {
			n := r.Coverage[kind][phase]
			if n == 0 {
				continue
			}
			if m.Coverage[kind.String()] == nil {
				m.Coverage[kind.String()] = make(map[string]int)
			}
			m.Coverage[kind.String()][name(phase)] += n
		}
	}
	for i, name := range check.MarginNames {
		now := &r.Totals.Margins[i]
		if least, known := m.Margins[name]; now.Times > 0 && (!known || now.Smallest < least) {
			m.Margins[name] = now.Smallest
		}
	}
}
