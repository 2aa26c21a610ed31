package service

import "sync"

// An Execution lets a run pause, resume and crash the process behind a client, and release it at
// the end. The goroutines of the process and of the run may call its methods at the same time.
type Execution struct {
	number int // from 1
	core   *Core

	mu       sync.Mutex
	paused   bool
	crashed  bool
	tornDown bool
	stopped  []chan struct{} // in order of arrival; each is closed when its goroutine may go on
}

// Init sets the number of the process, from 1, and the core that it notifies.
func (x *Execution) Init(number int, core *Core) { x.number, x.core = number, core }

// Process returns the number of the process.
func (x *Execution) Process() int { return x.number }

// Crashed reports whether the process has crashed.
func (x *Execution) Crashed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.crashed
}

// Paused reports whether the process is paused.
func (x *Execution) Paused() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.paused && !x.crashed
}

// TornDown reports whether the run is over.
func (x *Execution) TornDown() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.tornDown
}

// AwaitRunning blocks while the process is paused or has crashed. Once the run is over it returns,
// and connections fail.
func (x *Execution) AwaitRunning() {
	for {
		x.mu.Lock()
		if !x.paused && !x.crashed || x.tornDown {
			x.mu.Unlock()
			return
		}
		resumed := make(chan struct{})
		x.stopped = append(x.stopped, resumed)
		x.mu.Unlock()
		<-resumed
	}
}

// Notify tells the run that the process has acted.
func (x *Execution) Notify() {
	select {
	case x.core.activity <- struct{}{}:
	default:
	}
}

// Pause makes the process block at its next contact with its connections.
func (x *Execution) Pause() { x.stop(&x.paused) }

// Crash makes the process block for the rest of the run at its next contact with its connections.
func (x *Execution) Crash() { x.stop(&x.crashed) }

func (x *Execution) stop(flag *bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	*flag = true
}

// resume ends a pause, and returns the channels of the stopped goroutines for the caller to close.
func (x *Execution) resume() (stopped []chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.paused = false
	if !x.crashed {
		stopped, x.stopped = x.stopped, nil
	}
	return stopped
}

// Release lets the goroutines of a paused or crashed process go on, because the run is over.
func (x *Execution) Release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tornDown = true
	for _, resumed := range x.stopped {
		close(resumed)
	}
	x.stopped = nil
}
