package conform

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// The sides of a round.
const (
	subject   = 0
	reference = 1
)

// A round is a part of a run with a root and sessions of its own. The errors of its methods are a
// differenceError, or mean that the round cannot continue.
type round struct {
	sides    [2]*side
	oneByOne bool // see Options.OneByOne
	stats    *Stats
	*bindings
	step int // index of the next step
	log  []logEntry
}

// A logEntry is a client's action as part of a step.
type logEntry struct {
	client  int
	step    int
	text    string
	request *wire.Request // replaces text, if not nil
}

func (d logEntry) String() string {
	text := d.text
	if d.request != nil {
		text = requestText(d.request)
	}
	return fmt.Sprintf("client %d: %s", d.client+1, text)
}

// run executes the steps and closes all sessions.
func (r *round) run(steps []step) error {
	for len(steps) > 0 {
		n := 1
		for !r.oneByOne && n < len(steps) && steps[n-1].canPipeline(steps[n]) {
			n++
		}
		if err := r.runBatch(steps[:n]); err != nil {
			return err
		}
		steps = steps[n:]
	}
	for client := range clientCount {
		if r.sides[reference].clients[client] == nil {
			continue
		}
		if err := r.closeSession(client); err != nil {
			return err
		}
	}
	return nil
}

// canPipeline reports whether the next step can be pipelined behind this one with a deterministic
// result. A server processes an authentication on arrival, while earlier requests may still be
// pending.
func (s step) canPipeline(next step) bool {
	return s.client == next.client && s.action == actionRequest && next.action == actionRequest &&
		s.request.Op != wire.OpAuth && next.request.Op != wire.OpAuth && !needsReplyFirst(s.request)
}

// needsReplyFirst reports whether later writes must wait for the reply to this request. A server
// prepares writes before applying earlier ones, and then release 3.8.0 (at least) makes two
// mistakes:
//   - until a new ACL is applied, it checks the old one
//   - if a multi fails because it contains a create with the flags of a TTL node, which has another
//     type inside a multi, it sees the effects of the operations before that create
func needsReplyFirst(r *wire.Request) bool {
	return r.Op == wire.OpSetACL || r.Op == wire.OpMulti &&
		slices.ContainsFunc(r.Ops, func(op wire.Request) bool {
			return (op.Op == wire.OpCreate || op.Op == wire.OpCreate2) &&
				(op.Flags == wire.PersistentTTL || op.Flags == wire.PersistentSeqTTL)
		})
}

// runBatch executes pipelined steps of one client.
func (r *round) runBatch(steps []step) error {
	client := steps[0].client
	if err := r.reconnect(client); err != nil {
		return err
	}
	if err := r.execute(client, steps); err != nil {
		return err
	}
	r.step += len(steps)
	r.stats.Operations += len(steps)
	if r.oneByOne {
		return r.flushEvents(false)
	}
	return nil
}

func (r *round) execute(client int, steps []step) error {
	switch steps[0].action {
	case actionDrop:
		return r.drop(client)
	case actionTakeOver:
		return r.takeOver(client)
	case actionRenew:
		if err := r.closeSession(client); err != nil {
			return err
		}
		return r.connect(client, false)
	}
	requests := make([]*wire.Request, len(steps))
	for i, s := range steps {
		requests[i] = r.resolve(s.request)
		r.log = append(r.log, logEntry{client: client, step: r.step + i, request: requests[i]})
	}
	if err := r.call(client, requests...); err != nil {
		return err
	}
	if requests[0].Op == wire.OpAuth {
		return r.ping(client) // the server may have closed the connection
	}
	return nil
}

// logAction logs a client's action other than a request.
func (r *round) logAction(client int, text string) {
	r.log = append(r.log, logEntry{client: client, step: r.step, text: text})
}

// connected reports whether a client is connected to both servers.
func (r *round) connected(client int) bool {
	c := r.sides[reference].clients[client]
	return c != nil && c.err == nil
}

// reconnect connects a client that has no connection.
func (r *round) reconnect(client int) error {
	if r.connected(client) {
		return nil
	}
	return r.connect(client, r.sides[reference].clients[client] != nil)
}

// connect connects a client to its session or to a new one.
func (r *round) connect(client int, resume bool) error {
	if resume {
		r.logAction(client, "resume the session")
	} else {
		r.logAction(client, "open a session")
	}
	err := r.observe(client, func(s *side) observation { return s.connect(client, resume) })
	if c := r.sides[reference].clients[client]; err == nil && c.err != nil {
		return fmt.Errorf("no session with either server: %w", c.err)
	}
	if c := r.sides[reference].clients[client]; err == nil && c.SessionID == 0 {
		return errors.New("both servers have expired a session early")
	}
	return err
}

// drop closes a client's connection after all events have arrived.
func (r *round) drop(client int) error {
	r.logAction(client, "drop the connection")
	if err := r.ping(client); err != nil {
		return err
	}
	return r.observe(client, func(s *side) observation { return s.drop(client) })
}

