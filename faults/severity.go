package faults

import (
	"fmt"
	"time"
)

// Severity say how hard some faults strike. What a lock promises of [belief in holding it] stands
// and falls with them: no lock can know that it is lost while its process is paused.
//
// [belief in holding it]:
// https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html
type Severity struct {
	Pause time.Duration `json:"pause_ns"` // how long a process is paused at most
	// by how many percent a clock goes too fast or too slowly
	Drift int `json:"drift_percent"`
}

// DefaultSeverity are those of a run that asks for no others. Of a session timeout of 4 s, the
// least with ZooKeeper's default tick, they leave a lock enough to end its lease in time.
func DefaultSeverity() Severity { return Severity{Pause: 200 * time.Millisecond, Drift: 5} }

// The limits of bounds. Beyond them a run shows nothing new.
const (
	PauseMax = time.Minute
	DriftMax = 90
)

// Validate returns an error that names the bound that is out of its limits, or nil.
func (b Severity) Validate() error {
	switch {
	case b.Pause < time.Millisecond || b.Pause > PauseMax:
		return fmt.Errorf("a pause must last from 1ms to %v, not %v", PauseMax, b.Pause)
	case b.Drift < 0 || b.Drift > DriftMax:
		return fmt.Errorf("the drift of clocks must be from 0 to %d percent, not %d", DriftMax,
			b.Drift)
	}
	return nil
}

// Within tells whether the bounds ask no more of a lock than others do.
func (b Severity) Within(others Severity) bool {
	return b.Pause <= others.Pause && b.Drift <= others.Drift
}

// String describes the bounds.
func (b Severity) String() string {
	return fmt.Sprintf("pauses up to %v, clocks within %d %%", b.Pause, b.Drift)
}
