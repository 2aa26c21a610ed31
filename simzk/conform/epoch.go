package conform

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// The sides of an epoch.
const (
	subject   = 0
	reference = 1
)

// An epoch is a part of a run with a root and sessions of its own. The errors of its methods are a
// differenceError, or say that the epoch cannot go on.
type epoch struct {
	sides   [2]*side
	careful bool // do steps one by one, and look for events after each
	stats   *Stats
	*memory
	step int // the index of the step that comes next
	done []deed
}

// A deed is what a client has done as part of a step.
type deed struct {
	client  int
	step    int
	words   string
	request *wire.Request // instead of words, if not nil
}

func (d deed) String() string {
	words := d.words
	if d.request != nil {
		words = requestText(d.request)
	}
	return fmt.Sprintf("client %d: %s", d.client+1, words)
}

// run does the steps and closes all sessions.
func (e *epoch) run(steps []step) error {
	for len(steps) > 0 {
		n := 1
		for !e.careful && n < len(steps) && steps[n-1].precedes(steps[n]) {
			n++
		}
		if err := e.turn(steps[:n]); err != nil {
			return err
		}
		steps = steps[n:]
	}
	for client := range clients {
		if e.sides[reference].clients[client] == nil {
			continue
		}
		if err := e.closeSession(client); err != nil {
			return err
		}
	}
	return nil
}

// precedes says whether the next step can be sent together with this one and be answered in one way
// only. A server carries out an authentication when it arrives, while requests before it may still
// be on their way.
func (s step) precedes(next step) bool {
	return s.client == next.client && s.action == perform && next.action == perform &&
		s.request.Op != wire.OpAuth && next.request.Op != wire.OpAuth && !lingers(s.request)
}

// lingers says whether writes that arrive before this request has been answered may see something
// that later ones do not. A server prepares writes ahead of applying them, and release 3.8.0 at
// least makes two mistakes then. It sees the old ACL of a node until the new one has been applied.
// And if a multi fails because it holds a create with the flags of a TTL, which has another type
// inside a multi, it sees what the operations before that one would have done.
func lingers(r *wire.Request) bool {
	return r.Op == wire.OpSetACL || r.Op == wire.OpMulti &&
		slices.ContainsFunc(r.Ops, func(op wire.Request) bool {
			return (op.Op == wire.OpCreate || op.Op == wire.OpCreate2) &&
				(op.Flags == wire.PersistentTTL ||
					op.Flags == wire.PersistentSeqTTL)
		})
}

// turn does steps of one client that can be sent together.
func (e *epoch) turn(steps []step) error {
	client := steps[0].client
	if err := e.reconnect(client); err != nil {
		return err
	}
	if err := e.act(client, steps); err != nil {
		return err
	}
	e.step += len(steps)
	e.stats.Operations += len(steps)
	if e.careful {
		return e.flush(false)
	}
	return nil
}

func (e *epoch) act(client int, steps []step) error {
	switch steps[0].action {
	case drop:
		return e.drop(client)
	case takeOver:
		return e.takeOver(client)
	case renew:
		if err := e.closeSession(client); err != nil {
			return err
		}
		return e.connect(client, false)
	}
	requests := make([]*wire.Request, len(steps))
	for i, s := range steps {
		requests[i] = e.resolve(s.request)
		e.done = append(e.done, deed{client: client, step: e.step + i, request: requests[i]})
	}
	if err := e.call(client, requests...); err != nil {
		return err
	}
	if requests[0].Op == wire.OpAuth {
		return e.ping(client) // the server may have ended the connection
	}
	return nil
}

// note writes down what a client does that is no request.
func (e *epoch) note(client int, words string) {
	e.done = append(e.done, deed{client: client, step: e.step, words: words})
}

// connected says whether a client has a connection, with both servers.
func (e *epoch) connected(client int) bool {
	c := e.sides[reference].clients[client]
	return c != nil && c.err == nil
}

// reconnect connects a client that has lost its connection, or has had none yet.
func (e *epoch) reconnect(client int) error {
	if e.connected(client) {
		return nil
	}
	return e.connect(client, e.sides[reference].clients[client] != nil)
}

// connect connects a client, to its session or to a new one.
func (e *epoch) connect(client int, resume bool) error {
	if resume {
		e.note(client, "resume the session")
	} else {
		e.note(client, "open a session")
	}
	err := e.each(client, func(s *side) observation { return s.connect(client, resume) })
	if c := e.sides[reference].clients[client]; err == nil && c.err != nil {
		return fmt.Errorf("no session with either server: %w", c.err)
	}
	if c := e.sides[reference].clients[client]; err == nil && c.SessionID == 0 {
		return errors.New("both servers have ended a session before its time")
	}
	return err
}

// drop ends a client's connection once all events have arrived.
func (e *epoch) drop(client int) error {
	e.note(client, "drop the connection")
	if err := e.ping(client); err != nil {
		return err
	}
	return e.each(client, func(s *side) observation { return s.drop(client) })
}

