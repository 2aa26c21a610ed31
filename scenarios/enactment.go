package scenarios

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
)

// An enactment is the code of one process that runs by itself, in a bubble of its own, through a past. When it has come to
// one it waits to be told how to go on, and no time passes: whoever waits for something from outside of a bubble keeps its
// clock from going on. So a past that follows on the one to which the code has come costs no more than what comes last.
type enactment struct {
	at      *past // to which it has come
	solo    *solo
	orders  chan func(*solo) // what is to be done next in the bubble; closed at the end
	done    chan struct{}    // receives when that has been done
	ended   chan bool        // receives at the end whether a goroutine is left
	abandon bool             // the goroutines are to be left to themselves at the end
	judged  bool             // it matters at the end whether a goroutine is left
}

// come returns an enactment that has come so far that the next past can be lived through: to its parent, or if it has
// none, to the beginning.
func (t *pasts) come(parent, next *past) *enactment {
	if parent == nil {
		t.leave(next.origin.number)
		return t.begin(next.origin)
	}
	e := t.enactments[parent.origin.number]
	if e != nil && e.at == parent && e.solo.elapsed <= next.after {
		return e
	}
	return t.enactAnew(parent)
}

// enact returns an enactment that has come to the past, and after which no more time has passed than what is foreseen.
func (t *pasts) enact(p *past) *enactment {
	if e := t.enactments[p.origin.number]; e != nil && e.at == p {
		return e
	}
	return t.enactAnew(p)
}

func (t *pasts) enactAnew(p *past) *enactment {
	t.leave(p.origin.number)
	e := t.begin(p.origin)
	way := p.way()
	e.do(func(s *solo) {
		s.respond()
		for _, step := range way[1:] {
			s.undergo(step)
			s.respond()
		}
	})
	e.at = p
	return e
}

// begin lets a process begin.
func (t *pasts) begin(begins *origin) *enactment {
	e := &enactment{orders: make(chan func(*solo)), done: make(chan struct{}), ended: make(chan bool, 1)}
	var l *loop
	if last := len(t.idle) - 1; last >= 0 {
		l, t.idle = t.idle[last], t.idle[:last]
	} else {
		l = new(loop)
	}
	go e.run(t, l, begins)
	t.enactments[begins.number] = e
	return e
}

func (e *enactment) run(t *pasts, l *loop, begins *origin) {
	finished := false
	defer func() {
		if !finished {
			recover() // The bubble has found that goroutines are left.
		}
		e.ended <- !finished
	}()
	synctest.Test(t.t, func(*testing.T) {
		var log history.Log
		l.renew(t.scenario, nil, &log, &Result{})
		e.solo = l.alone(begins)
		synctest.Wait()
		for order := range e.orders {
			order(e.solo)
			e.done <- struct{}{}
		}
		if !e.abandon {
			l.tearDown(e.judged)
		}
	})
	finished = true
}

// do does something in the bubble.
func (e *enactment) do(order func(*solo)) {
	e.orders <- order
	<-e.done
}

// end ends an enactment, and tells whether a goroutine is left. It can leave all of them to themselves then, and not make them
// end.
func (t *pasts) end(e *enactment, abandon bool) (left bool) {
	e.abandon, e.judged = abandon, true
	return t.finish(e)
}

// finish ends an enactment.
func (t *pasts) finish(e *enactment) (left bool) {
	close(e.orders)
	left = <-e.ended
	number := e.solo.process.Number
	t.enactments[number] = nil
	if !left {
		t.idle = append(t.idle, e.solo.loop)
	}
	return left
}

// leave ends the enactment of a process, if there is one.
func (t *pasts) leave(number int) {
	if e := t.enactments[number]; e != nil {
		t.finish(e)
	}
}

// close ends all enactments.
func (t *pasts) close() {
	for number := range t.enactments {
		t.leave(number)
	}
}

// A solo is a process that runs by itself.
type solo struct {
	loop    *loop
	process *process
	client  *simzk.Solo
	elapsed time.Duration // since something has last reached the process
}

// alone lets a process of a loop that is not run begin.
func (l *loop) alone(begins *origin) *solo {
	for len(l.processes) < begins.number {
		l.newcomer(begins.cycles)
	}
	p := l.processes[begins.number-1]
	p.cycles = begins.cycles
	s := &solo{loop: l, process: p, client: p.Client.(*simzk.Conn).Alone()}
	s.client.Undergo(&simzk.Stimulus{Kind: simzk.SessionSet, Session: begins.session})
	s.client.Undergo(&simzk.Stimulus{Kind: simzk.StateSet, State: begins.state})
	time.Sleep(begins.at)
	go p.run()
	return s
}

// undergo lets the process live through a past that follows on what it has lived through.
func (s *solo) undergo(p *past) {
	time.Sleep(p.after - s.elapsed)
	s.elapsed = 0
	synctest.Wait()
	for i := range p.stimuli {
		what := &p.stimuli[i]
		switch what.kind {
		case fromClient:
			s.client.Undergo(&what.client)
		case resume:
			*s.process.register, s.process.dazed = what.register, what.dazed
			s.process.waiting = false
			s.process.resume <- struct{}{}
		case giveUp:
			s.process.cancelled = true
			s.process.cancel()
		case look:
			s.process.checkLoss()
		}
	}
	synctest.Wait()
}

// respond returns what the process has done since the last time.
func (s *solo) respond() response {
	process := s.process
	calls, kept, closed := s.client.Response()
	r := response{
		events: append([]history.Event(nil), process.pending...), calls: calls, kept: kept, closed: closed,
		stage: process.stage, attempt: process.attempt, gate: process.gate, waits: process.waiting,
		cancelled: process.cancelled, holds: process.hold != nil,
		brings: process.ownsResource(), lost: process.lost, over: process.over, panics: process.panics,
		register: *process.register,
	}
	process.pending = process.pending[:0]
	return r
}

// loses tells whether the process's hold tells that it is lost, and the process was not told yet.
func (s *solo) loses() bool {
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

// foresee notes what the process will do by itself within that time after the past to which it has come.
func (s *solo) foresee(p *past, within time.Duration) {
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
	p.foreseen = s.elapsed
}
