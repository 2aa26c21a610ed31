// Package simredis simulates independent Redis servers as a [sim.System]. Lock code uses a real
// Redis client, such as go-redis, over connections in memory: see [Client]. Each command waits
// until it is served, and each reply until it is delivered. miniredis executes the commands; its
// Dump shortens no value in a program with this package.
package simredis

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/callsite"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/sim/internal/service"
)

// A Service is a number of independent Redis servers as a [sim.Service].
type Service struct{}

// Name returns Redis.
func (Service) Name() string { return "Redis" }

// New returns simulated servers.
func (Service) New() sim.System { return new(System) }

// owned are the prefixes of the full names of functions of this package and of go-redis.
var owned = []string{
	reflect.TypeFor[System]().PkgPath() + ".",
	"github.com/redis/go-redis/", "github.com/go-redis/redis/", // since version 9, and before
}

// OwnsFrame reports whether a function belongs to the simulated servers or to go-redis.
func (Service) OwnsFrame(function string) bool {
	return slices.ContainsFunc(owned,
		func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

// OwnsCall reports whether a function belongs to the simulated servers or to go-redis, which is
// between the code of a lock and them.
func (s Service) OwnsCall(function string) bool { return s.OwnsFrame(function) }

// StepCost returns 12: a step runs go-redis and miniredis.
func (Service) StepCost(bool) int { return 12 }

// Determinize has nothing to do: the options of a client make it deterministic.
func (Service) Determinize() (restore func()) { return func() {} }

// A System is a number of Redis servers with their clients.
type System struct {
	service.Base

	servers []redisServer
	clients []*Client // by number of the process, the first at 0
	writes  int64
	keysSet int64 // number of KeySet events
	acting  int32 // the process whose command was executed last
}

// Reset begins a run with empty servers.
func (s *System) Reset(config sim.Config) {
	servers := s.servers[:min(len(s.servers), config.Servers)]
	for len(servers) < config.Servers {
		servers = append(servers, redisServer{})
	}
	*s = System{Base: service.NewBase(config), servers: servers}
	for i := range s.servers {
		s.servers[i].reset()
	}
}

// Connect adds a client. It has no connections yet.
func (s *System) Connect() sim.Client {
	c := &Client{
		system: s, links: make([]link, len(s.servers)), dialed: make([]int, len(s.servers)),
	}
	c.Init(len(s.clients)+1, &s.Base)
	s.clients = append(s.clients, c)
	c.refresh()
	return c
}

// Join adds a client to the run under way.
func (s *System) Join() sim.Client { return s.Connect() }

// Servers returns the number of servers.
func (s *System) Servers() int { return len(s.servers) }

// on returns the step that moves a message between a process and a server.
func (s *System) on(kind sim.StepKind, process, server int) sim.Step {
	if len(s.servers) == 1 {
		return sim.Step{Kind: kind, Process: int32(process)}
	}
	return sim.OnLink(kind, process, server)
}

// AppendMessages appends the requests that can be served and the replies that can be delivered.
func (s *System) AppendMessages(steps []sim.EnabledStep) []sim.EnabledStep {
	add := func(kind sim.StepKind, c *Client, server int, m *message) {
		if m != nil {
			step := s.on(kind, c.Process(), server)
			steps = append(steps, sim.EnabledStep{Step: step, Age: m.age})
		}
	}
	for _, c := range s.clients {
		for server := range s.servers {
			add(sim.Serve, c, server, c.servable(server))
		}
	}
	for _, c := range s.clients {
		for server := range s.servers {
			add(sim.Deliver, c, server, c.deliverable(server))
		}
	}
	return steps
}

// AppendRepairs appends the healing of clients' links and the ends of pauses, then the healing of
// single links, then that of servers.
func (s *System) AppendRepairs(steps []sim.EnabledStep, _ bool) []sim.EnabledStep {
	for _, c := range s.clients {
		if c.down {
			steps = append(steps,
				sim.EnabledStep{Step: sim.Step{Kind: sim.Heal, Process: int32(c.Process())}})
		}
		if c.Paused() {
			steps = append(steps,
				sim.EnabledStep{Step: sim.Step{Kind: sim.Resume, Process: int32(c.Process())}})
		}
	}
	for _, c := range s.clients {
		for server := range c.links {
			if c.links[server].blocked && !c.Crashed() {
				heal := sim.OnLink(sim.Heal, c.Process(), server)
				steps = append(steps, sim.EnabledStep{Step: heal})
			}
		}
	}
	for server := range s.servers {
		if s.servers[server].down || s.servers[server].stalled {
			steps = append(steps, sim.EnabledStep{Step: sim.OnServer(sim.Heal, server)})
		}
	}
	return steps
}

// Perform serves a request, delivers a reply, heals or resumes.
func (s *System) Perform(step sim.Step) {
	if server, ok := step.Server(); ok {
		s.servers[server].down, s.servers[server].stalled = false, false
		s.Record(history.Event{Kind: history.Healed, Server: int32(server + 1)})
		s.refresh()
		return
	}
	c, server := s.clients[step.Process-1], max(0, int(step.Peer)-1)
	switch step.Kind {
	case sim.Serve:
		s.serve(c, server)
	case sim.Deliver:
		s.deliver(c, server)
	case sim.Resume:
		c.Resume()
	case sim.Heal:
		if step.Peer != 0 {
			c.links[server].blocked = false
		} else {
			c.down = false
		}
		s.Record(history.Event{Kind: history.Healed, Process: step.Process, Peer: step.Peer})
		c.refresh()
	}
}

// serve lets a server handle the next request of a client.
func (s *System) serve(c *Client, server int) {
	l := &c.links[server]
	m := l.requests[0]
	l.requests = l.requests[1:]
	node := &s.servers[server]
	logged := len(node.log)
	s.expire(server)
	m.reply = node.do(s.Now(), m.conn, m.command)
	if len(node.log) > logged && node.log[logged].changed {
		s.writes++
	}
	s.message(history.Executed, m)
	s.acting = int32(c.Process())
	s.noteChanges(server, c.Process(), history.KeyDeleted)
	if !m.conn.closedByClient() && !c.Crashed() {
		m.age = s.NextAge()
		l.replies = append(l.replies, m)
	}
}

// deliver gives a client its next reply from a server.
func (s *System) deliver(c *Client, server int) {
	l := &c.links[server]
	m := l.replies[0]
	l.replies = l.replies[1:]
	c.received = hash64.Fold(c.received, hashOf(string(m.reply))^uint64(m.conn.number)<<48)
	s.message(history.Answer, m)
	s.Wake()
	m.conn.push(m.reply)
}

// send puts a command in flight.
func (c *Client) send(conn *conn, command []string, site callsite.Site) {
	m := message{
		conn: conn, age: c.system.NextAge(), command: command, op: describe(command), site: site,
	}
	l := &c.links[conn.server]
	l.requests = append(l.requests, m)
	c.system.message(history.Command, m)
}

// message records that a message has moved.
func (s *System) message(kind history.Kind, m message) {
	e := history.Event{Kind: kind, Process: int32(m.conn.client.Process()), Op: m.op}
	if len(s.servers) > 1 {
		e.Server = int32(m.conn.server + 1)
	}
	if kind == history.Command {
		e.Facts = service.FactsOf(m.site)
	} else {
		e.Name = describeReply(m.reply)
		e.MayEndLock = kind == history.Executed && s.servers[m.conn.server].wrote
	}
	s.Record(e)
}

// expire lets the keys of a server expire whose time is over, and records that.
func (s *System) expire(server int) {
	node := &s.servers[server]
	node.advance(node.clock(s.Now()))
	s.noteChanges(server, 0, history.KeyExpired)
}

// noteChanges records which keys of a server exist no longer, and which have been set. The process,
// if it is not 0, has caused the change.
func (s *System) noteChanges(server, process int, gone history.Kind) {
	node := &s.servers[server]
	present := node.present(process)
	if s.Log().GathersFacts() {
		node.describe(present)
	}
	node.keys = s.changes(server, node.keys, present, gone)
	node.rewritten = nil
}

// changes records how the keys of a server have changed, and returns the present ones, each with
// the number of its KeySet. Both lists are sorted by name.
func (s *System) changes(server int, before, now []key, gone history.Kind) []key {
	node, e := &s.servers[server], history.Event{}
	if len(s.servers) > 1 {
		e.Server = int32(server + 1)
	}
	for _, k := range before {
		i, found := find(now, k.name)
		same, deleted := false, false
		if found {
			same, deleted = node.kept(k, now[i])
			// A replica may have the key of another process.
			same = same && (gone != history.KeyLost || k.process == now[i].process)
		}
		if same {
			s.noteKept(&k, &now[i])
			k.value, k.holds, k.expires = now[i].value, now[i].holds, now[i].expires
			now[i] = k
			continue
		}
		if !found || deleted || gone == history.KeyLost {
			e.Kind, e.Path, e.Zxid, e.Process = gone, k.name, k.set, 0
			if gone == history.KeyDeleted {
				e.Process = s.acting
			}
			s.Record(e)
		}
		if !found && gone == history.KeyExpired {
			node.expired = s.Now()
		}
	}
	for i := range now {
		if k := &now[i]; k.set == 0 {
			s.keysSet++
			k.set = s.keysSet
			e.Kind, e.Path, e.Zxid, e.Process = history.KeySet, k.name, k.set, int32(k.process)
			s.Record(e)
		}
	}
	return now
}

// noteKept notes that a command has changed a key that stays that of the process that had set it. If
// that process changes when the key expires, that is no news.
func (s *System) noteKept(before, now *key) {
	foreign := before.process != now.process
	if before.holds == "" || now.process == 0 || before.holds == now.holds &&
		(!foreign || before.expires == now.expires) {
		return
	}
	s.Log().NoteChange(history.Change{
		Path: now.name, Contests: foreign && now.expires > 0 &&
			(before.expires == 0 || now.expires < before.expires),
	})
}

// refresh updates which servers clients can dial.
func (s *System) refresh() {
	for _, c := range s.clients {
		c.refresh()
	}
}

// Deadline returns when the next pause ends. While a process is paused, has crashed or has lost its
// links, the expiry of keys counts too, as others may wait for it.
func (s *System) Deadline() (at time.Duration, ok bool) {
	consider := func(other time.Duration) {
		if !ok || other < at {
			at, ok = other, true
		}
	}
	expiries := false
	for _, c := range s.clients {
		if c.Paused() {
			consider(c.resumeAt)
		}
		expiries = expiries || c.Paused() || c.Crashed() || c.down ||
			slices.ContainsFunc(c.links, func(l link) bool { return l.blocked })
	}
	for i := range s.servers {
		if expiry, expires := s.servers[i].expiry(s.Now()); expires && expiries {
			consider(expiry)
		}
	}
	return at, ok
}

// Advance sets the time, gives replicas what their servers have, and ends pauses.
func (s *System) Advance(now time.Duration) {
	s.SetNow(now)
	for i := range s.servers {
		s.expire(i)
		s.servers[i].replicate()
	}
	for _, c := range s.clients {
		if c.Paused() && c.resumeAt <= now {
			c.Resume()
		}
	}
}

// AwaitsTime reports whether a process is paused.
func (s *System) AwaitsTime() bool { return slices.ContainsFunc(s.clients, (*Client).Paused) }

// Expiry returns when a key of any server last expired, and when one will next.
func (s *System) Expiry() (last, next time.Duration) {
	for i := range s.servers {
		at, expires := s.servers[i].expiry(s.Now())
		if expires && (next == 0 || at < next) {
			next = at
		}
		last = max(last, s.servers[i].expired)
	}
	return last, next
}

// Collect receives the requests of processes, in the order of the processes. The commands that open
// a connection are answered at once, so that what the process sends next belongs to the same step.
func (s *System) Collect() {
	for again := true; again; {
		again = false
		for _, c := range s.clients {
			again = c.collect() || again
		}
		if again {
			s.Settle()
		}
	}
}

// RenumberAges makes the ages of messages follow an order that the state alone decides: by process
// and server, requests first, in the order of each link.
func (s *System) RenumberAges() {
	for _, c := range s.clients {
		for i := range c.links {
			for j := range c.links[i].requests {
				c.links[i].requests[j].age = s.NextAge()
			}
			for j := range c.links[i].replies {
				c.links[i].replies[j].age = s.NextAge()
			}
		}
	}
}

// Transactions counts the commands that may have changed data.
func (s *System) Transactions() int64 { return s.writes }

// Converged returns true: the servers are independent.
func (s *System) Converged() bool { return true }

// FullyConnected reports whether all servers answer.
func (s *System) FullyConnected() bool {
	return !slices.ContainsFunc(s.servers, func(r redisServer) bool { return !r.answers() })
}

// Leader returns false: no server leads.
func (s *System) Leader(int) bool { return false }

// Key returns a hash of the servers' data with their expiry, and of what is in flight.
func (s *System) Key() uint64 {
	key := uint64(0)
	for i := range s.servers {
		key = hash64.Fold(key, s.servers[i].key(s.Now()))
	}
	for _, c := range s.clients {
		key = hash64.Fold(key, c.key())
	}
	return key
}

// StateHash returns the key: no server depends on another.
func (s *System) StateHash(bool) uint64 { return s.Key() }

var _ sim.Client = (*Client)(nil)

// Expires returns true: keys expire.
func (Service) Expires() bool { return true }

// Supports reports whether Redis servers have faults of the kind.
func (Service) Supports(kind faults.Kind) bool { return faultActions[kind].apply != nil }
