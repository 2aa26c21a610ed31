package simzk

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
)

// A Conn is a modelled client: it has the methods of *zk.Conn and does what go-zookeeper/zk v1.0.4 does, without
// sockets or goroutines of its own. These methods may be called by any goroutine of the client's process; they block
// until the cluster's caller has let the request through. A goroutine that calls one after its process has crashed
// ends there, by [runtime.Goexit].
type Conn struct {
	cluster *Cluster
	process int32

	sessionID atomic.Int64
	state     atomic.Int32
	crashed   atomic.Bool
	closed    atomic.Bool
	guids     atomic.Uint64

	fresh atomic.Bool // something was submitted since the last collection

	mu        sync.Mutex
	submitted []*request      // by the process, not yet collected
	idle      []chan struct{} // on which nobody waits for an answer any more
	events    chan zk.Event   // nil until somebody asks for it
	tornDown  bool

	// All below is for the cluster's caller alone.

	phase       phase
	dialAt      time.Duration // when the client tries to connect; only while phase is dialing
	link        linkState
	session     *session // that the server has attached to the connection
	lastRequest int32
	lastZxid    int64

	closing  bool       // Close has been called; the client does not connect again
	unsent   []*request // wait for a connection
	inFlight []*request // sent, not yet answered
	watchers []watcher
	toServer []*request
	toClient []message

	observed uint64 // hash of all that has been delivered
	posted   uint64 // hash of all that the server has sent
	sent     uint64 // hash of all that the process has asked for

	// The slices above begin here, and mostly need no more.
	space struct {
		submitted, inFlight, toServer [2]*request
		toClient                      [2]message
		watchers                      [2]watcher
		idle                          [2]chan struct{}
	}
}

// phase says how far the client is in having a connection.
type phase uint8

const (
	connected  phase = iota // with a session
	dialing                 // waiting to try again
	connecting              // has asked for its session
	shut                    // closed by the process
)

// dialPause is how long the client waits once it has tried all servers, and with a single one that is always.
const dialPause = time.Second

// eventSlots is the capacity of the client's channel of events; what finds it full is dropped.
const eventSlots = 6

// watching is what a client-side watch waits for.
type watching struct {
	path string
	kind watchKind
}

// A watcher is the channels that wait for the same.
type watcher struct {
	watching
	channels []chan zk.Event
}

// Connect adds a client that already has a session. Processes are numbered from 1 in the order of the calls.
func (c *Cluster) Connect() *Conn {
	conn := &Conn{cluster: c, process: int32(len(c.conns) + 1)}
	conn.submitted, conn.inFlight, conn.toServer = conn.space.submitted[:0], conn.space.inFlight[:0], conn.space.toServer[:0]
	conn.toClient, conn.watchers, conn.idle = conn.space.toClient[:0], conn.space.watchers[:0], conn.space.idle[:0]
	c.conns = append(c.conns, conn)
	conn.session = c.openSession(conn)
	conn.session.attach(conn, c.now)
	conn.sessionID.Store(conn.session.id)
	conn.state.Store(int32(zk.StateHasSession))
	return conn
}

// Process returns the number of the client's process.
func (c *Conn) Process() int { return int(c.process) }

// Events returns the channel on which the client tells its state and all watch events. It holds 6 events and drops
// what finds it full, as go-zookeeper/zk does. Of what happened before the first call it holds the making of the first
// session; call it before the client is used.
func (c *Conn) Events() <-chan zk.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tornDown {
		ended := make(chan zk.Event)
		close(ended)
		return ended
	}
	if c.events == nil {
		c.events = make(chan zk.Event, eventSlots)
		for _, state := range [...]zk.State{zk.StateConnecting, zk.StateConnected, zk.StateHasSession} {
			c.events <- zk.Event{Type: zk.EventSession, State: state}
		}
	}
	return c.events
}

// SessionID returns the session's id, 0 while there is none.
func (c *Conn) SessionID() int64 { return c.sessionID.Load() }

// Pending returns the operation that the process has been waiting for longest, or false if it waits for none.
func (c *Conn) Pending() (Op, bool) {
	for _, requests := range [...][]*request{c.inFlight, c.unsent} {
		for _, r := range requests {
			if r.done != nil {
				return r.op, true
			}
		}
	}
	return 0, false
}

// State returns the state of the connection.
func (c *Conn) State() zk.State { return zk.State(c.state.Load()) }