// takeOver connects a client a second time, which makes the server end its first connection.
func (e *epoch) takeOver(client int) error {
	e.note(client, "keep the connection open")
	if err := e.ping(client); err != nil {
		return err
	}
	first := map[*side]*session{}
	for _, s := range e.sides {
		first[s] = s.clients[client]
	}
	if err := e.connect(client, true); err != nil {
		return err
	}
	return e.each(client, func(s *side) observation { return awaitEnd(first[s]) })
}

// closeSession closes a client's session. A server deletes the ephemeral nodes of a session in the
// order of a Java HashSet, so the events of this one transaction are compared without their order.
// Looking for events before and after tells them from others. All other transactions give events in
// the order of their operations, and for each the node's own event before the parent's.
func (e *epoch) closeSession(client int) error {
	if err := e.reconnect(client); err != nil {
		return err
	}
	if err := e.flush(false); err != nil {
		return err
	}
	e.note(client, "close the session")
	if err := e.exchange(client, true, &wire.Request{Op: wire.OpCloseSession}); err != nil {
		return err
	}
	err := e.each(client, func(s *side) observation {
		s.clients[client].closed = true
		return awaitEnd(s.clients[client])
	})
	if err != nil {
		return err
	}
	return e.flush(true)
}

// each observes one thing on both sides and compares it.
func (e *epoch) each(client int, observe func(*side) observation) error {
	var seen [2][]observation
	for i, s := range e.sides {
		seen[i] = []observation{observe(s)}
	}
	return e.compare(client, seen, len(e.done)-1)
}

// call has a client send the requests of the latest deeds together and compares all that it sees up
// to the last reply.
func (e *epoch) call(client int, requests ...*wire.Request) error {
	return e.exchange(client, false, requests...)
}

// exchange is call, with events whose order may not matter.
func (e *epoch) exchange(client int, anyOrder bool, requests ...*wire.Request) error {
	ops := make([]wire.Op, len(requests))
	for i, r := range requests {
		ops[i] = r.Op
	}
	for _, s := range e.sides {
		s.send(client, requests)
	}
	var seen [2][]observation
	for i, s := range e.sides {
		seen[i] = s.collect(client, ops...)
		if anyOrder {
			slices.SortFunc(seen[i], compareEvents)
		}
	}
	e.count(requests, seen[reference])
	return e.compare(client, seen, len(e.done)-len(requests))
}

// count learns from what the reference has answered.
func (e *epoch) count(requests []*wire.Request, seen []observation) {
	for _, o := range seen {
		switch {
		case o.event != nil:
			e.stats.Events++
		case o.reply != nil:
			e.learn(requests[0], o.reply)
			e.stats.Ops[o.op]++
			e.stats.Codes[o.reply.Code]++
			requests = requests[1:]
		}
	}
}

// ping looks for events at a client.
func (e *epoch) ping(client int) error {
	return e.call(client, &wire.Request{Op: wire.OpPing})
}

// flush looks for events at all clients, whose order may not matter.
func (e *epoch) flush(anyOrder bool) error {
	ping := []*wire.Request{{Op: wire.OpPing}}
	for client := range clients {
		for _, s := range e.sides {
			if e.connected(client) {
				s.send(client, ping)
			}
		}
	}
	for client := range clients {
		if !e.connected(client) {
			continue
		}
		var seen [2][]observation
		for i, s := range e.sides {
			seen[i] = s.collect(client, wire.OpPing)
			if anyOrder {
				slices.SortFunc(seen[i], compareEvents)
			}
		}
		e.count(ping, seen[reference])
		if err := e.compare(client, seen, len(e.done)-1); err != nil {
			return err
		}
	}
	return nil
}

// compareEvents orders events by what they say, and before all else.
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

// compare compares what a client has seen on both sides. The first reply in it answers the deed at
// index first, the next one the deed after that.
func (e *epoch) compare(client int, seen [2][]observation, first int) error {
	for i := range max(len(seen[subject]), len(seen[reference])) {
		var at [2]observation
		for side := range at {
			at[side].end = "nothing"
			if i < len(seen[side]) {
				at[side] = seen[side][i]
			}
		}
		if !reflect.DeepEqual(at[subject], at[reference]) {
			e.done = e.done[:min(first+1, len(e.done))]
			last := e.done[len(e.done)-1]
			return differenceError{&Difference{
				Operation: last.step + 1, Request: last.String(), Client: client + 1,
				Subject: at[subject].String(), Reference: at[reference].String(), Steps: e.story(),
			}}
		}
		if at[reference].reply != nil {
			first++
		}
	}
	return nil
}

// story tells the deeds.
func (e *epoch) story() []string {
	words := make([]string, len(e.done))
	for i, d := range e.done {
		words[i] = d.String()
	}
	return words
}
