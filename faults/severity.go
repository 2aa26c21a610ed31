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
	// how long a message takes in a slow direction of a link; 0 for [DefaultLatency]
	Latency time.Duration `json:"latency_ns,omitzero"`
}

// DefaultSeverity returns the severity of a run that sets none. With a session timeout of 4 s, the
// shortest with ZooKeeper's default tick, it leaves a lock enough time to end its lease.
func DefaultSeverity() Severity { return Severity{Pause: 200 * time.Millisecond, Drift: 5} }

// DefaultLatency is the latency of a slow link. A round trip takes a quarter of a session timeout
// of 4 s if both directions are slow, and an eighth if one is.
const DefaultLatency = 500 * time.Millisecond

// The limits of a [Severity]. Beyond them a run shows nothing new. A client whose round trips take
// a third of the session timeout or longer gives up every idle connection: the answer to its first
// ping comes too late.
const (
	PauseMax   = time.Minute
	DriftMax   = 90
	LatencyMax = 650 * time.Millisecond
)

// Validate returns an error that names the field that is out of its limits, or nil.
func (b Severity) Validate() error {
	switch {
	case b.Pause < time.Millisecond || b.Pause > PauseMax:
		return fmt.Errorf("a pause must last from 1ms to %v, not %v", PauseMax, b.Pause)
	case b.Drift < 0 || b.Drift > DriftMax:
		return fmt.Errorf("the drift of clocks must be from 0 to %d percent, not %d", DriftMax,
			b.Drift)
	case b.Latency != 0 && (b.Latency < time.Millisecond || b.Latency > LatencyMax):
		return fmt.Errorf("the latency of a slow link must be from 1ms to %v, not %v", LatencyMax,
			b.Latency)
	}
	return nil
}

// Within reports whether pauses and drift do not exceed those of the other severity. A lock keeps
// its promises at any latency.
func (b Severity) Within(others Severity) bool {
	return b.Pause <= others.Pause && b.Drift <= others.Drift
}

// String describes the severity.
func (b Severity) String() string {
	text := fmt.Sprintf("pauses up to %v, clocks within %d %%", b.Pause, b.Drift)
	if b.Latency != 0 {
		text += fmt.Sprintf(", a latency of %v", b.Latency)
	}
	return text
}
