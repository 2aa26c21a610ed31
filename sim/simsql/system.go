// Package simsql simulates a database server as a [sim.System]. Lock code uses database/sql: see
// [Client.DB]. Each statement waits until it is served, and each reply until it is delivered.
// SQLite executes the statements.
package simsql

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/sim/internal/service"
)

// A Service is a database as a [sim.Service].
type Service struct {
	// Schema is SQL that creates the tables, before each run.
	Schema string
	// Owner is the column that names the owner of a row, for [history.OwnRelease]. Without it, a
	// process owns the row that it inserts, or takes by a statement or a transaction that tests a
	// column which it changes.
	Owner string
}

// Name returns SQL.
func (Service) Name() string { return "SQL" }

// New returns a simulated database.
func (s Service) New() sim.System { return &System{schema: s.Schema, owner: s.Owner} }

// Supports reports whether the database has faults of the kind.
func (Service) Supports(kind faults.Kind) bool { return faultActions[kind].apply != nil }

// Expires returns true: a row can hold the time until which it is valid.
func (Service) Expires() bool { return true }

// ServersMax returns 1: there is one server.
func (Service) ServersMax() int { return 1 }

// simulator is the prefix of the full names of this package's functions.
var simulator = reflect.TypeFor[System]().PkgPath() + "."

// library is the prefix of the full names of functions of database/sql.
const library = "database/sql."

// OwnsFrame reports whether a function belongs to the simulated database or to database/sql.
func (Service) OwnsFrame(function string) bool {
	return strings.HasPrefix(function, simulator) || strings.HasPrefix(function, library)
}

// OwnsCall reports whether a function belongs to the simulated database or to database/sql, which
// is between the code of a lock and it.
func (s Service) OwnsCall(function string) bool { return s.OwnsFrame(function) }

// StepCost returns 12: a step runs database/sql and SQLite.
func (Service) StepCost(bool) int { return 12 }

// Determinize has nothing to do: database/sql is deterministic for processes that use a pool from
// one goroutine at a time.
func (Service) Determinize() (restore func()) { return func() {} }

// noticeAfter is how long the server takes to notice that a connection is lost: by keepalives.
const noticeAfter = time.Second

// A System is a database server with its clients.
type System struct {
	service.Base

	schema   string
	owner    string // the column
	database database
	clients  []*Client // by number of the process, the first at 0
	writes   int64
	rowsSet  int64 // number of KeySet events
}

// Reset begins a run with an empty database.
func (s *System) Reset(config sim.Config) {
	d := s.database
	if d.store == nil {
		d.store = newStore(s, s.schema)
	}
	d.reset()
	if s.owner != "" && len(d.tables) > 0 && !slices.ContainsFunc(d.tables, func(t table) bool {
		return slices.Contains(t.others, strings.ToLower(s.owner))
	}) {
		panic(fmt.Errorf("simsql: no table of the schema has the column %q of Service.Owner, "+
			"outside of its primary key", s.owner))
	}
	*s = System{
		schema: s.schema, owner: s.owner, Base: service.NewBase(config), database: d,
		rowsSet: int64(len(d.committed)),
	}
}

// Connect adds a client. It has no connections yet.
func (s *System) Connect() sim.Client {
	c := &Client{system: s}
	c.Init(len(s.clients)+1, &s.Base)
	s.clients = append(s.clients, c)
	return c
}

// Join adds a client to the run under way.
func (s *System) Join() sim.Client { return s.Connect() }

// Servers returns 1.
func (s *System) Servers() int { return 1 }

// AppendMessages appends the requests that can be served and the replies that can be delivered.
func (s *System) AppendMessages(steps []sim.EnabledStep) []sim.EnabledStep {
	add := func(kind sim.StepKind, c *Client, m *message) {
		step := sim.Step{Kind: kind, Process: int32(c.Process())}
		steps = append(steps, sim.EnabledStep{Step: step, Age: m.age})
	}
	for _, c := range s.clients {
		if next := c.servable(); next >= 0 {
			add(sim.Serve, c, &c.requests[next])
		}
	}
	for _, c := range s.clients {
		if c.deliverable() {
			add(sim.Deliver, c, &c.replies[0])
		}
	}
	return steps
}