// submit hands a request over and waits for the answer.
func (c *Conn) submit(r *request) *request {
	c.mu.Lock()
	if c.tornDown || c.crashed.Load() {
		c.mu.Unlock()
		runtime.Goexit()
	}
	if c.closed.Load() {
		c.mu.Unlock()
		r.err = zk.ErrConnectionClosed
		return r
	}
	if r.op == OpClose {
		c.closed.Store(true)
	}
	if last := len(c.idle) - 1; last >= 0 {
		r.done = c.idle[last]
		c.idle = c.idle[:last]
	} else {
		r.done = make(chan struct{}, 1)
	}
	c.submitted = append(c.submitted, r)
	c.fresh.Store(true)
	c.mu.Unlock()
	c.Notify()
	if _, answered := <-r.done; !answered {
		runtime.Goexit()
	}
	c.mu.Lock()
	c.idle = append(c.idle, r.done)
	c.mu.Unlock()
	return r
}

// Create creates a node and returns its path, which for a sequential node ends in its number.
func (c *Conn) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if flags&^(zk.FlagEphemeral|zk.FlagSequence) != 0 {
		return "", fmt.Errorf("simzk: create with flags %#x: %w", flags, zk.ErrInvalidFlags)
	}
	if !validPath(path, flags&zk.FlagSequence != 0) {
		return "", zk.ErrInvalidPath
	}
	r := c.submit(&request{op: OpCreate, path: path, data: data, flags: flags})
	return r.result.Path, r.err
}

// CreateProtectedEphemeralSequential creates a node whose name holds a GUID, by which a lost reply's node is found
// again. It gives up where go-zookeeper/zk gives up: when the search fails, and after three tries.
func (c *Conn) CreateProtectedEphemeralSequential(path string, data []byte, acl []zk.ACL) (string, error) {
	if !validPath(path, true) {
		return "", zk.ErrInvalidPath
	}
	i := strings.LastIndexByte(path, '/')
	directory := path[:i]
	guid := mix(uint64(c.process), c.guids.Add(1))
	prefix := fmt.Sprintf("_c_%016x%016x-", guid, mix(guid, guid))
	var err error
	for range 3 {
		var created string
		created, err = c.Create(directory+"/"+prefix+path[i+1:], data, zk.FlagEphemeral|zk.FlagSequence, acl)
		switch err {
		case nil:
			return created, nil
		case zk.ErrSessionExpired:
		case zk.ErrConnectionClosed:
			children, _, err := c.Children(directory)
			if err != nil {
				return "", err
			}
			for _, name := range children {
				if strings.HasPrefix(name, prefix) {
					return directory + "/" + name, nil
				}
			}
		default:
			return "", err
		}
	}
	return "", err
}

// Delete deletes a node that has the version, or any version if that is -1.
func (c *Conn) Delete(path string, version int32) error {
	if !validPath(path, false) {
		return zk.ErrInvalidPath
	}
	return c.submit(&request{op: OpDelete, path: path, version: version}).err
}

// Set sets the data of a node that has the version, or any version if that is -1.
func (c *Conn) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	if !validPath(path, false) {
		return nil, zk.ErrInvalidPath
	}
	return stat(c.submit(&request{op: OpSet, path: path, data: data, version: version}))
}

// Get returns the data of a node.
func (c *Conn) Get(path string) ([]byte, *zk.Stat, error) {
	if !validPath(path, false) {
		return nil, nil, zk.ErrInvalidPath
	}
	r := c.submit(&request{op: OpGet, path: path})
	s, err := stat(r)
	return r.result.Data, s, err
}

// GetW returns the data of a node and sets a watch on it. There is no watch if it returns an error.
func (c *Conn) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	if !validPath(path, false) {
		return nil, nil, nil, zk.ErrInvalidPath
	}
	r := c.submit(&request{op: OpGetWatch, path: path})
	if r.err != nil {
		return nil, nil, nil, r.err
	}
	return r.result.Data, &r.result.Stat, r.events, nil
}

// Exists tells whether there is a node.
func (c *Conn) Exists(path string) (bool, *zk.Stat, error) {
	if !validPath(path, false) {
		return false, nil, zk.ErrInvalidPath
	}
	r := c.submit(&request{op: OpExists, path: path})
	if r.err == zk.ErrNoNode {
		return false, &r.result.Stat, nil
	}
	s, err := stat(r)
	return err != zk.ErrConnectionClosed, s, err
}

// ExistsW tells whether there is a node, and sets a watch for its creation or its end.
func (c *Conn) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	if !validPath(path, false) {
		return false, nil, nil, zk.ErrInvalidPath
	}
	r := c.submit(&request{op: OpExistsWatch, path: path})
	if r.err != nil && r.err != zk.ErrNoNode {
		return false, nil, nil, r.err
	}
	return r.err == nil, &r.result.Stat, r.events, nil
}

// Children returns the names of a node's children, in no order.
func (c *Conn) Children(path string) ([]string, *zk.Stat, error) {
	if !validPath(path, false) {
		return nil, nil, zk.ErrInvalidPath
	}
	r := c.submit(&request{op: OpChildren, path: path})
	s, err := stat(r)
	return r.result.Children, s, err
}

