package page

import "github.com/interlock-sim/interlock/history"

// A barKey identifies a bar that has not ended.
type barKey struct {
	kind    string
	process int32
	session int64
}

// begin begins a bar at a step, unless it has begun.
func (b *builder) begin(k barKey, step int) {
	if _, ok := b.open[k]; ok {
		return
	}
	b.open[k] = len(b.Bars)
	b.Bars = append(b.Bars, Bar{b.lane(Process, k.process), k.kind, step, -1})
}

// end ends a bar at a step, if it has begun.
func (b *builder) end(k barKey, step int) {
	if n, ok := b.open[k]; ok {
		b.Bars[n].To = step
		delete(b.open, k)
	}
}

// bars begins and ends bars at an event.
func (b *builder) bars(i int) {
	e := &b.graph.Events[i]
	of := func(kind string) barKey { return barKey{kind, e.Process, 0} }
	if e.Process != 0 && !b.ended(e.Process) {
		b.begin(of(BarAlive), i)
	}
	switch e.Kind {
	case history.LockCall:
		b.begin(of(BarWaits), i)
	case history.LockReturn:
		b.end(of(BarWaits), i)
		if e.Err == "" {
			b.begin(of(BarHolds), i)
		}
	case history.Lost:
		b.end(of(BarHolds), i)
		b.begin(of(BarLost), i)
	case history.UnlockReturn:
		b.end(of(BarHolds), i)
		b.end(of(BarLost), i)
	case history.Enter:
		b.begin(of(BarInside), i)
	case history.Leave:
		b.end(of(BarInside), i)
	case history.SessionOpened:
		b.begin(barKey{BarSession, e.Process, e.Session}, i)
	case history.SessionExpired, history.SessionClosed:
		b.end(barKey{BarSession, e.Process, e.Session}, i)
	case history.SessionState:
		if e.Name == "has-session" {
			b.end(of(BarDisconnected), i)
		} else {
			b.begin(of(BarDisconnected), i)
		}
	case history.Resumed:
		b.pause(i)
	case history.Finished, history.Crashed:
		for _, kind := range []string{
			BarWaits, BarHolds, BarLost, BarInside, BarDisconnected, BarAlive,
		} {
			b.end(of(kind), i)
		}
	}
}

// ended reports whether a process has finished or crashed.
func (b *builder) ended(process int32) bool {
	p := b.processes[process]
	return p != nil && (p.Belief == Finished || p.Belief == Crashed)
}

// pause adds the pause that ends at an event: it began with the last fault of the process.
func (b *builder) pause(resumed int) {
	e := &b.graph.Events[resumed]
	for i := resumed - 1; i >= 0; i-- {
		if f := &b.graph.Events[i]; f.Kind == history.Fault && f.Process == e.Process {
			b.Bars = append(b.Bars, Bar{b.lane(Process, e.Process), BarPaused, i, resumed})
			return
		}
	}
}
