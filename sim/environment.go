package sim

import (
	"context"
	"io"
)

// An Environment is what a run gives the code of a process.
type Environment struct {
	Number int       // of the process, from 1
	Client Client    // of the process
	Random io.Reader // deterministic: differs between processes, not between runs
	Place

	// Context ends with the run, also for a process that has crashed.
	Context context.Context
}

// A Place is where a process runs.
type Place struct {
	Host int // from 1; a replacement has the host of the process that it replaces
	PID  int // from 1; a replacement has the next PID
}

// Next returns the place of the process that replaces one at this place.
func (p Place) Next() Place { return Place{Host: p.Host, PID: p.PID + 1} }

// A SetUpError is the panic of a process whose scenario does not give it a lock. It is a mistake in
// the scenario, not a defect of the lock.
type SetUpError string