// ChildrenW returns the names of a node's children, in no order, and sets a watch on them.
func (c *Conn) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	if !validPath(path, false) {
		return nil, nil, nil, zk.ErrInvalidPath
	}
	r := c.submit(&request{op: OpChildrenWatch, path: path})
	if r.err != nil {
		return nil, nil, nil, r.err
	}
	return r.result.Children, &r.result.Stat, r.events, nil
}

// Sync returns once the server has seen all that was committed before.
func (c *Conn) Sync(path string) (string, error) {
	if !validPath(path, false) {
		return "", zk.ErrInvalidPath
	}
	r := c.submit(&request{op: OpSync, path: path})
	return r.result.Path, r.err
}

// Close ends the session. It returns when the server has answered, or the connection is lost. All calls after it
// return zk.ErrConnectionClosed.
func (c *Conn) Close() { c.submit(&request{op: OpClose}) }

// stat returns what *zk.Conn does: a nil stat after a lost connection, a stat beside every other error.
func stat(r *request) (*zk.Stat, error) {
	if r.err == zk.ErrConnectionClosed {
		return nil, r.err
	}
	return &r.result.Stat, r.err
}

// collect puts the requests that the process has submitted on their way.
func (c *Conn) collect() {
	if !c.fresh.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fresh.Store(false)
	if len(c.submitted) > 1 {
		slices.SortStableFunc(c.submitted, compareRequests)
	}
	for i, r := range c.submitted {
		c.submitted[i] = nil
		c.send(r)
	}
	c.submitted = c.submitted[:0]
}

// send sends a request, or keeps it until there is a connection.
func (c *Conn) send(r *request) {
	if c.crashed.Load() {
		c.unsent = append(c.unsent, r)
		return
	}
	c.lastRequest++
	r.number = c.lastRequest
	c.closing = c.closing || r.op == OpClose
	c.sent = mix(c.sent, xxhash.Sum64String(r.path)+uint64(r.op))
	c.cluster.log.Append(history.Event{At: c.cluster.now, Kind: history.Send, Process: c.process, Request: r.number,
		Op: r.op.String(), Path: r.path})
	if c.phase == connected || r.op == OpConnect {
		c.transmit(r)
	} else {
		c.unsent = append(c.unsent, r)
	}
}

func (c *Conn) transmit(r *request) {
	r.age = c.cluster.NextAge()
	c.toServer = append(c.toServer, r)
	c.inFlight = append(c.inFlight, r)
}

// Deliver hands the client the oldest message that the server has sent it. It panics if there is none; see
// [Conn.Deliverable].
func (c *Cluster) Deliver(conn *Conn) {
	m := conn.toClient[0]
	conn.toClient = slices.Delete(conn.toClient, 0, 1)
	conn.observed = mix(conn.observed, m.hash())
	if m.reply == nil {
		conn.notify(m)
		return
	}
	r := m.reply
	i := slices.Index(conn.inFlight, r)
	conn.inFlight = slices.Delete(conn.inFlight, i, i+1)
	if r.op != OpConnect { // The answer to a handshake carries no transaction id.
		conn.lastZxid = m.zxid
	}
	c.log.Append(history.Event{At: c.now, Kind: history.Reply, Process: conn.process, Request: r.number,
		Op: r.op.String(), Path: r.result.Path, Zxid: m.zxid, Err: r.result.Code.String()})
	switch r.op {
	case OpConnect:
		conn.authenticated(r)
	case OpClose:
		conn.ended()
		conn.answer(r, nil)
	default:
		if r.op.SetsWatch() {
			conn.watch(r)
		}
		conn.answer(r, r.result.Code.Err())
	}
}

// answer wakes the goroutine that waits for the request.
func (c *Conn) answer(r *request, err error) {
	if r.done == nil {
		return
	}
	r.err = err
	r.done <- struct{}{}
}

// fail answers requests with an error, one after the other: what each wakes comes to rest before the next.
func (c *Conn) fail(requests []*request, err error) {
	for _, r := range requests {
		c.cluster.log.Append(history.Event{At: c.cluster.now, Kind: history.Reply, Process: c.process, Request: r.number,
			Op: r.op.String(), Path: r.path, Err: err.Error()})
		c.observed = mix(c.observed, uint64(r.number))
		r.result = Result{} // The server may have answered, but the client never heard of it.
		c.answer(r, err)
		c.cluster.config.Settle()
	}
}

