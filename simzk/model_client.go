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

// collect transmits the requests that the process has submitted.
func (c *Conn) collect() {
	if !c.hasSubmitted.Load() {
		return
	}
	c.sendSubmitted()
	if !c.closing || c.crashed.Load() {
		return
	}
	switch c.phase {
	case dialing:
		c.terminate()
	case authenticating: // The client stops waiting for the server's reply.
		c.sendCredentials()
	}
}

func (c *Conn) sendSubmitted() {
	for _, r := range c.takeSubmitted() {
		c.send(r)
	}
}

// takeSubmitted returns the requests that the process has submitted since the last call, in an
// order that does not depend on the scheduling of goroutines. The slice is valid until the next
// call.
func (c *Conn) takeSubmitted() []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hasSubmitted.Store(false)
	requests := c.submitted
	c.submitted, c.recycled = c.recycled[:0], requests
	if len(requests) > 1 {
		slices.SortStableFunc(requests, func(a, b *call) int {
			return compareSimultaneous(&a.request,
				&b.request)
		})
	}
	return requests
}

// compareSimultaneous orders requests that a process sent at the same time, by their whole content.
func compareSimultaneous(a, b *request) int {
	if order := compareRequests(a, b); order != 0 {
		return order
	}
	return bytes.Compare(encoded(a), encoded(b))
}

// encoded returns a request's encoding without its xid.
func encoded(r *request) []byte {
	unnumbered := r.Request
	unnumbered.Xid = 0
	return wire.AppendRequest(nil, &unnumbered)
}

// send transmits a request, or queues it until there is a connection.
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
	c.sentHash = mix(c.sentHash, xxhash.Sum64String(r.Path)+uint64(rank(&r.request)))
	c.cluster.record(history.Event{
		At: c.cluster.now, Kind: history.Send, Process: c.process, Request: r.number,
		Op: r.verb(), Path: r.Path, Facts: c.cluster.sendFacts(&r.request, r.site()),
	})
	c.Link.transmit(&r.request)
	c.inFlight = append(c.inFlight, r)
}

// deliver handles a message from the server.
func (c *Conn) deliver(m message) {
	c.receivedHash = mix(c.receivedHash, m.hash())
	c.received(c.cluster.now)
	if m.reply == nil {
		c.handleEvent(m)
	} else {
		c.handleReply(m)
	}
	if c.pingsStopped && c.phase == connected {
		c.armReadDeadline(c.cluster.now, c.cluster.config.SessionTimeout)
	}
}

// handleReply handles a reply.
func (c *Conn) handleReply(m message) {
	i := slices.IndexFunc(c.inFlight, func(r *call) bool { return &r.request == m.reply })
	r := c.inFlight[i]
	c.inFlight = slices.Delete(c.inFlight, i, i+1)
	// The replies to these carry no zxid.
	if r.Op != wire.OpCreateSession && r.Op != wire.OpAuth {
		c.lastZxid = m.zxid
	}
	c.cluster.record(history.Event{
		At: c.cluster.now, Kind: history.Reply, Process: c.process, Request: r.number,
		Op: r.verb(), Path: r.result.Path, Zxid: m.zxid, Err: r.result.Code.String(),
		Facts: c.cluster.replyFacts(&r.request),
	})
	switch {
	case r.Op == wire.OpCreateSession:
		c.handshakeDone(r)
		return
	case r.Op == wire.OpCloseSession:
		c.terminate()
	case c.phase == authenticating:
		c.credentialsSent++
		c.sendCredentials()
	case r.Op == wire.OpAuth && r.result.Code == wire.OK:
		c.credentials = append(c.credentials, credential{r.Scheme, r.Data})
	case r.Watch:
		c.addWatcher(r)
	}
	c.completeCall(r)
	if c.rearmTiming == rearmAfterReply && r.Op != wire.OpAuth {
		c.rearmTiming = rearmOnSession
		c.rearm()
	}
}

// completeCall returns the server's reply to the goroutine that waits for it, if any.
func (c *Conn) completeCall(r *call) {
	c.mu.Lock()
	waits := c.removeWaiting(r)
	c.mu.Unlock()
	if waits {
		r.answer, r.err = &r.result, clientError(r.result.Code)
		c.wake(r)
	}
}

// wake unblocks the goroutine that waits for a call.
func (c *Conn) wake(r *call) {
	c.cluster.woken = true
	if stub := c.stub; stub != nil {
		stub.completeCall(r)
		return
	}
	r.done <- struct{}{}
}

