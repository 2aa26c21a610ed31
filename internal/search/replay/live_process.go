package replay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/internal/base/timers"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A liveProcess runs the code of one process alone, in a bubble of its own, through a local
// history. Between two orders no time passes in the bubble, because a goroutine that waits for
// something outside of a bubble keeps its clock from advancing. So a local history whose parent was
// reached last costs only its last inputs.
type liveProcess struct {
	at       LocalHistory // the local history that it has reached
	isolated *isolatedProcess
	astray   bool // it has reached another state than before: it is nondeterministic
	// what to do next in the bubble; closed at the end
	orders chan func(*isolatedProcess)
	done   chan struct{} // receives when an order has been carried out
	ended  chan bool     // receives at the end whether a goroutine is left
	orphan bool          // leave the goroutines to themselves at the end
	judged bool          // whether a goroutine is left at the end matters
}

// liveBefore returns a live process from which the local history can be executed: at its parent,
// or, without a parent, at the start.
func (t *Cache) liveBefore(h LocalHistory, initial *initialState) *liveProcess {
	parent := t.Parent(h)
	if parent == 0 {
		t.discard(initial.number)
		return t.begin(initial)
	}
	e := t.liveProcesses[initial.number]
	if e != nil && e.at == parent {
		return e
	}
	return t.restart(parent)
}

// liveAt returns a live process that has reached the local history.
func (t *Cache) liveAt(h LocalHistory) *liveProcess {
	if e := t.liveProcesses[t.initial(h).number]; e != nil && e.at == h {
		return e
	}
	return t.restart(h)
}

// restart executes the local history from the start.
func (t *Cache) restart(h LocalHistory) *liveProcess {
	initial := t.initial(h)
	t.discard(initial.number)
	e := t.begin(initial)
	path := t.path(h)
	e.do(func(s *isolatedProcess) {
		s.drop()
		for _, step := range path {
			if e.astray = !s.apply(step); e.astray {
				return
			}
			s.drop()
		}
		e.astray = s.connection.OpenCalls() != t.reaction(h).openCalls
	})
	e.at = h
	t.note(e)
	return e
}

// note notes that a process has reached another state than before.
func (t *Cache) note(e *liveProcess) {
	if e.astray {
		t.astray.Store(int32(e.isolated.Client().Process()))
	}
}

// begin starts a live process.
func (t *Cache) begin(begins *initialState) *liveProcess {
	e := &liveProcess{
		orders: make(chan func(*isolatedProcess)), done: make(chan struct{}),
		ended: make(chan bool, 1),
	}
	var spare *engine.IsolatedProcess
	if last := len(t.spares) - 1; last >= 0 {
		spare, t.spares = t.spares[last], t.spares[:last]
	}
	go e.run(t, spare, begins)
	t.liveProcesses[begins.number] = e
	return e
}

func (e *liveProcess) run(t *Cache, spare *engine.IsolatedProcess, begins *initialState) {
	finished := false
	defer func() {
		if !finished {
			recover() // The bubble has found that goroutines are left.
		}
		e.ended <- !finished
	}()
	synctest.Test(t.t, func(*testing.T) {
		e.isolated = isolate(t.scenario, begins, spare)
		synctest.Wait()
		for order := range e.orders {
			order(e.isolated)
			e.done <- struct{}{}
		}
		if !e.orphan {
			e.isolated.TearDown(e.judged)
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
func (t *Cache) end(e *liveProcess, abandon bool) (left bool) {
	e.orphan, e.judged = abandon, true
	return t.finish(e)
}

// finish ends a live process.
func (t *Cache) finish(e *liveProcess) (left bool) {
	close(e.orders)
	left = <-e.ended
	number := e.isolated.Client().Process()
	t.liveProcesses[number] = nil
	if !left {
		t.spares = append(t.spares, e.isolated.IsolatedProcess)
	}
	return left
}

// discard ends the live process of a number, if there is one.
func (t *Cache) discard(number int) {
	if e := t.liveProcesses[number]; e != nil {
		t.finish(e)
	}
}

// Close ends all live processes.
func (t *Cache) Close() {
	for number := range t.liveProcesses {
		t.discard(number)
	}
}

// An isolatedProcess is a process that runs alone.
type isolatedProcess struct {
	*engine.IsolatedProcess
	connection sim.IsolatedClient
	timers     timers.Timers // of the bubble
}

// isolate starts a process alone.
func isolate(scenario *scenarios.Scenario, begins *initialState,
	spare *engine.IsolatedProcess,
) *isolatedProcess {
	s := &isolatedProcess{IsolatedProcess: engine.NewIsolatedProcess(scenario, begins.number,
		begins.cycles, begins.place, spare)}
	s.timers = timers.OfBubble()
	s.connection = s.System().(sim.Stubber).Isolate(s.Client(), begins.client)
	time.Sleep(begins.at)
	s.Start()
	return s
}

// apply feeds the process the inputs of a step, and reports whether it was waiting for them.
func (s *isolatedProcess) apply(p *step) (awaited bool) {
	if p.after > 0 {
		time.Sleep(p.after)
		synctest.Wait()
	}
	for i := range p.inputs {
		switch what := &p.inputs[i]; what.kind {
		case resume:
			if !s.Waits() {
				return false
			}
			s.OpenGate(what.register, what.resuming)
		case cancelAttempt:
			s.CancelAttempt()
		case checkLoss:
			s.CheckLoss()
		}
	}
	awaited = p.received == nil || s.connection.Apply(p.received)
	synctest.Wait()
	return awaited
}

// reaction returns what the process has done since the last call.
func (s *isolatedProcess) reaction() *reaction {
	r := &reaction{client: s.connection.Reaction()}
	r.events, r.ProcessState, r.register = s.Take()
	r.holds, r.ownResource = s.Holds()
	select {
	case <-s.System().Activity():
		r.acts = true
	default:
	}
	return r
}

// settle forgets that the process has acted.
func (s *isolatedProcess) settle() {
	select {
	case <-s.System().Activity():
	default:
	}
}

// drop forgets what the process has done since the last reaction.
func (s *isolatedProcess) drop() {
	s.connection.Discard()
	s.Drop()
}

// loses reports whether the hold reports a loss that the process has not been told.
func (s *isolatedProcess) loses() bool {
	select {
	case <-s.Loss():
		return true
	default:
		return false
	}
}

// nextTimer returns when the first timer fires, or [Never].
func (s *isolatedProcess) nextTimer() time.Duration {
	if after, ok := s.timers.Next(); ok {
		return after
	}
	return Never
}