// watch notes on the client's side the watch that a request has set on the server's.
func (c *Conn) watch(r *request) {
	w := watching{path: r.path, kind: dataWatch}
	switch {
	case r.op == OpExistsWatch && r.result.Code == NoNode:
		w.kind = existWatch
	case r.result.Code != OK:
		return
	case r.op == OpChildrenWatch:
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
		c.cluster.log.Append(history.Event{At: c.cluster.now, Kind: history.WatchEvent, Process: c.process,
			Watch: w.number, Path: m.path, Name: eventName(m.event), Zxid: m.zxid})
	}
	event := zk.Event{Type: m.event, State: zk.StateSyncConnected, Path: m.path}
	c.emit(event)
	c.tell(event, func(w watching) bool {
		if w.path != m.path {
			return false
		}
		switch m.event {
		case zk.EventNodeCreated:
			return w.kind == existWatch
		case zk.EventNodeDataChanged:
			return w.kind != childWatch
		case zk.EventNodeChildrenChanged:
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
	c.state.Store(int32(state))
	c.cluster.log.Append(history.Event{At: c.cluster.now, Kind: history.SessionState, Process: c.process, Name: name,
		Session: c.SessionID()})
	c.observed = mix(c.observed, uint64(state))
	c.emit(zk.Event{Type: zk.EventSession, State: state})
	c.cluster.config.Settle()
}

// disconnected is what the client does when its connection breaks: all that was in flight has an unknown outcome.
func (c *Conn) disconnected() {
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

// redial waits before the next try. With a single server the client has tried them all, so it fails what is unsent.
func (c *Conn) redial() {
	c.phase = dialing
	c.dialAt = c.cluster.now + dialPause
	c.setState(zk.StateConnecting, "connecting")
	unsent := c.unsent
	c.unsent = nil
	c.fail(unsent, zk.ErrNoServer)
}

// dial tries to connect, unless Close was called meanwhile.
func (c *Conn) dial() {
	if c.closing {
		c.ended()
		return
	}
	if c.link != up {
		c.redial()
		return
	}
	c.phase = connecting
	c.setState(zk.StateConnected, "connected")
	c.send(&request{op: OpConnect, session: c.SessionID()})
}

// authenticated handles the server's answer to the client's wish for its session.
func (c *Conn) authenticated(r *request) {
	if r.session == 0 {
		c.sessionID.Store(0)
		c.lastZxid = 0
		c.setState(zk.StateExpired, "expired")
		c.invalidate(zk.ErrSessionExpired)
		c.setState(zk.StateDisconnected, "disconnected")
		c.redial()
		return
	}
	c.phase = connected
	c.sessionID.Store(r.session)
	c.setState(zk.StateHasSession, "has-session")
	unsent := c.unsent
	c.unsent = nil
	for _, r := range unsent {
		c.transmit(r)
	}
	// The client's own request waits its turn behind those of the process, so a read can show a change before the
	// watch event that tells of it; see docs/fidelity.md.
	if len(c.watchers) > 0 {
		again := &request{op: OpSetWatches, sinceZxid: c.lastZxid}
		for _, w := range c.watchers {
			again.watches = append(again.watches, w.watching)
		}
		c.send(again)
	}
}

// invalidate tells all who wait for a watch that it will not fire.
func (c *Conn) invalidate(err error) {
	for _, w := range c.watchers {
		c.cluster.log.Append(history.Event{At: c.cluster.now, Kind: history.WatchEvent, Process: c.process,
			Path: w.path, Name: eventName(zk.EventNotWatching), Err: err.Error()})
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

// sessionExpired is what changes for the client's connection, not what the client notices, when its session ends.
func (c *Conn) sessionExpired(s *session) {
	if c.link == isolated && c.SessionID() == s.id {
		c.link = up
	}
	if c.session == s {
		c.session = nil
	}
}

// TearDown ends the client at the end of a run: every goroutine that waits for an answer, and every one that asks
// later, ends by [runtime.Goexit]; every watch channel is closed.
func (c *Conn) TearDown() {
	c.mu.Lock()
	c.tornDown = true
	submitted := c.submitted
	c.submitted = nil
	if c.events != nil {
		close(c.events)
		c.events = nil
	}
	c.mu.Unlock()
	for _, requests := range [...][]*request{submitted, c.unsent, c.inFlight} {
		for _, r := range requests {
			if r.done != nil {
				close(r.done)
			}
		}
	}
	c.unsent, c.inFlight, c.toServer, c.toClient = nil, nil, nil, nil
	watchers := c.watchers
	c.watchers = nil
	for _, w := range watchers {
		for _, events := range w.channels {
			events <- zk.Event{Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: w.path, Err: zk.ErrClosing}
			close(events)
		}
	}
}

func (c *Conn) key() uint64 {
	key := mix(mix(c.observed, c.posted), c.sent)
	key = mix(key, uint64(len(c.toServer))<<32|uint64(len(c.toClient))<<16|uint64(len(c.unsent)))
	key = mix(key, uint64(c.phase)<<8|uint64(c.link))
	if c.phase == dialing {
		key = mix(key, uint64(c.dialAt-c.cluster.now))
	}
	return key
}
