package simzk

import (
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fresh.Store(false)
	if len(c.submitted) > 1 {
		slices.SortStableFunc(c.submitted, func(a, b *call) int { return compareRequests(&a.request, &b.request) })
	}
	for i, r := range c.submitted {
		c.submitted[i] = nil
		c.send(r)
	}
	c.submitted = c.submitted[:0]
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
	c.cluster.record(history.Event{At: c.cluster.now, Kind: history.Send, Process: c.process, Request: r.number,
		Op: r.verb(), Path: r.Path})
	c.Link.transmit(&r.request)
	c.inFlight = append(c.inFlight, r)
}

// deliver handles what the server has sent.
func (c *Conn) deliver(m message) {
	c.observed = mix(c.observed, m.hash())
	if m.reply == nil {
		c.notify(m)
		return
	}
	i := slices.IndexFunc(c.inFlight, func(r *call) bool { return &r.request == m.reply })
	r := c.inFlight[i]
	c.inFlight = slices.Delete(c.inFlight, i, i+1)
	if r.Op != wire.OpCreateSession { // The answer to a handshake carries no transaction id.
		c.lastZxid = m.zxid
	}
	c.cluster.record(history.Event{At: c.cluster.now, Kind: history.Reply, Process: c.process, Request: r.number,
		Op: r.verb(), Path: r.result.Path, Zxid: m.zxid, Err: r.result.Code.String()})
	switch r.Op {
	case wire.OpCreateSession:
		c.authenticated(r)
	case wire.OpCloseSession:
		c.ended()
		c.answer(r, nil)
	default:
		if r.Watch {
			c.watch(r)
		}
		c.answer(r, clientError(r.result.Code))
	}
}

// answer wakes the goroutine that waits for the request.
func (c *Conn) answer(r *call, err error) {
	if r.done == nil {
		return
	}
	r.err = err
	r.done <- struct{}{}
}

// fail answers calls with an error, one after the other: what each wakes comes to rest before the next.
func (c *Conn) fail(calls []*call, err error) {
	for _, r := range calls {
		if r.number != 0 { // What was never sent is nothing to the history.
			c.cluster.record(history.Event{At: c.cluster.now, Kind: history.Reply, Process: c.process, Request: r.number,
				Op: r.verb(), Path: r.Path, Err: err.Error()})
		}
		c.observed = mix(c.observed, uint64(r.number))
		r.result = tree.Result{} // The server may have answered, but the client never heard of it.
		c.answer(r, err)
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
	events := make(chan zk.Event, 1)
	r.events = events
	for i := range c.watchers {
		if c.watchers[i].watching == w {
			c.watchers[i].channels = append(c.watchers[i].channels, events)
			return
		}
	}
	c.watchers = append(c.watchers, watcher{w, []chan zk.Event{events}})
}

// notify hands a watch event to all that wait for it.
func (c *Conn) notify(m message) {
	for _, w := range m.watches {
		c.cluster.record(history.Event{At: c.cluster.now, Kind: history.WatchEvent, Process: c.process,
			Watch: w.number, Path: m.path, Name: eventName(m.event), Zxid: m.zxid})
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

// tell sends the event to the channels of the watchers that match, closes them and forgets the watchers.
func (c *Conn) tell(event zk.Event, matches func(watching) bool) {
	var told []watcher
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
			events <- event
			close(events)
		}
	}
}

// emit puts an event into the client's channel of events, or drops it if that is full.
func (c *Conn) emit(event zk.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events == nil {
		return
	}
	select {
	case c.events <- event:
	default:
	}
}

func (c *Conn) setState(state zk.State, name string) {
	c.connState.Store(int32(state))
	c.cluster.record(history.Event{At: c.cluster.now, Kind: history.SessionState, Process: c.process, Name: name,
		Session: c.SessionID()})
	c.observed = mix(c.observed, uint64(state))
	c.emit(zk.Event{Type: zk.EventSession, State: state})
	c.cluster.config.Settle()
}

// broken is what the client does when its connection breaks: all that was in flight has an unknown outcome.
func (c *Conn) broken() {
	if c.closing {
		c.ended()
		return
	}
	c.setState(zk.StateDisconnected, "disconnected")
	inFlight := c.inFlight
	c.inFlight = nil
	c.fail(inFlight, zk.ErrConnectionClosed)
	c.redial()
}

// redial turns to the next server on the client's list. Once it has tried them all, and with a single one that is always,
// it fails what is unsent and waits before it goes on.
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
			return
		}
		if c.dial() {
			return
		}
	}
}

// dialDue tries to connect after a pause, unless Close was called meanwhile.
func (c *Conn) dialDue() {
	if c.closing {
		c.ended()
	} else if !c.dial() {
		c.redial()
	}
}

