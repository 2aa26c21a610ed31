package lock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrSessionLost is the error of an operation on a session that is over, or may be. Errors that
// wrap it give the reason.
var ErrSessionLost = errors.New("lock: session lost")

// The reasons for which a session is lost.
var (
	errSessionExpired = fmt.Errorf("%w: ZooKeeper says that it has expired", ErrSessionLost)
	errSessionNew     = fmt.Errorf("%w: the client has opened another", ErrSessionLost)
	errSessionSilent  = fmt.Errorf("%w: ZooKeeper could not be reached for so long that it may be "+
		"over",
		ErrSessionLost)
	errSessionClosed = fmt.Errorf("%w: %w", ErrSessionLost, zk.ErrClosing)
)

// A SessionStatus is the status of a session.
type SessionStatus string

// The statuses of a session.
const (
	SessionConnected SessionStatus = "connected" // ZooKeeper has answered, and the session is alive
	// the connection is lost, and the session may return
	SessionSuspended SessionStatus = "suspended"
	// it is over, or may be: everything that depends on it must stop
	SessionLost SessionStatus = "lost"
)

// A SessionEvent is a change of a session's status.
type SessionEvent struct {
	Status SessionStatus
	ID     int64 // of the session at ZooKeeper
	Err    error // of SessionLost: the reason, which wraps [ErrSessionLost]
}

// A Session is a [Client] that tracks the status of its ZooKeeper session. Locks are made on it;
// the syncs and writes for one lock serve the others. Its methods may be called concurrently.
//
// A session counts as lost once ZooKeeper reports its expiry, the client has opened another one, or
// a third of its timeout has passed since the last confirmation was begun: see the clock bound in
// the package documentation. Only in the last case can it return. To detect these losses, a Session
// sends a sync and an empty write at least in each sixth of its timeout, from the first call of
// Events or Context on.
//
// A Session replaces the client's own event channel, which holds six events and drops the rest, and
// which does not report that a new session was opened after an expiry. [Session.Events] and
// [Session.Context] can be called any number of times, miss no event and do not block each other.
type Session struct {
	Client
	timeout time.Duration
	// requests to read the client's channel to its end; nil with a callback
	drainRequests chan chan struct{}
	ended         chan struct{} // closed once the client is closed

	proof proof // of all locks on the session, and of its pings

	mu            sync.Mutex
	pendingEvents []zk.Event // events received before attach
	id            int64      // of the monitored session; 0 while there is none
	epoch         uint64     // number of lost connections
	quiet         time.Time  // after it, all events were sent that read has yet to handle
	dialed        time.Time  // when the last connection began, or earlier
	opening       bool       // no event has told that the client has its session since
	deadline      time.Time  // until then the session is certain to exist
	latest        *sessionChange
	closing       bool // Close was called
	closed        bool
	active        bool        // the session is monitored
	pinging       bool        // a ping is in flight
	tenures       []*tenure   // held locks whose nodes belong to the session
	pingTimer     *time.Timer // for the next ping
	expiryTimer   *time.Timer // for the deadline
}

// A sessionChange is an event in the linked list of all events.
type sessionChange struct {
	SessionEvent
	next  *sessionChange
	ready chan struct{} // closed when next is set
}

// await waits for the next change, and returns false if the context ends first.
func (c *sessionChange) await(ctx context.Context) bool {
	select {
	case <-c.ready:
	case <-ctx.Done():
	}
	select {
	case <-c.ready: // Both may have been ready: a change takes precedence.
		return true
	default:
		return false
	}
}

// validity returns how long a session and its nodes are certain to exist after the first request of
// a pair was sent: see [proof]. docs/internals/lease.md derives the third of the timeout.
func validity(timeout time.Duration) time.Duration { return timeout / 3 }

// NewSession returns the session of a client that was connected with the timeout. It takes over the
// client's event channel, which nothing else may read, and ends when that channel is closed. No
// lock can be made on the session if the timeout is not positive.
//
// Call NewSession right after zk.Connect. A lease depends on how long the connection took to open:
// if the client is connected already, locks on the session are granted only after two thirds of the
// timeout. [Dial] is preferable, because it misses no event: the channel drops events while it is
// full, and then the connection counts as opened anew. If ZooKeeper has granted more than the
// timeout, NewSession does not know when the client pings: see the bound on clocks in docs/lock.md.
func NewSession(client Client, events <-chan zk.Event, timeout time.Duration) *Session {
	s := newSession(timeout)
	s.drainRequests = make(chan chan struct{})
	switch now := time.Now(); client.State() {
	case zk.StateHasSession:
		s.proof.connected(connection{opened: now})
	case zk.StateConnected:
		s.opening = true
	default:
		s.quiet, s.dialed, s.opening = now, now, true
	}
	s.attach(client)
	go s.read(events)
	return s
}

func newSession(timeout time.Duration) *Session {
	return &Session{
		timeout: timeout, ended: make(chan struct{}),
		proof: proof{timeout: timeout, validity: validity(timeout)},
		latest: &sessionChange{
			SessionEvent: SessionEvent{Status: SessionSuspended}, ready: make(chan struct{}),
		},
	}
}