// AppendRepairs appends the healing of clients' links and the ends of pauses, then the healing of
// the server.
func (s *System) AppendRepairs(steps []sim.EnabledStep, _ bool) []sim.EnabledStep {
	for _, c := range s.clients {
		if c.down || c.stallsRequests || c.stallsReplies {
			steps = append(steps,
				sim.EnabledStep{Step: sim.Step{Kind: sim.Heal, Process: int32(c.Process())}})
		}
		if c.Paused() {
			steps = append(steps,
				sim.EnabledStep{Step: sim.Step{Kind: sim.Resume, Process: int32(c.Process())}})
		}
	}
	if s.database.stalled {
		steps = append(steps, sim.EnabledStep{Step: sim.OnServer(sim.Heal, 0)})
	}
	return steps
}

// Perform serves a request, delivers a reply, heals or resumes.
func (s *System) Perform(step sim.Step) {
	if _, ok := step.Server(); ok {
		s.database.stalled = false
		s.Record(history.Event{Kind: history.Healed, Server: 1})
		return
	}
	c := s.clients[step.Process-1]
	switch step.Kind {
	case sim.Serve:
		s.serve(c)
	case sim.Deliver:
		s.deliver(c)
	case sim.Resume:
		c.Resume()
	case sim.Heal:
		s.Record(history.Event{Kind: history.Healed, Process: step.Process})
		lost := c.down
		c.setDown(false)
		c.stallsRequests, c.stallsReplies = false, false
		if d := &s.database; lost && d.notice != 0 && d.owner.client == c {
			s.rollBack()
		}
	}
}

// serve lets the server handle the next request of a client.
func (s *System) serve(c *Client) {
	next := c.servable()
	m := c.requests[next]
	c.requests = slices.Delete(c.requests, next, next+1)
	reply, changed := s.database.do(s.Now(), m.conn, m.request)
	m.reply, m.result = reply, reply.hash()
	s.message(history.Executed, m)
	if changed {
		s.writes++
		s.noteChanges(c.Process())
	}
	if m.conn.closedByClient() {
		s.endIdle(m.conn)
		return
	}
	if c.Crashed() {
		s.lose(c)
		return
	}
	m.age = s.NextAge()
	c.replies = append(c.replies, m)
}

// deliver gives a client its next reply.
func (s *System) deliver(c *Client) {
	m := c.replies[0]
	c.replies = c.replies[1:]
	c.received = hash64.Fold(c.received, m.result^uint64(m.conn.number)<<48)
	s.message(history.Answer, m)
	s.Wake()
	m.conn.replies <- m.reply
}

// send puts a request in flight.
func (c *Client) send(conn *conn, r *request) {
	op := r.String()
	m := message{conn: conn, age: c.system.NextAge(), request: r, op: op, key: hashOf(op)}
	c.requests = append(c.requests, m)
	c.system.message(history.Command, m)
}

// message records that a message has moved.
func (s *System) message(kind history.Kind, m message) {
	e := history.Event{Kind: kind, Process: int32(m.conn.client.Process()), Op: m.op}
	if kind == history.Command {
		e.Facts = service.FactsOf(m.request.site)
	} else {
		e.Name, e.MayEndLock = m.reply.String(), kind == history.Executed
	}
	s.Record(e)
}

// endIdle ends the session of a connection that the client has closed, once the server has handled
// its requests.
func (s *System) endIdle(closed *conn) {
	if s.database.owner == closed && !slices.ContainsFunc(closed.client.requests,
		func(m message) bool { return m.conn == closed }) {
		s.rollBack()
	}
}

// lose notes that the connection of a process is lost. Its open transaction blocks others until the
// server notices.
func (s *System) lose(c *Client) {
	if d := &s.database; d.owner != nil && d.owner.client == c && d.notice == 0 {
		d.notice = s.Now() + noticeAfter
	}
}

// rollBack ends the open transaction, because its connection is lost or closed, and drops requests
// on that connection.
func (s *System) rollBack() {
	lost := s.database.owner
	changed, _ := s.database.end(false)
	c := lost.client
	c.requests = slices.DeleteFunc(c.requests, func(m message) bool { return m.conn == lost })
	s.Record(history.Event{
		Kind: history.Executed, Process: int32(c.Process()), Op: "ROLLBACK",
		Name: history.ConnectionLost,
	})
	if changed {
		s.noteChanges(c.Process())
	}
}