// dial tries to connect to the server that the client has come to on its list, and reports whether it could.
func (c *Conn) dial() bool {
	if c.Link.state != up || !c.cluster.Serving(c.host) {
		c.collect() // Such a try takes time, in which the process calls, and its calls wait with the others.
		return false
	}
	c.server = c.host
	c.phase, c.handshakeBy = connecting, c.cluster.now+handshakeTimeout(c.cluster.config.SessionTimeout)
	c.setState(zk.StateConnected, "connected")
	c.send(&call{request: request{Request: wire.Request{Op: wire.OpCreateSession}, session: c.SessionID(),
		seen: c.lastZxid, timeout: c.cluster.config.SessionTimeout}})
	return true
}

// authenticated handles the server's answer to the client's wish for its session.
func (c *Conn) authenticated(r *call) {
	if r.session == 0 {
		c.sessionID.Store(0)
		c.lastZxid = 0
		c.setState(zk.StateExpired, "expired")
		c.invalidate(zk.ErrSessionExpired)
		c.setState(zk.StateDisconnected, "disconnected")
		c.redial()
		return
	}
	c.phase, c.last = connected, c.host
	if c.session != nil {
		c.session.since = c.cluster.now // The pings begin.
	}
	c.sessionID.Store(r.session)
	c.setState(zk.StateHasSession, "has-session")
	unsent := c.unsent
	c.unsent = nil
	for _, r := range unsent {
		c.transmit(r)
	}
	c.rearm()
}

// rearm asks the server for the watches that the client still waits for. The request waits its turn behind those of the
// process, so a read can show a change before the watch event that tells of it; see docs/fidelity.md.
func (c *Conn) rearm() {
	if len(c.watchers) > 0 {
		c.send(&call{request: request{Request: wire.Request{Op: wire.OpSetWatches, Watches: c.standing()}}})
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

// invalidate tells all who wait for a watch that it will not fire, in the order of the paths; the client library keeps
// them in a map.
func (c *Conn) invalidate(err error) {
	slices.SortStableFunc(c.watchers, func(a, b watcher) int { return strings.Compare(a.path, b.path) })
	for _, w := range c.watchers {
		c.cluster.record(history.Event{At: c.cluster.now, Kind: history.WatchEvent, Process: c.process,
			Path: w.path, Name: eventName(eventNotWatching), Err: err.Error()})
		c.emit(zk.Event{Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: w.path, Err: err})
	}
	c.tell(zk.Event{Type: zk.EventNotWatching, State: zk.StateDisconnected, Err: err}, func(watching) bool { return true })
	c.cluster.config.Settle()
}

// ended is what the client does after Close. Nothing that still waits will be answered, so it fails.
func (c *Conn) ended() {
	c.phase = shut
	c.setState(zk.StateDisconnected, "disconnected")
	waiting := append(c.inFlight, c.unsent...)
	c.inFlight, c.unsent = nil, nil
	c.fail(waiting, zk.ErrConnectionClosed)
	c.invalidate(zk.ErrClosing)
}

// tearDown ends every goroutine that waits for an answer, and every one that asks later, by [runtime.Goexit]; every
// watch channel is closed.
func (c *Conn) tearDown() {
	c.mu.Lock()
	c.tornDown = true
	submitted := c.submitted
	c.submitted = nil
	if c.events != nil {
		close(c.events)
		c.events = nil
	}
	c.mu.Unlock()
	for _, calls := range [...][]*call{submitted, c.unsent, c.inFlight} {
		for _, r := range calls {
			if r.done != nil {
				close(r.done)
			}
		}
	}
	c.unsent, c.inFlight = nil, nil
	watchers := c.watchers
	c.watchers = nil
	for _, w := range watchers {
		for _, events := range w.channels {
			events <- zk.Event{Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: w.path, Err: zk.ErrClosing}
			close(events)
		}
	}
}

func (c *Conn) connected() bool { return c.phase == connected || c.phase == connecting }

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
	if c.phase == connecting {
		return c.handshakeBy, true
	}
	return c.dialAt, c.phase == dialing
}

func (c *Conn) advance() {
	switch {
	case c.phase == dialing && c.dialAt <= c.cluster.now:
		c.dialDue()
	case c.phase == connecting && c.handshakeBy <= c.cluster.now:
		c.cluster.hangUp(c.Link)
	}
}

func (c *Conn) key() uint64 {
	key := mix(mix(c.observed, c.sent), uint64(len(c.unsent))<<8|uint64(c.phase))
	if c.phase == dialing {
		key = mix(key, uint64(c.dialAt-c.cluster.now))
	}
	// The last transaction that the client knows of matters only if it has to set its watches again, and then only as
	// far as what they watch has changed since.
	for i := range c.watchers {
		key = mix(key, xxhash.Sum64String(c.watchers[i].path)+uint64(c.watchers[i].kind))
		if stat, ok := c.cluster.tree.Stat(c.watchers[i].path); ok {
			key = mix(key, 1+2*uint64(btoi(stat.Mzxid > c.lastZxid))+uint64(btoi(stat.Pzxid > c.lastZxid)))
		}
	}
	return key
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
