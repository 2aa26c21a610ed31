package engine

import "github.com/interlock-sim/interlock/history"

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

// threadsRandom is the random source of a process with several threads. Each thread draws from a
// stream of its own, because threads that wake at the same instant draw in any order.
type threadsRandom struct {
	loop    *Loop
	process *Process
}

func (r threadsRandom) Read(p []byte) (int, error) {
	drawer := r.process
	if process, thread := history.ProcessOf(r.loop.caller()); int(process) == drawer.Number {
		drawer = drawer.Threads[thread-1]
	}
	return drawer.random.Read(p)
}
