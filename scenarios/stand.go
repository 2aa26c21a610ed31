package scenarios

import (
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

// A stand is what stands in for a process's goroutines where it is known what its code does: see [past].
type stand struct {
	pasts   *pasts
	past    *past
	since   time.Duration // when it has come to that
	double  *simzk.Double
	stimuli []stimulus // that have come since, of the loop
}

// rehearse puts stands into the place of all processes.
func (l *loop) rehearse(known *pasts) {
	l.pasts = known
	for _, p := range l.processes {
		l.stand(p)
	}
}

// stand puts a stand into the place of a process, from now on.
func (l *loop) stand(p *process) {
	conn := p.Client.(*simzk.Conn)
	begins := origin{number: p.Number, cycles: p.cycles, session: conn.SessionID(), state: conn.State(), at: l.cluster.Now()}
	p.stand = &stand{pasts: l.pasts, double: conn.StandIn()}
	p.become(l.pasts.root(begins), l.cluster.Now())
}

// stimulate notes what the loop does to a process that has a stand.
func (p *process) stimulate(kind stimulusKind) {
	s := stimulus{kind: kind}
	if kind == resume {
		s.register, s.dazed = *p.register, p.dazed
	}
	p.stand.stimuli = append(p.stand.stimuli, s)
}

// settle lets all processes that have stands do what they do upon what has reached them.
func (l *loop) settle() {
	for _, p := range l.processes {
		if s := p.stand; len(s.stimuli)+len(s.double.Stimuli) > 0 {
			p.react(l.cluster.Now())
		}
	}
}

// react lets a process do what it does upon what has reached it by now, or by itself.
func (p *process) react(now time.Duration) {
	s := p.stand
	for i := range s.double.Stimuli {
		s.stimuli = append(s.stimuli, stimulus{client: s.double.Stimuli[i]})
	}
	s.double.Stimuli = s.double.Stimuli[:0]
	if !p.link.Crashed() && !s.past.dead {
		p.become(s.pasts.extend(s.past, now-s.since, s.stimuli), now)
	}
	s.stimuli = s.stimuli[:0]
}

// become gives the process the state that its code has come to.
func (p *process) become(now *past, at time.Duration) {
	p.stand.past, p.stand.since = now, at
	r := &now.response
	p.pending = append(p.pending, r.events...)
	p.stage, p.attempt, p.gate, p.waiting = r.stage, r.attempt, r.gate, r.waits
	p.cancelled, p.lost, p.over, p.panics = r.cancelled, r.lost, r.over, r.panics
	for i := range now.stimuli {
		if now.stimuli[i].kind == resume {
			*p.register = r.register
		}
	}
	p.stand.double.Respond(r.calls, r.kept, r.closed)
}

// lookForLosses does what checkLoss does.
func (l *loop) lookForLosses() {
	now := l.cluster.Now()
	for _, p := range l.processes {
		if !p.link.Crashed() && !p.link.Paused() && p.stand.loses(now) {
			p.stimulate(look)
			p.react(now)
		}
	}
}

// loses tells whether the process's hold tells by now that it is lost.
func (s *stand) loses(now time.Duration) bool {
	if !s.past.holds || s.past.lost {
		return false
	}
	s.pasts.foresee(s.past, now-s.since)
	return s.past.lostAfter <= now-s.since
}

// actsAt returns when the process will do something by itself, if that is by then.
func (s *stand) actsAt(by time.Duration) time.Duration {
	if s.pasts.foresee(s.past, by-s.since); s.past.actsAfter == never {
		return never
	}
	return s.since + s.past.actsAfter
}

// nextAct returns when the first process will do something by itself, if that is by then.
func (l *loop) nextAct(by time.Duration) time.Duration {
	at := never
	for _, p := range l.processes {
		if !p.link.Crashed() {
			at = min(at, p.stand.actsAt(by))
		}
	}
	return at
}

// pass lets time pass, as long as tick says, and what processes do by themselves then. It reports whether one has done anything.
func (l *loop) pass(pause time.Duration) (now time.Duration, acted bool) {
	now = l.cluster.Now() + max(pause, 0)
	if at := l.nextAct(now); at <= now {
		now, acted = at, true
	}
	for _, p := range l.processes {
		if !p.link.Crashed() && p.stand.actsAt(now) <= now {
			p.react(now)
		}
	}
	return now, acted
}