// failCalls fails calls with an error. It marks all of them as failed before it wakes the first
// caller, and lets each caller settle before it wakes the next.
func (c *Conn) failCalls(calls []*call, err error) {
	var woken []*call
	c.mu.Lock()
	for _, r := range calls {
		if c.removeWaiting(r) {
			r.answer, r.err = new(tree.Result), err
			woken = append(woken, r)
		}
	}
	c.mu.Unlock()
	for _, r := range calls {
		if r.number != 0 { // The history omits requests that were never sent.
			c.cluster.record(history.Event{
				At: c.cluster.now, Kind: history.Reply, Process: c.process, Request: r.number,
				Op: r.verb(), Path: r.Path, Err: err.Error(),
			})
		}
		c.receivedHash = mix(c.receivedHash, uint64(r.number))
		if len(woken) > 0 && woken[0] == r {
			woken = woken[1:]
			c.wake(r)
		}
		c.cluster.config.Settle()
	}
}

// addWatcher registers at the client the watch that a request has set at the server.
func (c *Conn) addWatcher(r *call) {
	w := watchKey{path: r.Path, kind: dataWatch}
	switch {
	case r.Op == wire.OpExists && r.result.Code == wire.NoNode:
		w.kind = existWatch
	case r.result.Code != wire.OK:
		return
	case r.Op == wire.OpGetChildren2:
		w.kind = childWatch
	}
	c.keyCache.valid = false
	var events watchChannel
	if stub := c.stub; stub != nil {
		events.number = stub.newChannel()
		r.watch = events.number
	} else {
		events.channel = make(chan zk.Event, 1)
		r.events = events.channel
	}
	for i := range c.watchers {
		if c.watchers[i].watchKey == w {
			c.watchers[i].channels = append(c.watchers[i].channels, events)
			return
		}
	}
	c.watchers = append(c.watchers, watcher{
		watchKey: w, hash: xxhash.Sum64String(w.path),
		channels: append(c.channels.next(watcherArenaSize)[:0], events),
	})
}