// takeOver opens a second connection for a client's session, so the server closes the first one.
func (r *round) takeOver(client int) error {
	r.logAction(client, "keep the connection open")
	if err := r.ping(client); err != nil {
		return err
	}
	first := map[*side]*session{}
	for _, s := range r.sides {
		first[s] = s.clients[client]
	}
	if err := r.connect(client, true); err != nil {
		return err
	}
	return r.observe(client, func(s *side) observation { return awaitEnd(first[s]) })
}

// closeSession closes a client's session. A server deletes the session's ephemeral nodes in the
// order of a Java HashSet, so the events of this transaction are compared without their order.
// Flushing events before and after separates them from others. In other transactions events follow
// the order of operations, with a node's event before its parent's.
func (r *round) closeSession(client int) error {
	if err := r.reconnect(client); err != nil {
		return err
	}
	if err := r.flushEvents(false); err != nil {
		return err
	}
	r.logAction(client, "close the session")
	if err := r.exchange(client, true, &wire.Request{Op: wire.OpCloseSession}); err != nil {
		return err
	}
	err := r.observe(client, func(s *side) observation {
		s.clients[client].closed = true
		return awaitEnd(s.clients[client])
	})
	if err != nil {
		return err
	}
	return r.flushEvents(true)
}

// observe makes one observation on each side and compares them.
func (r *round) observe(client int, observe func(*side) observation) error {
	var seen [2][]observation
	for i, s := range r.sides {
		seen[i] = []observation{observe(s)}
	}
	return r.compare(client, seen, len(r.log)-1)
}

// call pipelines the requests of the last log entries and compares everything observed up to the
// last reply.
func (r *round) call(client int, requests ...*wire.Request) error {
	return r.exchange(client, false, requests...)
}

// exchange is call with an option to ignore the order of events.
func (r *round) exchange(client int, anyOrder bool, requests ...*wire.Request) error {
	ops := make([]wire.Op, len(requests))
	for i, r := range requests {
		ops[i] = r.Op
	}
	for _, s := range r.sides {
		s.send(client, requests)
	}
	var seen [2][]observation
	for i, s := range r.sides {
		seen[i] = s.collect(client, ops...)
		if anyOrder {
			slices.SortFunc(seen[i], compareEvents)
		}
	}
	r.recordReplies(requests, seen[reference])
	return r.compare(client, seen, len(r.log)-len(requests))
}

// recordReplies updates the bindings and the statistics from the reference's messages.
func (r *round) recordReplies(requests []*wire.Request, seen []observation) {
	for _, o := range seen {
		switch {
		case o.event != nil:
			r.stats.Events++
		case o.reply != nil:
			r.update(requests[0], o.reply)
			r.stats.Ops[o.op]++
			r.stats.Codes[o.reply.Code]++
			requests = requests[1:]
		}
	}
}

// ping compares a client's pending events.
func (r *round) ping(client int) error {
	return r.call(client, &wire.Request{Op: wire.OpPing})
}

// flushEvents compares the pending events of all clients, with an option to ignore their order.
func (r *round) flushEvents(anyOrder bool) error {
	ping := []*wire.Request{{Op: wire.OpPing}}
	for client := range clientCount {
		for _, s := range r.sides {
			if r.connected(client) {
				s.send(client, ping)
			}
		}
	}
	for client := range clientCount {
		if !r.connected(client) {
			continue
		}
		var seen [2][]observation
		for i, s := range r.sides {
			seen[i] = s.collect(client, wire.OpPing)
			if anyOrder {
				slices.SortFunc(seen[i], compareEvents)
			}
		}
		r.recordReplies(ping, seen[reference])
		if err := r.compare(client, seen, len(r.log)-1); err != nil {
			return err
		}
	}
	return nil
}

// compareEvents sorts events by path and type, before all other observations.
func compareEvents(a, b observation) int {
	switch {
	case a.event != nil && b.event != nil:
		return cmp.Or(cmp.Compare(a.event.Path, b.event.Path),
			cmp.Compare(a.event.Type, b.event.Type))
	case a.event != nil:
		return -1
	case b.event != nil:
		return 1
	}
	return 0
}

// compare compares a client's observations on both sides. The first reply belongs to the log entry
// at index first, and later replies to the following entries.
func (r *round) compare(client int, seen [2][]observation, first int) error {
	for i := range max(len(seen[subject]), len(seen[reference])) {
		var at [2]observation
		for side := range at {
			at[side].end = "nothing"
			if i < len(seen[side]) {
				at[side] = seen[side][i]
			}
		}
		if !reflect.DeepEqual(at[subject], at[reference]) {
			r.log = r.log[:min(first+1, len(r.log))]
			last := r.log[len(r.log)-1]
			return differenceError{&Difference{
				Operation: last.step + 1, Request: last.String(), Client: client + 1,
				Subject: at[subject].String(), Reference: at[reference].String(),
				Steps: r.logTexts(),
			}}
		}
		if at[reference].reply != nil {
			first++
		}
	}
	return nil
}

// logTexts formats the log.
func (r *round) logTexts() []string {
	text := make([]string, len(r.log))
	for i, d := range r.log {
		text[i] = d.String()
	}
	return text
}
