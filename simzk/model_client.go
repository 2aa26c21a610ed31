package simzk

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// collect puts the requests that the process has submitted on their way.
func (c *Conn) collect() {
	if !c.fresh.Load() {
		return
	}
	c.sendSubmitted()
	if !c.closing || c.crashed.Load() {
		return
	}
	switch c.phase {
	case dialing:
		c.ended()
	case proving: // The client waits for the server's answer no longer.
		c.prove()
	}
}

func (c *Conn) sendSubmitted() {
	for _, r := range c.takeSubmitted() {
		c.send(r)
	}
}

// takeSubmitted returns the requests that the process has submitted since the last time, in an
// order that does not depend on which goroutine came first. The slice is good until the next time.
func (c *Conn) takeSubmitted() []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fresh.Store(false)
	taken := c.submitted
	c.submitted, c.taken = c.taken[:0], taken
	if len(taken) > 1 {
		slices.SortStableFunc(taken, func(a, b *call) int {
			return compareSimultaneous(&a.request,
				&b.request)
		})
	}
	return taken
}

// compareSimultaneous orders requests of one process that were sent at the same time, by all that
// there is to them.
func compareSimultaneous(a, b *request) int {
	if order := compareRequests(a, b); order != 0 {
		return order
	}
	return bytes.Compare(encoded(a), encoded(b))
}

// encoded returns a request as it goes over the wire, but for its number.
func encoded(r *request) []byte {
	unnumbered := r.Request
	unnumbered.Xid = 0
	return wire.AppendRequest(nil, &unnumbered)
}

// send sends a request, or keeps it until there is a connection.
func (c *Conn) send(r *call) {
	c.closing = c.closing || r.Op == wire.OpCloseSession
	if c.phase == connected && !c.crashed.Load() || r.Op == wire.OpCreateSession {
		c.transmit(r)
	} else {
		c.unsent = append(c.unsent, r)
	}
}

func (c *Conn) transmit(r *call) {
	c.lastRequest++
	r.number = c.lastRequest
	c.sent = mix(c.sent, xxhash.Sum64String(r.Path)+uint64(rank(&r.request)))
	c.cluster.record(history.Event{
		At: c.cluster.now, Kind: history.Send, Process: c.process, Request: r.number,
		Op: r.verb(), Path: r.Path,
	})
	c.Link.transmit(&r.request)
	c.inFlight = append(c.inFlight, r)
}

// deliver handles what the server has sent.
func (c *Conn) deliver(m message) {
	c.observed = mix(c.observed, m.hash())
	c.heard(c.cluster.now)
	if m.reply == nil {
		c.notify(m)
	} else {
		c.take(m)
	}
	if c.mute && c.phase == connected {
		c.wait(c.cluster.now, c.cluster.config.SessionTimeout)
	}
}

// take handles a reply.
func (c *Conn) take(m message) {
	i := slices.IndexFunc(c.inFlight, func(r *call) bool { return &r.request == m.reply })
	r := c.inFlight[i]
	c.inFlight = slices.Delete(c.inFlight, i, i+1)
	// The answers to these carry no transaction id.
	if r.Op != wire.OpCreateSession && r.Op != wire.OpAuth {
		c.lastZxid = m.zxid
	}
	c.cluster.record(history.Event{
		At: c.cluster.now, Kind: history.Reply, Process: c.process, Request: r.number,
		Op: r.verb(), Path: r.result.Path, Zxid: m.zxid, Err: r.result.Code.String(),
	})
	switch {
	case r.Op == wire.OpCreateSession:
		c.authenticated(r)
		return
	case r.Op == wire.OpCloseSession:
		c.ended()
	case c.phase == proving:
		c.proved++
		c.prove()
	case r.Op == wire.OpAuth && r.result.Code == wire.OK:
		c.credentials = append(c.credentials, credential{r.Scheme, r.Data})
	case r.Watch:
		c.watch(r)
	}
	c.answer(r)
	if c.rearming == late && r.Op != wire.OpAuth {
		c.rearming = inTime
		c.rearm()
	}
}

