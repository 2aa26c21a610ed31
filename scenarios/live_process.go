package scenarios

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
)

// A liveProcess runs the code of one process alone, in a bubble of its own, through a local
// history. Between two orders no time passes in the bubble, because a goroutine that waits for
// something outside of a bubble keeps its clock from advancing. So a local history whose parent was
// reached last costs only its last inputs.
type liveProcess struct {
	at       *localHistory // the local history that it has reached
	isolated *isolatedProcess
	// what to do next in the bubble; closed at the end
	orders chan func(*isolatedProcess)
	done   chan struct{} // receives when an order has been carried out
	ended  chan bool     // receives at the end whether a goroutine is left
	orphan bool          // leave the goroutines to themselves at the end
	judged bool          // whether a goroutine is left at the end matters
}

// liveBefore returns a live process from which the next local history can be executed: at the
// parent, or, without a parent, at the start.
func (t *replayCache) liveBefore(parent, next *localHistory) *liveProcess {
	if parent == nil {
		t.discard(next.initial.number)
		return t.begin(next.initial)
	}
	e := t.liveProcesses[parent.initial.number]
	if e != nil && e.at == parent && e.isolated.elapsed <= next.after {
		return e
	}
	return t.restart(parent)
}

// liveAt returns a live process that has reached the local history, and for which no more time has
// passed than predicted.
func (t *replayCache) liveAt(p *localHistory) *liveProcess {
	if e := t.liveProcesses[p.initial.number]; e != nil && e.at == p {
		return e
	}
	return t.restart(p)
}

// restart executes the local history from the start.
func (t *replayCache) restart(p *localHistory) *liveProcess {
	t.discard(p.initial.number)
	e := t.begin(p.initial)
	path := p.path()
	e.do(func(s *isolatedProcess) {
		s.reaction()
		for _, step := range path[1:] {
			s.apply(step)
			s.reaction()
		}
	})
	e.at = p
	return e
}

// begin starts a live process.
func (t *replayCache) begin(begins *initialState) *liveProcess {
	e := &liveProcess{
		orders: make(chan func(*isolatedProcess)), done: make(chan struct{}),
		ended: make(chan bool, 1),
	}
	var l *loop
	if last := len(t.spareLoops) - 1; last >= 0 {
		l, t.spareLoops = t.spareLoops[last], t.spareLoops[:last]
	} else {
		l = new(loop)
	}
	go e.run(t, l, begins)
	t.liveProcesses[begins.number] = e
	return e
}

func (e *liveProcess) run(t *replayCache, l *loop, begins *initialState) {
	finished := false
	defer func() {
		if !finished {
			recover() // The bubble has found that goroutines are left.
		}
		e.ended <- !finished
	}()
	synctest.Test(t.t, func(*testing.T) {
		var log history.Log
		l.reset(t.scenario, nil, &log, &Result{})
		e.isolated = l.isolate(begins)
		synctest.Wait()
		for order := range e.orders {
			order(e.isolated)
			e.done <- struct{}{}
		}
		if !e.orphan {
			l.tearDown(e.judged)
		}
	})
	finished = true
}

// do carries out an order in the bubble.
func (e *liveProcess) do(order func(*isolatedProcess)) {
	e.orders <- order
	<-e.done
}

// end ends a live process, and reports whether a goroutine is left. Goroutines may be left to
// themselves instead of being made to end.
func (t *replayCache) end(e *liveProcess, abandon bool) (left bool) {
	e.orphan, e.judged = abandon, true
	return t.finish(e)
}

// finish ends a live process.
func (t *replayCache) finish(e *liveProcess) (left bool) {
	close(e.orders)
	left = <-e.ended
	number := e.isolated.process.Number
	t.liveProcesses[number] = nil
	if !left {
		t.spareLoops = append(t.spareLoops, e.isolated.loop)
	}
	return left
}

