package service

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/refusal"
)

// A ProcessControl lets a run pause, resume and crash the process behind a client, and release it
// at the end. The goroutines of the process and of the run may call its methods at the same time.
type ProcessControl struct {
	number int // from 1
	base   *Base
	run    <-chan struct{} // the activity channel of the run, which identifies it

	paused, crashed atomic.Bool // written under mu; a run reads them at every step

	mu       sync.Mutex
	tornDown bool
	late     int             // contacts of a crashed process after the end of the run
	stopped  []chan struct{} // in order of arrival; each is closed when its goroutine may go on
}

// Init sets the number of the process, from 1, and the Base that it notifies.
func (p *ProcessControl) Init(number int, base *Base) {
	p.number, p.base, p.run = number, base, base.activity
}

// Process returns the number of the process.
func (p *ProcessControl) Process() int { return p.number }

// Crashed reports whether the process has crashed.
func (p *ProcessControl) Crashed() bool { return p.crashed.Load() }

// Paused reports whether the process is paused.
func (p *ProcessControl) Paused() bool { return p.paused.Load() && !p.crashed.Load() }

// TornDown reports whether the run is over.
func (p *ProcessControl) TornDown() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tornDown
}

// AwaitRunning refuses a goroutine of another process, and does what [ProcessControl.AwaitResumed]
// does.
func (p *ProcessControl) AwaitRunning() {
	if p.run == p.base.Activity() {
		refusal.DemandOwn(p.base.config.Owner, p.number)
	}
	p.AwaitResumed()
}

// AwaitResumed refuses a goroutine of another run. It blocks while the process is paused or has
// crashed. Once the run is over it returns, and connections fail, so that code ends. A crashed
// process that continues ends by [runtime.Goexit].
func (p *ProcessControl) AwaitResumed() {
	if p.run != p.base.Activity() {
		refusal.Stale()
	}
	for {
		p.mu.Lock()
		if p.crashed.Load() && p.tornDown {
			if p.late++; p.late > lateMax {
				p.mu.Unlock()
				runtime.Goexit()
			}
		}
		if !p.paused.Load() && !p.crashed.Load() || p.tornDown {
			p.mu.Unlock()
			return
		}
		resumed := make(chan struct{})
		p.stopped = append(p.stopped, resumed)
		p.mu.Unlock()
		<-resumed
	}
}

// Notify tells the run that the process has acted.
func (p *ProcessControl) Notify() {
	select {
	case p.base.activity <- struct{}{}:
	default:
	}
}

// Pause makes the process block at its next contact with its connections.
func (p *ProcessControl) Pause() { p.stop(&p.paused) }

// Crash makes the process block for the rest of the run at its next contact with its connections.
func (p *ProcessControl) Crash() { p.stop(&p.crashed) }

func (p *ProcessControl) stop(flag *atomic.Bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	flag.Store(true)
}

// Resume ends a pause, and records that. The goroutines that the pause has stopped continue one
// after the other, in the order in which they stopped.
//
// Otherwise they would race: go-redis goes on dialing after its caller's context has ended, and
// dials again for the next command. The two connections would enter its pool in any order.
func (p *ProcessControl) Resume() {
	p.base.Record(history.Event{Kind: history.Resumed, Process: int32(p.number)})
	for _, resumed := range p.takeStopped() {
		close(resumed)
		p.base.Wake()
		p.base.Settle()
	}
}

// takeStopped ends a pause, and returns the channels of the stopped goroutines for the caller to
// close.
func (p *ProcessControl) takeStopped() (stopped []chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused.Store(false)
	if !p.crashed.Load() {
		stopped, p.stopped = p.stopped, nil
	}
	return stopped
}

// AtEnd calls a function that ends what the process has opened, at the end of the run. For a
// crashed process it does so only after goroutines that sleep meanwhile have come to their next
// contact with its connections, and so have ended.
func (p *ProcessControl) AtEnd(end func()) {
	if p.Crashed() {
		time.AfterFunc(sleepMax, end)
		return
	}
	end()
}

// lateMax is how often a crashed process may use its connections after the end of the run.
const lateMax = 100

// sleepMax is how long goroutines of a crashed process may sleep after the end of the run.
const sleepMax = 30 * time.Second

// Release lets the goroutines of a paused or crashed process go on, because the run is over.
func (p *ProcessControl) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tornDown = true
	for _, resumed := range p.stopped {
		close(resumed)
	}
	p.stopped = nil
}
