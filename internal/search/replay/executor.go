package replay

import (
	"time"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// A cachedExecutor replays what the code of processes is known to do, from a [Cache]. What is
// not known yet, the cache finds out by running the code of that one process.
type cachedExecutor struct {
	loop      *engine.Loop
	cache     *Cache
	processes []*cachedProcess // by number, the first at 0
}

// A cachedProcess is a process whose goroutines are replaced by the reactions in a cache.
type cachedProcess struct {
	at     LocalHistory
	since  time.Duration // when the process came to that
	client sim.StubClient
	inputs []input // from the loop since then
}

// On returns the executor that replaces the goroutines of all processes of a run by cached
// reactions.
func (t *Cache) On(l *engine.Loop) engine.Executor {
	e := &t.Executor
	e.loop, e.cache, e.processes = l, t, e.processes[:0]
	return e
}

// Histories appends the local histories to which the processes have come.
func (e *cachedExecutor) Histories(histories []LocalHistory) []LocalHistory {
	for _, c := range e.processes {
		histories = append(histories, c.at)
	}
	return histories
}

func (e *cachedExecutor) of(p *engine.Process) *cachedProcess { return e.processes[p.Number-1] }

func (e *cachedExecutor) Begin(p *engine.Process) {
	stubber := e.loop.System.(sim.Stubber)
	begins := initialState{
		number: p.Number, cycles: p.Cycles, place: p.Place, client: stubber.Initial(p.Client),
		at: e.loop.System.Now(),
	}
	e.processes = append(e.processes[:p.Number-1], &cachedProcess{client: stubber.Stub(p.Client)})
	e.moveTo(p, e.cache.root(begins), e.loop.System.Now())
}

func (e *cachedExecutor) OpenGate(p *engine.Process) {
	c := e.of(p)
	c.inputs = append(c.inputs, input{kind: resume, register: *p.Register, resuming: p.Resuming})
}

func (e *cachedExecutor) CancelAttempt(p *engine.Process) {
	c := e.of(p)
	c.inputs = append(c.inputs, input{kind: cancelAttempt})
}

func (e *cachedExecutor) Settle() {
	now := e.loop.System.Now()
	for i, p := range e.loop.Processes {
		if c := e.processes[i]; len(c.inputs) > 0 || c.client.Waiting() {
			before, steered := e.cache.reaction(c.at), len(c.inputs) > 0
			runs := e.react(p, now)
			e.loop.Reached = e.loop.Reached || steered ||
				runs && before.reached(e.cache.reaction(c.at))
		}
	}
}

// react applies the process's reaction to all that has reached it by now, or to time alone. It
// reports whether the process has any code left to react.
func (e *cachedExecutor) react(p *engine.Process, now time.Duration) (runs bool) {
	c := e.of(p)
	next := c.at
	runs = !p.Client.Crashed() && !e.cache.reaction(c.at).dead
	if runs {
		next = e.cache.react(c.at, now-c.since, c.inputs, c.client)
	}
	c.client.Clear()
	c.inputs = c.inputs[:0]
	if runs {
		e.moveTo(p, next, now)
	}
	return runs
}

// moveTo puts the process into the state to which a local history leads.
func (e *cachedExecutor) moveTo(p *engine.Process, h LocalHistory, now time.Duration) {
	c := e.of(p)
	c.at, c.since = h, now
	r := e.cache.reaction(h)
	p.Pending = append(p.Pending, r.events...)
	p.ProcessState = r.ProcessState
	if e.cache.Parent(h) != 0 && e.cache.stepOf(h).resumes {
		*p.Register = r.register
	}
	c.client.Perform(r.client)
}

func (e *cachedExecutor) CheckLosses() {
	now := e.loop.System.Now()
	for i, p := range e.loop.Processes {
		if c := e.processes[i]; !p.Client.Crashed() && !p.Client.Paused() && e.loses(c) {
			c.inputs = append(c.inputs, input{kind: checkLoss})
			e.react(p, now)
		}
	}
}

// loses reports whether the process's hold says by now that it is lost.
func (e *cachedExecutor) loses(c *cachedProcess) bool {
	r := e.cache.reaction(c.at)
	return r.holds && !r.Lost && e.cache.Prediction(c.at).loses
}

func (e *cachedExecutor) Sleep(pause time.Duration) (now time.Duration, acted bool) {
	end := e.loop.System.Now() + max(pause, 0)
	for !acted {
		at, fires := e.NextTimer(end)
		if !fires {
			return end, false
		}
		now = at
		for i, p := range e.loop.Processes {
			if c := e.processes[i]; !p.Client.Crashed() && e.firesAt(c, now) <= now {
				e.react(p, now)
				acted = acted || e.cache.reaction(c.at).acts
			}
		}
	}
	return now, true
}

func (e *cachedExecutor) NextTimer(until time.Duration) (at time.Duration, ok bool) {
	at = Never
	for i, p := range e.loop.Processes {
		if !p.Client.Crashed() {
			at = min(at, e.firesAt(e.processes[i], until))
		}
	}
	return at, at != Never
}

// firesAt returns when the first timer of the process fires, or [Never] if none does until then.
func (e *cachedExecutor) firesAt(c *cachedProcess, until time.Duration) time.Duration {
	after := e.cache.FiresWithin(c.at, until-c.since)
	if after == Never {
		return Never
	}
	return c.since + after
}

func (e *cachedExecutor) OwnsResource(p *engine.Process) bool {
	return e.cache.reaction(e.of(p).at).ownResource
}

func (e *cachedExecutor) Ended(p *engine.Process) bool { return e.cache.reaction(e.of(p).at).dead }

func (e *cachedExecutor) TearDown(bool) {
	e.loop.Cancel()
	e.cache.last = e.cache.last[:0]
	for i, p := range e.loop.Processes {
		if !p.Client.Crashed() {
			e.cache.last = append(e.cache.last, e.processes[i].at)
		}
	}
}

func (e *cachedExecutor) Save(old any) any {
	saved, _ := old.(*savedProcesses)
	if saved == nil {
		saved = new(savedProcesses)
	}
	saved.processes = append(saved.processes[:0], e.processes...)
	saved.were = saved.were[:0]
	for _, c := range e.processes {
		saved.were = append(saved.were, *c)
	}
	return saved
}

func (e *cachedExecutor) Restore(from any) {
	saved := from.(*savedProcesses)
	e.processes = append(e.processes[:0], saved.processes...)
	for i, c := range e.processes {
		*c = saved.were[i]
	}
}

// savedProcesses are the cached processes of a snapshot, and what they were.
type savedProcesses struct {
	processes []*cachedProcess
	were      []cachedProcess
}