// discard ends the live process of a number, if there is one.
func (t *replayCache) discard(number int) {
	if e := t.liveProcesses[number]; e != nil {
		t.finish(e)
	}
}

// close ends all live processes.
func (t *replayCache) close() {
	for number := range t.liveProcesses {
		t.discard(number)
	}
}

// An isolatedProcess is a process that runs alone.
type isolatedProcess struct {
	loop    *loop
	process *process
	client  *simzk.IsolatedClient
	elapsed time.Duration // time since the last input
}

// isolate starts a process of a loop that is not run.
func (l *loop) isolate(begins *initialState) *isolatedProcess {
	for len(l.processes) < begins.number {
		l.newcomer(begins.cycles)
	}
	p := l.processes[begins.number-1]
	p.cycles = begins.cycles
	s := &isolatedProcess{loop: l, process: p, client: p.Client.(*simzk.Conn).Isolate()}
	s.client.Apply(&simzk.Input{Kind: simzk.SessionSet, Session: begins.session})
	s.client.Apply(&simzk.Input{Kind: simzk.StateSet, State: begins.state})
	time.Sleep(begins.at)
	go p.run()
	return s
}

// apply feeds the process the inputs of a local history that follows its own.
func (s *isolatedProcess) apply(p *localHistory) {
	time.Sleep(p.after - s.elapsed)
	s.elapsed = 0
	synctest.Wait()
	for i := range p.inputs {
		what := &p.inputs[i]
		switch what.kind {
		case fromClient:
			s.client.Apply(&what.client)
		case resume:
			*s.process.register, s.process.resuming = what.register, what.dazed
			s.process.waiting = false
			s.process.resume <- struct{}{}
		case cancelAttempt:
			s.process.cancelled = true
			s.process.cancel()
		case checkLoss:
			s.process.checkLoss()
		}
	}
	synctest.Wait()
}

// reaction returns what the process has done since the last call.
func (s *isolatedProcess) reaction() reaction {
	process := s.process
	calls, kept, closed := s.client.Reaction()
	r := reaction{
		events: append([]history.Event(nil), process.pending...), calls: calls, kept: kept,
		closed: closed,
		stage:  process.stage, attempt: process.attempt, gate: process.gate, waits: process.waiting,
		cancelled: process.cancelled, holds: process.hold != nil,
		ownResource: s.loop.executor.ownsResource(process), lost: process.lost, over: process.over,
		panics:   process.panics,
		register: *process.register,
	}
	process.pending = process.pending[:0]
	return r
}

// loses reports whether the hold reports a loss that the process has not been told.
func (s *isolatedProcess) loses() bool {
	if s.process.hold == nil || s.process.lost {
		return false
	}
	select {
	case <-s.process.hold.Done:
		return true
	default:
		return false
	}
}

// predictTimers stores what the process does by itself within that time after the local history
// that it has reached.
func (s *isolatedProcess) predictTimers(p *localHistory, within time.Duration) {
	began := time.Now().Add(-s.elapsed)
	activity := s.loop.cluster.Activity()
	if s.elapsed == 0 {
		select {
		case <-activity: // What is old.
		default:
		}
	}
	var lost <-chan struct{}
	if hold := s.process.hold; hold != nil && !s.process.lost && p.lostAfter == never {
		lost = hold.Done
	}
	end := time.NewTimer(within - s.elapsed)
	defer end.Stop()
	for over := false; p.actsAfter == never && !over; {
		acts := false
		select {
		case <-activity:
			acts = true
		case <-lost:
		case <-end.C:
			over = true
		}
		s.elapsed = time.Since(began)
		synctest.Wait()
		if lost != nil {
			select {
			case <-lost:
				p.lostAfter, lost = s.elapsed, nil
			default:
			}
		}
		select {
		case <-activity:
			acts = true
		default:
		}
		if acts {
			p.actsAfter = s.elapsed
		}
	}
	p.predictedUntil = s.elapsed
}
