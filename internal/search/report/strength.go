package report

import (
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/faults"
)

// Strength says how much a campaign has tried of what it could try, so that a pass that means
// little can be told from one that means more.
type Strength struct {
	Schedules int `json:"schedules"`
	// Cells is how many cells of kind and phase the fault plans allow, and NeverStruck those in
	// which no fault struck.
	Cells       int                   `json:"cells"`
	NeverStruck []faults.CoverageCell `json:"cells_never_struck"`
	// OneServer is set if the service has faults that need several servers, and there was one.
	OneServer bool `json:"one_server,omitempty"`
	// StrategiesNotReached had no turn. ConfigurationsNotReached ran no schedule.
	StrategiesNotReached     []string `json:"strategies_not_reached,omitempty"`
	ConfigurationsNotReached []string `json:"configurations_not_reached,omitempty"`
}

// String describes the strength in a line.
func (s *Strength) String() string {
	text := Counted(s.Schedules, "schedule")
	if s.Cells > 0 {
		text += fmt.Sprintf("; %d of %s of fault and phase never struck", len(s.NeverStruck),
			Counted(s.Cells, "cell"))
	}
	if s.OneServer {
		text += "; faults of several servers not tried"
	}
	for _, missed := range []struct {
		what  string
		names []string
		sep   string
	}{
		{"strategies", s.StrategiesNotReached, ", "},
		{"configurations", s.ConfigurationsNotReached, " | "},
	} {
		if len(missed.names) > 0 {
			text += fmt.Sprintf("; %s not reached: %s", missed.what,
				strings.Join(missed.names, missed.sep))
		}
	}
	return text
}