// Close ends all leases of locks on the session, and then closes the client. ZooKeeper deletes the
// nodes of the session at once, so the locks are free. To learn whether the work under a lock was
// done in time, unlock it first. Calls under way, and later ones, return zk.ErrClosing. Close may
// be called again.
func (s *Session) Close() {
	s.mu.Lock()
	s.closing = true
	for _, t := range s.tenures {
		t.end(errClosed)
	}
	s.mu.Unlock()
	s.Client.Close()
	// The client's event channel may stay open: if a request fails just when the client is closed,
	// go-zookeeper/zk 1.0.4 answers it twice and blocks.
	s.end()
}

// Timeout returns the session's timeout: the one given, or after [Dial] what ZooKeeper has granted,
// if that is less.
func (s *Session) Timeout() time.Duration { return s.timeout }

// attach sets the client and applies the events that preceded it.
func (s *Session) attach(client Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Client = client
	s.id = client.SessionID()
	for _, e := range s.pendingEvents {
		s.apply(e)
	}
	s.pendingEvents = nil
}

// read reads the client's event channel.
func (s *Session) read(events <-chan zk.Event) {
	for {
		s.noteQuiet(events)
		select {
		case e, ok := <-events:
			if !ok {
				s.end()
				return
			}
			// Events may be missing if the channel was full before this one was taken.
			if len(events) >= cap(events)-1 {
				s.resync()
			}
			s.handle(e, s.readAt())
		case answer := <-s.drainRequests:
			s.drain(events)
			close(answer)
		}
	}
}

// drain handles all events in the channel.
func (s *Session) drain(events <-chan zk.Event) {
	for {
		if len(events) == cap(events) {
			s.resync()
		}
		s.noteQuiet(events)
		select {
		case e, ok := <-events:
			if !ok {
				return // read will see it again.
			}
			s.handle(e, s.readAt())
		default:
			return
		}
	}
}

// handle handles an event of the client, sent at the given time. It does not block.
func (s *Session) handle(e zk.Event, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteConnection(e, at)
	if s.Client == nil {
		s.pendingEvents = append(s.pendingEvents, e)
		return
	}
	s.apply(e)
}

// apply applies an event. The caller holds s.mu.
func (s *Session) apply(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	switch e.State {
	case zk.StateHasSession:
		s.updateID(s.Client.SessionID())
	case zk.StateExpired:
		s.epoch++
		s.lose(errSessionExpired)
	case zk.StateDisconnected:
		s.epoch++
		s.suspend()
	}
}

// updateID sets the client's current session. The caller holds s.mu.
func (s *Session) updateID(id int64) {
	if s.id != 0 && id != s.id {
		s.lose(errSessionNew)
	}
	s.id = id
	if s.active && !s.pinging && s.latest.Status != SessionConnected {
		s.pingNow()
	}
}

func (s *Session) suspend() {
	if s.latest.Status == SessionConnected {
		s.change(SessionSuspended, nil)
	}
}

// lose marks the session as lost. The caller holds s.mu.
func (s *Session) lose(why error) {
	if s.latest.Status != SessionLost {
		s.change(SessionLost, why)
	}
	s.deadline = time.Time{}
	for _, t := range s.tenures {
		t.checkExpired()
	}
}

// shorten ends all leases, because they assume a longer timeout.
func (s *Session) shorten(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose(why)
	for _, t := range s.tenures {
		t.end(fmt.Errorf("%w: %w", ErrLost, why))
	}
}

// register ends a tenure as soon as the client reports that its session is over or Close is called,
// which may have happened already.
func (s *Session) register(t *tenure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tenures = append(s.tenures, t)
	t.checkExpired()
	if s.closing {
		t.end(errClosed)
	}
}

// unregister reverts register.
func (s *Session) unregister(t *tenure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tenures = slices.DeleteFunc(s.tenures, func(one *tenure) bool { return one == t })
}

// change publishes the session's new status. The caller holds s.mu.
func (s *Session) change(status SessionStatus, err error) {
	next := &sessionChange{
		SessionEvent: SessionEvent{Status: status, ID: s.id, Err: err},
		ready:        make(chan struct{}),
	}
	s.latest.next = next
	close(s.latest.ready)
	s.latest = next
}

// awaitEnd waits until the client is closed. Its events are handled by a callback.
func (s *Session) awaitEnd(events <-chan zk.Event) {
	for range events {
	}
	s.end()
}

// end marks the client as closed. It may be called again.
func (s *Session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.epoch++
	s.change(SessionLost, errSessionClosed)
	s.closed = true
	close(s.ended)
	if s.active {
		s.pingTimer.Stop()
		s.expiryTimer.Stop()
	}
}

