package simredis

import (
	"slices"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/sim"
)

// A faultAction says how Redis servers and their clients suffer a kind of fault.
type faultAction struct {
	// possible reports whether the fault can strike the site now and would make a difference.
	possible func(site) bool
	apply    func(site, faults.Severity)
}

// A site is where a fault strikes.
type site struct {
	system *System
	client *Client      // nil if the fault strikes a server
	server int          // counted from 0
	node   *redisServer // nil if the fault strikes a client as a whole
}

// site returns where the fault of a step strikes.
func (s *System) site(step sim.Step) site {
	if server, ok := step.Server(); ok {
		return site{system: s, server: server, node: &s.servers[server]}
	}
	at := site{system: s, client: s.clients[step.Process-1]}
	if step.Peer != 0 {
		at.server = int(step.Peer) - 1
		at.node = &s.servers[at.server]
	}
	return at
}

// AppendFaults appends the steps in which a fault of the kind can strike: by process, by server, or
// by link.
func (s *System) AppendFaults(steps []sim.EnabledStep, kind faults.Kind) []sim.EnabledStep {
	action := faultActions[kind]
	if action.apply == nil {
		return steps
	}
	add := func(step sim.Step) {
		if action.possible(s.site(step)) {
			steps = append(steps, sim.EnabledStep{Step: step.StruckBy(kind)})
		}
	}
	switch kind.Strikes() {
	case faults.OneClient:
		for _, c := range s.clients {
			add(sim.Step{Process: int32(c.Process())})
		}
	case faults.OneServer:
		for server := range s.servers {
			add(sim.OnServer(sim.Fault, server))
		}
	case faults.LinkToServer:
		for _, c := range s.clients {
			for server := range s.servers {
				add(sim.OnLink(sim.Fault, c.Process(), server))
			}
		}
	}
	return steps
}

// Inject lets the fault of a step strike.
func (s *System) Inject(step sim.Step, severity faults.Severity) {
	faultActions[step.Fault].apply(s.site(step), severity)
}

// clockJump is how far a clock jumps ahead.
const clockJump = time.Hour

// faultActions are the faults of Redis servers and their clients.
var faultActions = [faults.Kinds]faultAction{
	faults.Cut: {
		possible: func(s site) bool { return s.client.Connected() && !s.client.down },
		apply:    func(s site, _ faults.Severity) { s.cut() },
	},
	faults.LoseReply: {
		possible: func(s site) bool { return s.client.servesAny() },
		apply: func(s site, _ faults.Severity) {
			for server := range s.system.servers {
				for s.client.servable(server) != nil {
					s.system.serve(s.client, server)
				}
			}
			s.cut()
		},
	},
	faults.Crash: {
		possible: clientRuns,
		apply: func(s site, _ faults.Severity) {
			s.client.Crash()
			for server := range s.client.links {
				s.client.links[server].replies = nil
			}
			s.system.Record(history.Event{
				Kind: history.Crashed, Process: int32(s.client.Process()),
			})
		},
	},
	faults.Cancel: {
		possible: clientRuns,
		apply:    func(site, faults.Severity) {}, // The caller cancels the context.
	},
	faults.Pause: {
		possible: func(s site) bool { return clientRuns(s) && !s.client.Paused() },
		apply: func(s site, severity faults.Severity) {
			s.client.resumeAt = s.system.Now() + severity.Pause
			s.client.Pause()
		},
	},
	faults.Unreachable: {
		possible: func(s site) bool { return clientRuns(s) && !s.client.links[s.server].blocked },
		apply: func(s site, _ faults.Severity) {
			s.client.links[s.server].blocked = true
			s.client.refresh()
			s.client.disconnect(func(server int) bool { return server == s.server })
		},
	},
	faults.KillServer: {
		possible: func(s site) bool { return len(s.system.servers) > 1 && serverRuns(s) },
		apply: func(s site, _ faults.Severity) {
			s.node.down = true
			s.disconnectAll()
		},
	},
	faults.SlowClock: {
		possible: func(s site) bool { return clockMatters(s) && s.node.rate == trueClock },
		apply: func(s site, severity faults.Severity) {
			s.node.setClock(s.system.Now(), trueClock-severity.Drift, 0)
		},
	},
	faults.FastClock: {
		possible: func(s site) bool { return clockMatters(s) && s.node.rate == trueClock },
		apply: func(s site, severity faults.Severity) {
			s.node.setClock(s.system.Now(), trueClock+severity.Drift, 0)
		},
	},
	faults.JumpClock: {
		possible: func(s site) bool { return clockMatters(s) && !s.node.jumped },
		apply: func(s site, _ faults.Severity) {
			s.node.jumped = true
			s.node.setClock(s.system.Now(), s.node.rate, clockJump)
		},
	},
	faults.StallServer: {
		possible: func(s site) bool { return s.node.answers() && s.awaited() },
		apply: func(s site, _ faults.Severity) {
			s.node.stalled = true
			s.system.refresh()
		},
	},
	faults.WipeServer: {
		possible: func(s site) bool { return serverRuns(s) && len(s.node.keys) > 0 },
		apply: func(s site, _ faults.Severity) {
			s.disconnectAll()
			s.node.empty()
			s.system.noteChanges(s.server, 0, history.KeyLost)
		},
	},
	faults.FailOver: {
		possible: func(s site) bool { return serverRuns(s) && s.node.unreplicated() },
		apply: func(s site, _ faults.Severity) {
			s.disconnectAll()
			s.node.keys = s.system.changes(s.server, s.node.keys, s.node.failOver(s.system.Now()),
				history.KeyLost)
		},
	},
}

func clientRuns(s site) bool { return !s.client.Crashed() }

func serverRuns(s site) bool { return s.node.up() }

// clockMatters reports whether the server has a key that expires. Before it has one, another clock
// makes no difference.
func clockMatters(s site) bool {
	_, expires := s.node.expiry(s.system.Now())
	return serverRuns(s) && expires
}

// awaited reports whether a request waits for the server. A stall from before it came makes no
// difference.
func (s site) awaited() bool {
	return slices.ContainsFunc(s.system.clients, func(c *Client) bool {
		return len(c.links[s.server].requests) > 0
	})
}

// servesAny reports whether a request of the client can be served.
func (c *Client) servesAny() bool {
	for server := range c.links {
		if c.servable(server) != nil {
			return true
		}
	}
	return false
}

// cut ends the client's connections. It cannot connect until its link is healed.
func (s site) cut() {
	s.client.down = true
	s.client.refresh()
	s.client.disconnect(func(int) bool { return true })
}

// disconnectAll ends all connections to the server.
func (s site) disconnectAll() {
	s.system.refresh()
	for _, c := range s.system.clients {
		c.disconnect(func(server int) bool { return server == s.server })
	}
}
