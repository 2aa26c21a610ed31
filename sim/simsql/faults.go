package simsql

import (
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/sim"
)

// A faultAction says how the database and its clients suffer a kind of fault.
type faultAction struct {
	// possible reports whether the fault can strike now and would make a difference.
	possible func(*System, *Client) bool
	// apply gets a nil client if the fault strikes the server.
	apply func(*System, *Client, faults.Severity)
}

// AppendFaults appends the steps in which a fault of the kind can strike, by process or server.
func (s *System) AppendFaults(steps []sim.EnabledStep, kind faults.Kind) []sim.EnabledStep {
	action := faultActions[kind]
	switch {
	case action.apply == nil:
	case kind.OnServer():
		if action.possible(s, nil) {
			step := sim.OnServer(sim.Fault, 0).StruckBy(kind)
			steps = append(steps, sim.EnabledStep{Step: step})
		}
	default:
		for _, c := range s.clients {
			if action.possible(s, c) {
				step := sim.Step{Process: int32(c.Process())}.StruckBy(kind)
				steps = append(steps, sim.EnabledStep{Step: step})
			}
		}
	}
	return steps
}

// Inject lets the fault of a step strike.
func (s *System) Inject(step sim.Step, severity faults.Severity) {
	var c *Client
	if step.Process > 0 {
		c = s.clients[step.Process-1]
	}
	faultActions[step.Fault].apply(s, c, severity)
}

// clockJump is how far the clock jumps ahead.
const clockJump = time.Hour

// faultActions are the faults of the database and its clients.
var faultActions = [faults.Kinds]faultAction{
	faults.Cut: {
		possible: func(_ *System, c *Client) bool { return c.Connected() && !c.down },
		apply:    func(s *System, c *Client, _ faults.Severity) { s.cut(c) },
	},
	faults.LoseReply: {
		possible: func(_ *System, c *Client) bool { return c.servable() >= 0 },
		apply: func(s *System, c *Client, _ faults.Severity) {
			for c.servable() >= 0 {
				s.serve(c)
			}
			s.cut(c)
		},
	},
	faults.Crash: {
		possible: runs,
		apply: func(s *System, c *Client, _ faults.Severity) {
			c.Crash()
			c.replies = nil
			s.lose(c)
			s.Record(history.Event{Kind: history.Crashed, Process: int32(c.Process())})
		},
	},
	faults.Cancel: {
		possible: runs,
		apply:    func(*System, *Client, faults.Severity) {}, // The caller cancels the context.
	},
	faults.StallRequests: {
		possible: func(_ *System, c *Client) bool {
			return len(c.requests) > 0 && !c.stallsRequests && !c.down
		},
		apply: func(_ *System, c *Client, _ faults.Severity) { c.stallsRequests = true },
	},
	faults.StallReplies: {
		possible: func(_ *System, c *Client) bool {
			return len(c.replies) > 0 && !c.stallsReplies && !c.down
		},
		apply: func(_ *System, c *Client, _ faults.Severity) { c.stallsReplies = true },
	},
	faults.Pause: {
		possible: func(s *System, c *Client) bool { return runs(s, c) && !c.Paused() },
		apply: func(s *System, c *Client, severity faults.Severity) {
			c.resumeAt = s.Now() + severity.Pause
			c.Pause()
		},
	},
	faults.SlowClock: {
		possible: accurate,
		apply: func(s *System, _ *Client, severity faults.Severity) {
			s.database.setClock(s.Now(), trueClock-severity.Drift, 0)
		},
	},
	faults.FastClock: {
		possible: accurate,
		apply: func(s *System, _ *Client, severity faults.Severity) {
			s.database.setClock(s.Now(), trueClock+severity.Drift, 0)
		},
	},
	faults.JumpClock: {
		possible: func(s *System, _ *Client) bool {
			return s.database.clock.read && !s.database.jumped
		},
		apply: func(s *System, _ *Client, _ faults.Severity) {
			s.database.jumped = true
			s.database.setClock(s.Now(), s.database.rate, clockJump)
		},
	},
	faults.StallServer: {
		possible: func(s *System, _ *Client) bool {
			return s.database.answers() && s.awaited()
		},
		apply: func(s *System, _ *Client, _ faults.Severity) { s.database.stalled = true },
	},
	faults.RestartServer: {
		possible: func(s *System, _ *Client) bool { return s.connected() },
		apply: func(s *System, _ *Client, _ faults.Severity) {
			if s.database.owner != nil {
				s.rollBack()
			}
			for _, c := range s.clients {
				c.disconnect()
			}
		},
	},
}

func runs(_ *System, c *Client) bool { return !c.Crashed() }

// accurate reports whether the clock runs at its true rate. Before a statement has read it, another
// rate makes no difference.
func accurate(s *System, _ *Client) bool {
	return s.database.clock.read && s.database.rate == trueClock
}

// awaited reports whether a request waits for the server. A stall from before it came makes no
// difference.
func (s *System) awaited() bool {
	for _, c := range s.clients {
		if len(c.requests) > 0 {
			return true
		}
	}
	return false
}

// connected reports whether a client has a connection.
func (s *System) connected() bool {
	for _, c := range s.clients {
		if c.Connected() {
			return true
		}
	}
	return false
}

// cut ends the client's connections. It cannot connect until its link is healed.
func (s *System) cut(c *Client) {
	c.setDown(true)
	c.disconnect()
	s.lose(c)
}
