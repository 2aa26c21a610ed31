package scenarios

import "time"

// A replayExecutor replays what the code of processes is known to do, from a [replayCache]. What is
// not known yet, the cache finds out by running the code of that one process.
type replayExecutor struct {
	loop      *loop
	cache     *replayCache
	processes []*cachedProcess // by number, the first at 0
}

// A cachedProcess is a process whose goroutines are replaced by the reactions in a cache.
type cachedProcess struct {
	at     *localHistory
	since  time.Duration // when the process came to that
	client StubClient
	inputs []input // from the loop since then
}

// on returns the executor that replaces the goroutines of all processes of a run by cached
// reactions.
func (t *replayCache) on(l *loop) executor {
	e := &t.executor
	e.loop, e.cache, e.processes = l, t, e.processes[:0]
	return e
}

// histories returns the local histories to which the processes have come.
func (e *replayExecutor) histories() []*localHistory {
	histories := make([]*localHistory, len(e.processes))
	for i, c := range e.processes {
		histories[i] = c.at
	}
	return histories
}

func (e *replayExecutor) of(p *process) *cachedProcess { return e.processes[p.Number-1] }

func (e *replayExecutor) begin(p *process) {
	stubber := e.loop.system.(Stubber)
	begins := initialState{
		number: p.Number, cycles: p.cycles, client: stubber.Initial(p.client),
		at: e.loop.system.Now(),
	}
	e.processes = append(e.processes[:p.Number-1], &cachedProcess{client: stubber.Stub(p.client)})
	e.moveTo(p, e.cache.root(begins), e.loop.system.Now())
}

func (e *replayExecutor) openGate(p *process) {
	c := e.of(p)
	c.inputs = append(c.inputs, input{kind: resume, register: *p.register, dazed: p.resuming})
}

func (e *replayExecutor) cancelAttempt(p *process) {
	c := e.of(p)
	c.inputs = append(c.inputs, input{kind: cancelAttempt})
}

func (e *replayExecutor) settle() {
	now := e.loop.system.Now()
	for i, p := range e.loop.processes {
		if c := e.processes[i]; len(c.inputs) > 0 || c.client.Waiting() {
			e.react(p, now)
		}
	}
}

// react applies the process's reaction to all that has reached it by now, or to time alone.
func (e *replayExecutor) react(p *process, now time.Duration) {
	c := e.of(p)
	next := c.at
	runs := !p.client.Crashed() && !c.at.dead
	if runs {
		next = e.cache.react(c.at, now-c.since, c.inputs, c.client)
	}
	c.client.Clear()
	c.inputs = c.inputs[:0]
	if runs {
		e.moveTo(p, next, now)
	}
}

// moveTo puts the process into the state to which a local history leads.
func (e *replayExecutor) moveTo(p *process, h *localHistory, now time.Duration) {
	c := e.of(p)
	c.at, c.since = h, now
	r := &h.reaction
	p.pending = append(p.pending, r.events...)
	p.processState = r.processState
	for i := range h.inputs {
		if h.inputs[i].kind == resume {
			*p.register = r.register
		}
	}
	c.client.Perform(r.client)
}

func (e *replayExecutor) checkLosses() {
	now := e.loop.system.Now()
	for i, p := range e.loop.processes {
		if c := e.processes[i]; !p.client.Crashed() && !p.client.Paused() && e.loses(c, now) {
			c.inputs = append(c.inputs, input{kind: checkLoss})
			e.react(p, now)
		}
	}
}

// loses reports whether the process's hold says by now that it is lost.
func (e *replayExecutor) loses(c *cachedProcess, now time.Duration) bool {
	if !c.at.holds || c.at.lost {
		return false
	}
	e.cache.predictTimers(c.at, now-c.since)
	return c.at.lostAfter <= now-c.since
}

func (e *replayExecutor) sleep(pause time.Duration) (now time.Duration, acted bool) {
	now = e.loop.system.Now() + max(pause, 0)
	if at := e.nextAction(now); at <= now {
		now, acted = at, true
	}
	for i, p := range e.loop.processes {
		if !p.client.Crashed() && e.actsAt(e.processes[i], now) <= now {
			e.react(p, now)
		}
	}
	return now, acted
}

// nextAction returns when the first process acts by itself, or [never] if none does until then.
func (e *replayExecutor) nextAction(until time.Duration) time.Duration {
	at := never
	for i, p := range e.loop.processes {
		if !p.client.Crashed() {
			at = min(at, e.actsAt(e.processes[i], until))
		}
	}
	return at
}

// actsAt returns when the process acts by itself, or [never] if it does not until then.
func (e *replayExecutor) actsAt(c *cachedProcess, until time.Duration) time.Duration {
	if e.cache.predictTimers(c.at, until-c.since); c.at.actsAfter == never {
		return never
	}
	return c.since + c.at.actsAfter
}

func (e *replayExecutor) ownsResource(p *process) bool { return e.of(p).at.ownResource }

func (e *replayExecutor) ended(p *process) bool { return e.of(p).at.dead }

func (e *replayExecutor) tearDown(bool) {
	e.loop.cancel()
	e.cache.last = e.cache.last[:0]
	for i, p := range e.loop.processes {
		if !p.client.Crashed() {
			e.cache.last = append(e.cache.last, e.processes[i].at)
		}
	}
}

func (e *replayExecutor) save(old any) any {
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

func (e *replayExecutor) restore(from any) {
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