// noteChanges records which rows exist no longer, and which rows a process has set that caused the
// change: those that it owns.
func (s *System) noteChanges(process int) {
	before := s.database.committed
	now := s.database.present.rows
	for b := range before {
		r := &before[b]
		i, found := slices.BinarySearchFunc(now, r.name, func(r row, name string) int {
			return strings.Compare(r.name, name)
		})
		switch {
		case !found:
			s.noteGone(r, process)
		case now[i].value == r.value:
			now[i] = *r
		default:
			s.setExpiry(&now[i], r)
			if !s.passes(r, &now[i], process) {
				now[i].process, now[i].set = r.process, r.set
				s.Log().NoteChange(history.Change{Path: r.name, Contests: s.contests(r, &now[i])})
			}
		}
	}
	for i := range now {
		if r := &now[i]; r.set == 0 {
			if r.until == 0 {
				s.setExpiry(r, nil)
			}
			s.rowsSet++
			r.set, r.process = s.rowsSet, process
			s.Record(history.Event{
				Kind: history.KeySet, Path: r.name, Zxid: r.set, Process: int32(process),
			})
		}
	}
	s.database.committed, s.database.instants = now, s.database.present.instants
}

// noteGone records that a process has deleted a row.
func (s *System) noteGone(r *row, process int) {
	e := history.Event{
		Kind: history.KeyDeleted, Path: r.name, Zxid: r.set, Process: int32(process),
	}
	if r.process != process && s.lapsed(r) {
		e.Kind, e.Process = history.KeyExpired, 0
	}
	s.Record(e)
}

// Deadline returns when the next pause ends, or the server notices that the connection of an open
// transaction is lost.
func (s *System) Deadline() (at time.Duration, ok bool) {
	consider := func(other time.Duration) {
		if !ok || other < at {
			at, ok = other, true
		}
	}
	for _, c := range s.clients {
		if c.Paused() {
			consider(c.resumeAt)
		}
	}
	if notice := s.database.notice; notice != 0 {
		consider(notice)
	}
	return at, ok
}

// Advance sets the time, lets the server notice a lost connection, and ends pauses.
func (s *System) Advance(now time.Duration) {
	s.SetNow(now)
	if notice := s.database.notice; notice != 0 && notice <= now {
		s.rollBack()
	}
	for _, c := range s.clients {
		if c.Paused() && c.resumeAt <= now {
			c.Resume()
		}
	}
}

// AwaitsTime reports whether a process is paused, or the server will notice a lost connection.
func (s *System) AwaitsTime() bool {
	return s.database.notice != 0 || slices.ContainsFunc(s.clients, (*Client).Paused)
}

// Expiry returns when the server's clock last showed an instant in a row, or one second after it,
// and when it will next. A comparison may be strict and in whole seconds.
func (s *System) Expiry() (last, next time.Duration) { return s.database.expiry(s.Now()) }

// Collect receives the requests of processes, in the order of the processes.
func (s *System) Collect() {
	for _, c := range s.clients {
		c.collect()
	}
}

// RenumberAges makes the ages of messages follow an order that the state alone decides: by process,
// requests first.
func (s *System) RenumberAges() {
	for _, c := range s.clients {
		for i := range c.requests {
			c.requests[i].age = s.NextAge()
		}
		for i := range c.replies {
			c.replies[i].age = s.NextAge()
		}
	}
}

// Transactions counts the statements and transactions that have changed data.
func (s *System) Transactions() int64 { return s.writes }

// Converged returns true: there is one server.
func (s *System) Converged() bool { return true }

// FullyConnected reports whether the server answers.
func (s *System) FullyConnected() bool { return s.database.answers() }

// Leader returns false: no server leads.
func (s *System) Leader(int) bool { return false }

// Key returns a hash of what the database stores, of its open transaction, and of what is in
// flight.
func (s *System) Key() uint64 {
	key := s.database.key(s.Now())
	for _, c := range s.clients {
		key = hash64.Fold(key, c.key())
	}
	return key
}

// StateHash returns the key.
func (s *System) StateHash(bool) uint64 { return s.Key() }

var _ sim.Client = (*Client)(nil)