// answer hands the server's answer to the goroutine that waits for it, if one does.
func (c *Conn) answer(r *call) {
	c.mu.Lock()
	waits := c.release(r)
	c.mu.Unlock()
	if waits {
		r.answer, r.err = &r.result, clientError(r.result.Code)
		c.wake(r)
	}
}

// wake lets the goroutine go on that waits for an answer.
func (c *Conn) wake(r *call) {
	c.cluster.woken = true
	if d := c.stub; d != nil {
		d.wake(r)
		return
	}
	r.done <- struct{}{}
}

// fail answers calls with an error. All of them have failed before the first is woken, but what
// each wakes comes to rest before the next.
func (c *Conn) fail(calls []*call, err error) {
	var woken []*call
	c.mu.Lock()
	for _, r := range calls {
		if c.release(r) {
			r.answer, r.err = new(tree.Result), err
			woken = append(woken, r)
		}
	}
	c.mu.Unlock()
	for _, r := range calls {
		if r.number != 0 { // What was never sent is nothing to the history.
			c.cluster.record(history.Event{
				At: c.cluster.now, Kind: history.Reply, Process: c.process, Request: r.number,
				Op: r.verb(), Path: r.Path, Err: err.Error(),
			})
		}
		c.observed = mix(c.observed, uint64(r.number))
		if len(woken) > 0 && woken[0] == r {
			woken = woken[1:]
			c.wake(r)
		}
		c.cluster.config.Settle()
	}
}

// watch notes on the client's side the watch that a request has set on the server's.
func (c *Conn) watch(r *call) {
	w := watching{path: r.Path, kind: dataWatch}
	switch {
	case r.Op == wire.OpExists && r.result.Code == wire.NoNode:
		w.kind = existWatch
	case r.result.Code != wire.OK:
		return
	case r.Op == wire.OpGetChildren2:
		w.kind = childWatch
	}
	c.watched.known = false
	var events watchChannel
	if d := c.stub; d != nil {
		events.number = d.newChannel()
		r.watch = events.number
	} else {
		events.channel = make(chan zk.Event, 1)
		r.events = events.channel
	}
	for i := range c.watchers {
		if c.watchers[i].watching == w {
			c.watchers[i].channels = append(c.watchers[i].channels, events)
			return
		}
	}
	c.watchers = append(c.watchers, watcher{
		watching: w, hash: xxhash.Sum64String(w.path),
		channels: append(c.channels.next(watchersKept)[:0], events),
	})
}

// notify hands a watch event to all that wait for it.
func (c *Conn) notify(m message) {
	for _, w := range m.watches {
		c.cluster.record(history.Event{
			At: c.cluster.now, Kind: history.WatchEvent, Process: c.process,
			Watch: w.number, Path: m.path, Name: eventName(m.event), Zxid: m.zxid,
		})
	}
	event := zk.Event{Type: zk.EventType(m.event), State: zk.StateSyncConnected, Path: m.path}
	c.emit(event)
	c.tell(event, func(w watching) bool {
		if w.path != m.path {
			return false
		}
		switch m.event {
		case wire.EventCreated:
			return w.kind == existWatch
		case wire.EventDataChanged:
			return w.kind != childWatch
		case wire.EventChildrenChanged:
			return w.kind == childWatch
		}
		return true
	})
}

// tell sends the event to the channels of the watchers that match, closes them and forgets the
// watchers.
func (c *Conn) tell(event zk.Event, matches func(watching) bool) {
	var space [4]watcher
	told := space[:0]
	c.watched.known = false
	c.watchers = slices.DeleteFunc(c.watchers, func(w watcher) bool {
		if matches(w.watching) {
			told = append(told, w)
			return true
		}
		return false
	})
	first := true
	for _, w := range told {
		event.Path = w.path
		for _, events := range w.channels {
			if !first {
				c.cluster.config.Settle()
			}
			first = false
			c.sound(events, event)
		}
	}
}

// sound sends the one event that a watch tells.
func (c *Conn) sound(events watchChannel, event zk.Event) {
	c.cluster.woken = true
	if d := c.stub; d != nil {
		d.sound(events.number, event)
		return
	}
	events.channel <- event
	close(events.channel)
}

