package engine

import (
	"context"
	"io"

	"github.com/interlock-sim/interlock/sim"
)

// An Environment is what the engine gives the code of a process.
type Environment struct {
	Number int        // of the process, from 1
	Client sim.Client // of the process
	Random io.Reader  // deterministic: differs between processes, not between runs
	Place

	ctx context.Context
}

// A Place is where a process runs.
type Place struct {
	Host int // from 1; a replacement has the host of the process that it replaces
	PID  int // from 1; a replacement has the next PID
}

// next returns the place of the process that replaces one at this place.
func (p Place) next() Place { return Place{Host: p.Host, PID: p.PID + 1} }

// Context returns a context that ends with the run, also for a process that has crashed. It is for
// goroutines that a lock keeps between calls: they end with the context, or [context.AfterFunc]
// calls the method of the lock that ends them.
func (e *Environment) Context() context.Context { return e.ctx }

// randomBytes is an endless stream of bytes that depends only on the seed.
type randomBytes struct{ state uint64 }

// Read fills p. It never fails.
func (r *randomBytes) Read(p []byte) (int, error) {
	for i := range p {
		// The step of splitmix64; one output for each byte is plenty for the few bytes of a GUID.
		r.state += 0x9e3779b97f4a7c15
		x := (r.state ^ r.state>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		p[i] = byte(x >> 56)
	}
	return len(p), nil
}
