package scenarios

import (
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

// A cachedProcess is what stands in for a process's goroutines where it is known what its code
// does: see [past].
type cachedProcess struct {
	cache  *replayCache
	at     *localHistory
	since  time.Duration // when it has come to that
	client *simzk.StubClient
	inputs []input // that have come since, of the loop
}

// useCache puts stands into the place of all processes.
func (l *loop) useCache(known *replayCache) {
	l.cache = known
	for _, p := range l.processes {
		l.attachCached(p)
	}
}

// attachCached puts a attachCached into the place of a process, from now on.
func (l *loop) attachCached(p *process) {
	conn := p.Client.(*simzk.Conn)
	begins := initialState{
		number: p.Number, cycles: p.cycles, session: conn.SessionID(),
		state: conn.State(), at: l.cluster.Now(),
	}
	p.cached = &cachedProcess{cache: l.cache, client: conn.Stub()}
	p.moveTo(l.cache.root(begins), l.cluster.Now())
}

// input notes what the loop does to a process that has a stand.
func (p *process) input(kind inputKind) {
	s := input{kind: kind}
	if kind == resume {
		s.register, s.dazed = *p.register, p.resuming
	}
	p.cached.inputs = append(p.cached.inputs, s)
}

// settle lets all processes that have stands do what they do upon what has reached them.
func (l *loop) settle() {
	for _, p := range l.processes {
		if s := p.cached; len(s.inputs)+len(s.client.Inputs) > 0 {
			p.applyReaction(l.cluster.Now())
		}
	}
}

// applyReaction lets a process do what it does upon what has reached it by now, or by itself.
func (p *process) applyReaction(now time.Duration) {
	s := p.cached
	for i := range s.client.Inputs {
		s.inputs = append(s.inputs, input{client: s.client.Inputs[i]})
	}
	s.client.Inputs = s.client.Inputs[:0]
	if !p.link.Crashed() && !s.at.dead {
		p.moveTo(s.cache.extend(s.at, now-s.since, s.inputs), now)
	}
	s.inputs = s.inputs[:0]
}

// moveTo gives the process the state that its code has come to.
func (p *process) moveTo(now *localHistory, at time.Duration) {
	p.cached.at, p.cached.since = now, at
	r := &now.reaction
	p.pending = append(p.pending, r.events...)
	p.stage, p.attempt, p.gate, p.waiting = r.stage, r.attempt, r.gate, r.waits
	p.cancelled, p.lost, p.over, p.panics = r.cancelled, r.lost, r.over, r.panics
	for i := range now.inputs {
		if now.inputs[i].kind == resume {
			*p.register = r.register
		}
	}
	p.cached.client.Perform(r.calls, r.kept, r.closed)
}

// checkLosses does what checkLoss does.
func (l *loop) checkLosses() {
	now := l.cluster.Now()
	for _, p := range l.processes {
		if !p.link.Crashed() && !p.link.Paused() && p.cached.loses(now) {
			p.input(checkLoss)
			p.applyReaction(now)
		}
	}
}

// loses tells whether the process's hold tells by now that it is lost.
func (s *cachedProcess) loses(now time.Duration) bool {
	if !s.at.holds || s.at.lost {
		return false
	}
	s.cache.predictTimers(s.at, now-s.since)
	return s.at.lostAfter <= now-s.since
}

// actsAt returns when the process will do something by itself, if that is by then.
func (s *cachedProcess) actsAt(by time.Duration) time.Duration {
	if s.cache.predictTimers(s.at, by-s.since); s.at.actsAfter == never {
		return never
	}
	return s.since + s.at.actsAfter
}

// nextAct returns when the first process will do something by itself, if that is by then.
func (l *loop) nextAct(by time.Duration) time.Duration {
	at := never
	for _, p := range l.processes {
		if !p.link.Crashed() {
			at = min(at, p.cached.actsAt(by))
		}
	}
	return at
}

// pass lets time pass, as long as tick says, and what processes do by themselves then. It reports
// whether one has done anything.
func (l *loop) pass(pause time.Duration) (now time.Duration, acted bool) {
	now = l.cluster.Now() + max(pause, 0)
	if at := l.nextAct(now); at <= now {
		now, acted = at, true
	}
	for _, p := range l.processes {
		if !p.link.Crashed() && p.cached.actsAt(now) <= now {
			p.applyReaction(now)
		}
	}
	return now, acted
}