// emit puts an event into the client's channel of events, or drops it if that is full.
func (c *Conn) emit(event zk.Event) {
	if d := c.stub; d != nil {
		d.note(Input{Kind: Emitted, Event: event})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events == nil || c.told {
		return
	}
	c.cluster.woken = true
	select {
	case c.events <- event:
	default:
	}
}

func (c *Conn) setState(state zk.State, name string) {
	c.status.Store(int32(state))
	if d := c.stub; d != nil {
		d.note(Input{Kind: StateSet, State: state})
	}
	c.cluster.record(history.Event{
		At: c.cluster.now, Kind: history.SessionState, Process: c.process, Name: name,
		Session: c.SessionID(),
	})
	c.observed = mix(c.observed, uint64(state))
	c.emit(zk.Event{Type: zk.EventSession, State: state, Server: hostName(c.host)})
	c.cluster.config.Settle()
}

func (c *Conn) setSession(id int64) {
	c.sessionID.Store(id)
	if d := c.stub; d != nil {
		d.note(Input{Kind: SessionSet, Session: id})
	}
}

// broken is what the client does when its connection breaks: all that was in flight has an unknown
// outcome.
func (c *Conn) broken() {
	if !c.connected() {
		return
	}
	c.lose()
	c.silentUntil, c.mute = 0, false
	if c.rearming == late {
		c.rearming = inTime
	}
	if c.closing {
		c.ended()
		return
	}
	// What has broken it may be no step of the process's own, and the process may look at the
	// clock.
	c.observed = mix(c.observed, uint64(c.cluster.now))
	c.setState(zk.StateDisconnected, "disconnected")
	inFlight := c.inFlight
	c.inFlight = nil
	c.fail(inFlight, zk.ErrConnectionClosed)
	c.redial()
}

// lose takes what the process has asked for until the connection broke. The client has written it
// to the connection, or keeps it for the next one.
func (c *Conn) lose() {
	for _, r := range c.takeSubmitted() {
		c.closing = c.closing || r.Op == wire.OpCloseSession
		if c.phase == connected {
			c.inFlight = append(c.inFlight, r)
		} else {
			c.unsent = append(c.unsent, r)
		}
	}
}

// redial turns to the next server on the client's list. Once it has tried them all, and with a
// single one that is always, it fails what is unsent and waits before it goes on.
func (c *Conn) redial() {
	c.phase = dialing
	for {
		c.host = (c.host + 1) % c.cluster.Servers()
		c.setState(zk.StateConnecting, "connecting")
		if c.host == c.last {
			c.dialAt = c.cluster.now + dialPause
			unsent := c.unsent
			c.unsent = nil
			c.fail(unsent, zk.ErrNoServer)
			if c.closing {
				c.ended()
			}
			return
		}
		if c.dial() {
			return
		}
	}
}

// dial tries to connect to the server that the client has come to on its list, and reports whether
// it could.
func (c *Conn) dial() bool {
	if !c.Link.reaches(c.host) {
		// Such a try takes time, in which the process calls, and its calls wait with the others.
		c.sendSubmitted()
		return false
	}
	c.server = c.host
	c.phase, c.silentUntil = connecting, c.cluster.now+
		handshakeTimeout(c.cluster.config.SessionTimeout)
	c.setState(zk.StateConnected, "connected")
	c.send(&call{request: request{
		Request: wire.Request{Op: wire.OpCreateSession}, session: c.SessionID(),
		seen: c.lastZxid, timeout: c.cluster.config.SessionTimeout,
	}})
	return true
}

// authenticated handles the server's answer to the client's wish for its session.
func (c *Conn) authenticated(r *call) {
	if r.session == 0 {
		c.setSession(0)
		c.lastZxid = 0
		c.setState(zk.StateExpired, "expired")
		c.invalidate(zk.ErrSessionExpired)
		if c.closing {
			c.ended()
			return
		}
		c.setState(zk.StateDisconnected, "disconnected")
		c.redial()
		return
	}
	c.last = c.host
	c.setSession(r.session)
	c.setState(zk.StateHasSession, "has-session")
	c.rearm()
	c.proved = 0
	c.prove()
}

// rearm asks the server for the watches that the client still waits for. The request waits its turn
// behind those of the process, so a read can show a change before the watch event that tells of it;
// see docs/fidelity.md. A client that closes may send it or not; this one does not.
func (c *Conn) rearm() {
	switch {
	case len(c.watchers) == 0 || c.closed.Load():
		c.rearming = inTime
	case c.rearming == willBeLate && c.asks():
		c.rearming = late
	default:
		c.rearming = inTime
		c.send(&call{request: request{Request: wire.Request{
			Op:      wire.OpSetWatches,
			Watches: c.standing(),
		}}})
	}
}

func (c *Conn) canDelayWatches() bool {
	return (c.phase == dialing || c.phase == connecting) && c.rearming == inTime &&
		c.SessionID() != 0 &&
		len(c.watchers) > 0 && c.asks() && !c.closing
}

// asks tells whether a call waits whose answer will raise the last transaction that the client
// knows of.
func (c *Conn) asks() bool {
	return slices.ContainsFunc(c.unsent, func(r *call) bool { return r.Op != wire.OpAuth })
}

// prove sends the next of the credentials that this connection does not know, or after the last
// one, and at once in a client that closes, all that has waited for that. The client does not ping
// before, so that a server that takes long loses it.
func (c *Conn) prove() {
	if c.proved < len(c.credentials) && !c.closed.Load() {
		c.phase = proving
		c.wait(c.cluster.now, c.cluster.config.SessionTimeout)
		next := &c.credentials[c.proved]
		c.transmit(&call{request: request{Request: wire.Request{
			Op: wire.OpAuth, Scheme: next.scheme,
			Data: next.data,
		}}})
		return
	}
	c.phase = connected
	c.ping(c.cluster.now, c.cluster.config.SessionTimeout)
	if c.session != nil {
		c.session.since = c.cluster.now
	}
	unsent := c.unsent
	c.unsent = nil
	for _, r := range unsent {
		c.transmit(r)
	}
}

// standing returns the watches that the client waits for, in canonical order.
func (c *Conn) standing() *wire.Watches {
	all := &wire.Watches{RelativeZxid: c.lastZxid}
	for _, w := range c.watchers {
		switch w.kind {
		case dataWatch:
			all.Data = append(all.Data, w.path)
		case existWatch:
			all.Exist = append(all.Exist, w.path)
		case childWatch:
			all.Child = append(all.Child, w.path)
		}
	}
	sortWatches(all)
	return all
}

// invalidate tells all who wait for a watch that it will not fire, in the order of the paths; the
// client library keeps them in a map.
func (c *Conn) invalidate(err error) {
	slices.SortStableFunc(c.watchers,
		func(a, b watcher) int { return strings.Compare(a.path, b.path) })
	for _, w := range c.watchers {
		c.cluster.record(history.Event{
			At: c.cluster.now, Kind: history.WatchEvent, Process: c.process,
			Path: w.path, Name: eventName(eventNotWatching), Err: err.Error(),
		})
		c.emit(zk.Event{
			Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: w.path,
			Err: err,
		})
	}
	c.tell(zk.Event{Type: zk.EventNotWatching, State: zk.StateDisconnected, Err: err},
		func(watching) bool { return true })
	c.cluster.config.Settle()
}

// ended is what the client does at its end after Close. If it was waiting to try again, it tells
// those whose requests are not sent; at any other time it forgets them.
func (c *Conn) ended() {
	failing := c.inFlight
	if c.phase == dialing {
		failing = c.unsent
	}
	c.inFlight, c.unsent = nil, nil
	c.phase = shut
	c.setState(zk.StateDisconnected, "disconnected")
	c.fail(failing, zk.ErrConnectionClosed)
	c.invalidate(zk.ErrClosing)
	c.endEvents()
}

// endEvents closes the channel of events.
func (c *Conn) endEvents() {
	if d := c.stub; d != nil {
		d.note(Input{Kind: EventsEnded})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events != nil && !c.told {
		c.cluster.woken = true
		close(c.events)
	}
	c.told = true
}

// tearDown ends every goroutine that waits for an answer, and every one that asks later, by
// [runtime.Goexit]; every watch channel is closed.
func (c *Conn) tearDown() {
	if c.stub != nil {
		return // There are no goroutines.
	}
	c.mu.Lock()
	c.tornDown = true
	waiting := c.waiting
	c.waiting, c.submitted = nil, nil
	c.mu.Unlock()
	for _, r := range waiting {
		close(r.done)
	}
	c.forget()
}

// shutDown does at the end of a run what Close does, and does not wait for an answer; every watch
// channel is closed.
func (c *Conn) shutDown() {
	if c.stub != nil {
		return // There are no goroutines.
	}
	c.mu.Lock()
	c.unused = true
	c.closed.Store(true)
	c.status.Store(int32(zk.StateDisconnected))
	waiting := c.waiting
	c.waiting, c.submitted = nil, nil
	for _, r := range waiting {
		r.answer, r.err = new(tree.Result), zk.ErrConnectionClosed
		r.done <- struct{}{}
	}
	c.mu.Unlock()
	c.forget()
}

// forget closes every channel of the client and drops what it has sent.
func (c *Conn) forget() {
	c.endEvents()
	c.unsent, c.inFlight = nil, nil
	watchers := c.watchers
	c.watchers = nil
	for _, w := range watchers {
		for _, events := range w.channels {
			c.sound(events, zk.Event{
				Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: w.path,
				Err: zk.ErrClosing,
			})
		}
	}
}

func (c *Conn) connected() bool { return c.phase != dialing && c.phase != shut }

func (c *Conn) believes() int64 { return c.SessionID() }

func (c *Conn) pending() *wire.Request {
	for _, r := range c.inFlight {
		if r.done != nil {
			return &r.Request
		}
	}
	return nil
}

func (c *Conn) deadline() (time.Duration, bool) {
	if c.phase == dialing {
		return c.dialAt, true
	}
	return c.silentUntil, c.silentUntil > 0
}

func (c *Conn) unanswered() {
	c.fallSilent(c.phase == connected, c.cluster.now, c.cluster.config.SessionTimeout)
}

func (c *Conn) answered() {
	c.speak(c.phase == connected, c.cluster.now, c.cluster.config.SessionTimeout)
}

func (c *Conn) advance() {
	switch at, waits := c.deadline(); {
	case !waits || at > c.cluster.now:
	case c.phase != dialing:
		c.cluster.hangUp(c.Link)
	case !c.dial():
		c.redial()
	}
}

func (c *Conn) key() uint64 {
	key := fold(fold(c.observed, c.sent),
		uint64(c.rearming)<<32|uint64(len(c.unsent))<<8|uint64(c.phase))
	switch {
	case c.phase == dialing:
		key = fold(key, uint64(c.dialAt-c.cluster.now))
	case c.phase != connecting && c.silentUntil > 0:
		key = fold(key, uint64(c.silentUntil-c.cluster.now))
	}
	if len(c.watchers) > 0 {
		key = fold(key, c.watchersKey())
	}
	return key
}

// watchersKey returns 64 bits over what the client waits for. The last transaction that it knows of
// matters only if it has to set its watches again, and then only as far as what they watch has
// changed since.
func (c *Conn) watchersKey() uint64 {
	tree := c.cluster.tree.Hash()
	if k := &c.watched; k.known && k.tree == tree && k.seen == c.lastZxid {
		return k.key
	}
	key := uint64(0)
	for i := range c.watchers {
		w := &c.watchers[i]
		changed := uint64(0)
		if data, children, ok := c.cluster.tree.LastChanges(w.path); ok {
			changed = 1 + 2*uint64(btoi(data > c.lastZxid)) + 4*uint64(btoi(children > c.lastZxid))
		}
		key = fold(key, w.hash+uint64(w.kind)<<3+changed)
	}
	c.watched = watchersKey{key: key, tree: tree, seen: c.lastZxid, known: true}
	return key
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
