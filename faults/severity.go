package faults

import (
	"fmt"
	"time"
)

// A Severity bounds how strongly some faults act. What a lock guarantees about [client-side mutual
// exclusion] depends on these bounds: a paused process cannot notice that it has lost its lock.
//
// [client-side mutual exclusion]:
// https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html
type Severity struct {
	Pause time.Duration `json:"pause_ns"`      // the longest pause of a process
	Drift int           `json:"drift_percent"` // how fast or slow a clock runs, in percent
}

// DefaultSeverity returns the severity of a run that sets none. With a session timeout of 4 s, the
// shortest with ZooKeeper's default tick, it leaves a lock enough time to end its lease.
func DefaultSeverity() Severity { return Severity{Pause: 200 * time.Millisecond, Drift: 5} }

// The limits of a [Severity]. Beyond them a run shows nothing new.
const (
	PauseMax = time.Minute
	DriftMax = 90
)

// Validate returns an error that names the field that is out of its limits, or nil.
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

// Within reports whether no field exceeds that of the other severity.
func (b Severity) Within(others Severity) bool {
	return b.Pause <= others.Pause && b.Drift <= others.Drift
}

// String describes the severity.
func (b Severity) String() string {
	return fmt.Sprintf("pauses up to %v, clocks within %d %%", b.Pause, b.Drift)
}