// handleEvent delivers a watch event to all its watchers.
func (c *Conn) handleEvent(m message) {
	for _, w := range m.watches {
		c.cluster.record(history.Event{
			At: c.cluster.now, Kind: history.WatchEvent, Process: c.process,
			Watch: w.number, Path: m.path, Name: eventName(m.event), Zxid: m.zxid,
		})
	}
	event := zk.Event{Type: zk.EventType(m.event), State: zk.StateSyncConnected, Path: m.path}
	c.emit(event)
	c.fireWatchers(event, func(w watchKey) bool {
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

// fireWatchers sends the event to the channels of the matching watchers, closes the channels and
// removes the watchers.
func (c *Conn) fireWatchers(event zk.Event, matches func(watchKey) bool) {
	var buf [4]watcher
	fired := buf[:0]
	c.keyCache.valid = false
	c.watchers = slices.DeleteFunc(c.watchers, func(w watcher) bool {
		if matches(w.watchKey) {
			fired = append(fired, w)
			return true
		}
		return false
	})
	first := true
	for _, w := range fired {
		event.Path = w.path
		for _, events := range w.channels {
			if !first {
				c.cluster.config.Settle()
			}
			first = false
			c.fireChannel(events, event)
		}
	}
}

// fireChannel sends the single event of a watch.
func (c *Conn) fireChannel(events watchChannel, event zk.Event) {
	c.cluster.woken = true
	if stub := c.stub; stub != nil {
		stub.fireChannel(events.number, event)
		return
	}
	events.channel <- event
	close(events.channel)
}

// emit sends an event to the client's event channel, or drops it if the channel is full.
func (c *Conn) emit(event zk.Event) {
	if stub := c.stub; stub != nil {
		stub.addInput(Input{Kind: Emitted, Event: event})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events == nil || c.eventsClosed {
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
	if stub := c.stub; stub != nil {
		stub.addInput(Input{Kind: StateSet, State: state})
	}
	c.cluster.record(history.Event{
		At: c.cluster.now, Kind: history.SessionState, Process: c.process, Name: name,
		Session: c.SessionID(),
	})
	c.receivedHash = mix(c.receivedHash, uint64(state))
	c.emit(zk.Event{Type: zk.EventSession, State: state, Server: hostName(c.host)})
	c.cluster.config.Settle()
}

func (c *Conn) setSession(id int64) {
	c.sessionID.Store(id)
	if stub := c.stub; stub != nil {
		stub.addInput(Input{Kind: SessionSet, Session: id})
	}
}

// disconnected handles the loss of the connection: every call in flight has an unknown outcome.
func (c *Conn) disconnected() {
	if !c.connected() {
		return
	}
	c.collectAtDisconnect()
	c.readDeadline, c.pingsStopped = 0, false
	if c.rearmTiming == rearmAfterReply {
		c.rearmTiming = rearmOnSession
	}
	if c.closing {
		c.terminate()
		return
	}
	// The cause may be no step of the process itself, and the process may read the clock.
	c.receivedHash = mix(c.receivedHash, uint64(c.cluster.now))
	c.setState(zk.StateDisconnected, "disconnected")
	inFlight := c.inFlight
	c.inFlight = nil
	c.failCalls(inFlight, zk.ErrConnectionClosed)
	c.redial()
}

// collectAtDisconnect takes the requests submitted before the connection broke. The client has
// written them to the connection, or queued them for the next one.
func (c *Conn) collectAtDisconnect() {
	for _, r := range c.takeSubmitted() {
		c.closing = c.closing || r.Op == wire.OpCloseSession
		if c.phase == connected {
			c.inFlight = append(c.inFlight, r)
		} else {
			c.unsent = append(c.unsent, r)
		}
	}
}

// redial turns to the next server on the client's list. Once it has tried all of them (with a
// single server, always), it fails the unsent calls and pauses.
func (c *Conn) redial() {
	c.phase = dialing
	for {
		c.host = (c.host + 1) % c.cluster.Servers()
		c.setState(zk.StateConnecting, "connecting")
		if c.host == c.lastHost {
			c.dialAt = c.cluster.now + reconnectDelay
			unsent := c.unsent
			c.unsent = nil
			c.failCalls(unsent, zk.ErrNoServer)
			if c.closing {
				c.terminate()
			}
			return
		}
		if c.dial() {
			return
		}
	}
}

// dial tries to connect to the current server, and reports whether it succeeded.
func (c *Conn) dial() bool {
	if !c.Link.canReach(c.host) {
		// An attempt takes time. Calls that the process makes meanwhile join the unsent ones.
		c.sendSubmitted()
		return false
	}
	c.server = c.host
	c.phase, c.readDeadline = connecting, c.cluster.now+
		handshakeTimeout(c.cluster.config.SessionTimeout)
	c.setState(zk.StateConnected, "connected")
	c.send(&call{request: request{
		Request: wire.Request{Op: wire.OpCreateSession}, session: c.SessionID(),
		lastZxid: c.lastZxid, timeout: c.cluster.config.SessionTimeout,
	}})
	return true
}

// handshakeDone handles the server's reply to the handshake.
func (c *Conn) handshakeDone(r *call) {
	if r.session == 0 {
		c.setSession(0)
		c.lastZxid = 0
		c.setState(zk.StateExpired, "expired")
		c.invalidateWatches(zk.ErrSessionExpired)
		if c.closing {
			c.terminate()
			return
		}
		c.setState(zk.StateDisconnected, "disconnected")
		c.redial()
		return
	}
	c.lastHost = c.host
	c.setSession(r.session)
	c.setState(zk.StateHasSession, "has-session")
	c.rearm()
	c.credentialsSent = 0
	c.sendCredentials()
}

// rearm sends SetWatches for the watches that are still pending. The request queues behind those of
// the process, so a read can return a change before the change's watch event arrives; see
// docs/fidelity.md. A client that is closing may or may not send it; this one does not.
func (c *Conn) rearm() {
	switch {
	case len(c.watchers) == 0 || c.closed.Load():
		c.rearmTiming = rearmOnSession
	case c.rearmTiming == rearmNextLate && c.hasUnsentCall():
		c.rearmTiming = rearmAfterReply
	default:
		c.rearmTiming = rearmOnSession
		c.send(&call{request: request{Request: wire.Request{
			Op:      wire.OpSetWatches,
			Watches: c.pendingWatches(),
		}}})
	}
}

func (c *Conn) canDelayWatches() bool {
	return (c.phase == dialing || c.phase == connecting) && c.rearmTiming == rearmOnSession &&
		c.SessionID() != 0 &&
		len(c.watchers) > 0 && c.hasUnsentCall() && !c.closing
}

// hasUnsentCall reports whether a call is unsent whose reply will raise the client's last zxid.
func (c *Conn) hasUnsentCall() bool {
	return slices.ContainsFunc(c.unsent, func(r *call) bool { return r.Op != wire.OpAuth })
}

// sendCredentials sends the next credential that this connection lacks. After the last one, or at
// once if the client is closing, it sends all unsent calls. The client does not ping before that,
// so a slow server loses it.
func (c *Conn) sendCredentials() {
	if c.credentialsSent < len(c.credentials) && !c.closed.Load() {
		c.phase = authenticating
		c.armReadDeadline(c.cluster.now, c.cluster.config.SessionTimeout)
		next := &c.credentials[c.credentialsSent]
		c.transmit(&call{request: request{Request: wire.Request{
			Op: wire.OpAuth, Scheme: next.scheme,
			Data: next.data,
		}}})
		return
	}
	c.phase = connected
	c.startPings(c.cluster.now, c.cluster.config.SessionTimeout)
	if c.session != nil {
		c.session.pingStart = c.cluster.now
	}
	unsent := c.unsent
	c.unsent = nil
	for _, r := range unsent {
		c.transmit(r)
	}
}

// pendingWatches returns the watches that the client waits for, in canonical order.
func (c *Conn) pendingWatches() *wire.Watches {
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

// invalidateWatches tells all watchers that their watch will not fire, in order of path. The real
// client iterates over a map.
func (c *Conn) invalidateWatches(err error) {
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
	c.fireWatchers(zk.Event{Type: zk.EventNotWatching, State: zk.StateDisconnected, Err: err},
		func(watchKey) bool { return true })
	c.cluster.config.Settle()
}

// terminate ends the client after Close. A client that was dialing fails its unsent calls;
// otherwise it fails the calls in flight and drops the unsent ones.
func (c *Conn) terminate() {
	failing := c.inFlight
	if c.phase == dialing {
		failing = c.unsent
	}
	c.inFlight, c.unsent = nil, nil
	c.phase = terminated
	c.setState(zk.StateDisconnected, "disconnected")
	c.failCalls(failing, zk.ErrConnectionClosed)
	c.invalidateWatches(zk.ErrClosing)
	c.closeEvents()
}

// closeEvents closes the event channel.
func (c *Conn) closeEvents() {
	if stub := c.stub; stub != nil {
		stub.addInput(Input{Kind: EventsEnded})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events != nil && !c.eventsClosed {
		c.cluster.woken = true
		close(c.events)
	}
	c.eventsClosed = true
}

// tearDown makes every goroutine that waits for a reply, and every later caller, exit by
// [runtime.Goexit]. It closes every watch channel.
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
	c.discard()
}

// shutDown closes the client at the end of a run, without waiting for a reply. It closes every
// watch channel.
func (c *Conn) shutDown() {
	if c.stub != nil {
		return // There are no goroutines.
	}
	c.mu.Lock()
	c.isShutDown = true
	c.closed.Store(true)
	c.status.Store(int32(zk.StateDisconnected))
	waiting := c.waiting
	c.waiting, c.submitted = nil, nil
	for _, r := range waiting {
		r.answer, r.err = new(tree.Result), zk.ErrConnectionClosed
		r.done <- struct{}{}
	}
	c.mu.Unlock()
	c.discard()
}

// discard closes every channel of the client and drops its requests.
func (c *Conn) discard() {
	c.closeEvents()
	c.unsent, c.inFlight = nil, nil
	watchers := c.watchers
	c.watchers = nil
	for _, w := range watchers {
		for _, events := range w.channels {
			c.fireChannel(events, zk.Event{
				Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: w.path,
				Err: zk.ErrClosing,
			})
		}
	}
}

func (c *Conn) connected() bool { return c.phase != dialing && c.phase != terminated }

func (c *Conn) knownSession() int64 { return c.SessionID() }

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
	return c.readDeadline, c.readDeadline > 0
}

func (c *Conn) pingsStalled() {
	c.stopPings(c.phase == connected, c.cluster.now, c.cluster.config.SessionTimeout)
}

func (c *Conn) pingsResumed() {
	c.resumePings(c.phase == connected, c.cluster.now, c.cluster.config.SessionTimeout)
}

func (c *Conn) advance() {
	switch at, waits := c.deadline(); {
	case !waits || at > c.cluster.now:
	case c.phase != dialing:
		c.cluster.closeConnection(c.Link)
	case !c.dial():
		c.redial()
	}
}

func (c *Conn) key() uint64 {
	key := fold(fold(c.receivedHash, c.sentHash),
		uint64(c.rearmTiming)<<32|uint64(len(c.unsent))<<8|uint64(c.phase))
	switch {
	case c.phase == dialing:
		key = fold(key, uint64(c.dialAt-c.cluster.now))
	case c.phase != connecting && c.readDeadline > 0:
		key = fold(key, uint64(c.readDeadline-c.cluster.now))
	}
	if len(c.watchers) > 0 {
		key = fold(key, c.watchersKey())
	}
	return key
}

// watchersKey returns 64 bits over the pending watches. The client's last zxid matters only if it
// has to set its watches again, and then only as far as the watched nodes have changed since.
func (c *Conn) watchersKey() uint64 {
	tree := c.cluster.tree.Hash()
	if k := &c.keyCache; k.valid && k.tree == tree && k.lastZxid == c.lastZxid {
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
	c.keyCache = watchersKeyCache{key: key, tree: tree, lastZxid: c.lastZxid, valid: true}
	return key
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