// currentEpoch returns the number of the client's connection, up to date with all events that the
// client has reported. Events of one epoch arrived over one connection, in the order in which they
// happened.
func (s *Session) currentEpoch() uint64 {
	if s.drainRequests != nil {
		answer := make(chan struct{})
		select {
		case s.drainRequests <- answer:
			<-answer
		case <-s.ended:
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opening && s.Client.State() == zk.StateHasSession { // The event is late, or was dropped.
		s.noteOpened()
	}
	return s.epoch
}

// activate starts to monitor the session.
func (s *Session) activate() *sessionChange {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.active && !s.closed {
		s.active = true
		s.expiryTimer = time.AfterFunc(s.timeout, s.expire)
		s.expiryTimer.Stop()
		s.pingTimer = time.AfterFunc(s.timeout, s.ping)
		s.pingNow()
	}
	return s.latest
}

// pingNow advances the next ping. The caller holds s.mu. It does not use a timer that fires at
// once: under the race detector, Go 1.26 crashes if several goroutines of a synctest bubble start
// such timers together.
func (s *Session) pingNow() {
	s.pingTimer.Stop()
	go s.ping()
}

// ping makes ZooKeeper confirm the session.
func (s *Session) ping() {
	s.mu.Lock()
	busy := s.pinging
	s.pinging = true
	s.mu.Unlock()
	if busy {
		return
	}
	id := s.Client.SessionID()
	err := s.proof.precede(s.Client, pingPath)
	if err == nil {
		err = s.proof.write(s.Client, func() error { return commitNoop(s.Client, pingPath) })
	}
	proven := s.provenAt(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinging = false
	if s.closed {
		return
	}
	late := time.Since(proven) >= validity(s.timeout) // The answer confirms nothing any more.
	unstable := !time.Now().Before(s.deadline) && s.proof.unstable()
	if err != nil || late || unstable || id == 0 || id != s.Client.SessionID() {
		delay := retryDelay
		if unstable {
			delay += s.proof.youngFor()
		}
		s.pingTimer.Reset(delay)
		return
	}
	s.updateID(id) // The client's own event can be late or dropped.
	s.deadline = proven.Add(validity(s.timeout))
	s.pingTimer.Reset(s.proof.delay(s.deadline, s.timeout/confirmations))
	s.expiryTimer.Reset(time.Until(s.deadline))
	if s.latest.Status != SessionConnected {
		s.change(SessionConnected, nil)
	}
}

// provenAt is [proof.provenAt] for the connection of the last reply.
func (s *Session) provenAt(id int64) time.Time {
	s.currentEpoch()
	return s.proof.provenAt(id)
}

// settling is [proof.settling] for the last connection.
func (s *Session) settling() bool {
	s.currentEpoch()
	return s.proof.settling()
}

// pingPath is a node that every ZooKeeper has. The check would also work on one that does not
// exist.
const pingPath = "/zookeeper"

// expire ends the session once its deadline has passed.
func (s *Session) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && !time.Now().Before(s.deadline) {
		s.lose(errSessionSilent)
	}
}

// Events returns the changes of the session's status, starting with the current one. The sequence
// ends when the context ends or the client is closed. It misses no change, however slow the caller.
func (s *Session) Events(ctx context.Context) iter.Seq[SessionEvent] {
	return func(yield func(SessionEvent) bool) {
		for at := s.activate(); yield(at.SessionEvent) && at.Err != errSessionClosed &&
			at.await(ctx); at = at.next {
		}
	}
}

// Context waits until the session is connected, and returns a context that ends when that session
// is lost or the parent ends. After a loss, [context.Cause] returns an error that wraps
// [ErrSessionLost]. The context stays ended if the session returns.
//
// If the parent ends first, Context returns its cause; if the client is closed, an error that wraps
// [ErrSessionLost] and zk.ErrClosing. A goroutine waits until the returned context ends: give it a
// parent that ends when the context is no longer needed.
func (s *Session) Context(parent context.Context) (context.Context, error) {
	at := s.activate()
	for ; at.Status != SessionConnected; at = at.next {
		if at.Err == errSessionClosed {
			return nil, at.Err
		}
		if !at.await(parent) {
			return nil, context.Cause(parent)
		}
	}
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		for at.Status != SessionLost && at.await(ctx) {
			at = at.next
		}
		cancel(at.Err) // no effect if the context has ended
	}()
	return ctx, nil
}

// InOneSession calls requests with the id of the current session, and reports whether all requests
// were carried out under that session. It sends nothing itself.
//
// InOneSession returns the error of the function. If there was no session at the start, or another
// one at the end, it joins an error that wraps [ErrSessionLost]: any request may then have been
// carried out under either session. The reason is that go-zookeeper/zk delays a request that it
// cannot send until the next connection, even under another session. An ephemeral node can then
// belong to a session that its creator does not know, and data that were read before can be stale.
func (s *Session) InOneSession(requests func(id int64) error) error {
	before := s.Client.SessionID()
	err := requests(before)
	if before == 0 || s.Client.SessionID() != before {
		return errors.Join(err, errSessionNew)
	}
	return err
}

// isClosed reports whether the client was closed.
func (s *Session) isClosed() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}
