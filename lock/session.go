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

// ErrSessionLost is the error of whatever needs a session that is over, or may be. What wraps it
// says why.
var ErrSessionLost = errors.New("lock: session lost")

// The reasons for which a session is lost.
var (
	errSessionExpired = fmt.Errorf("%w: ZooKeeper says that it has expired", ErrSessionLost)
	errSessionNew     = fmt.Errorf("%w: the client has opened another", ErrSessionLost)
	errSessionSilent  = fmt.Errorf("%w: ZooKeeper could not be reached for so long that it may be "+
		"over", ErrSessionLost)
	errSessionClosed = fmt.Errorf("%w: %w", ErrSessionLost, zk.ErrClosing)
)

// A SessionStatus says how a session is.
type SessionStatus string

// What a session can be.
const (
	SessionConnected SessionStatus = "connected" // ZooKeeper has answered, and the session lives
	// the connection is lost, the session may come back
	SessionSuspended SessionStatus = "suspended"
	// it is over, or may be: whatever depended on it must stop
	SessionLost SessionStatus = "lost"
)

// A SessionEvent is a change of a session's status.
type SessionEvent struct {
	Status SessionStatus
	ID     int64 // of the session at ZooKeeper
	Err    error // of SessionLost: why, an error that wraps [ErrSessionLost]
}

// A Session is a [Client] that knows how its session is. It takes the place of the client wherever
// a lock is made, and there saves whoever waits for a lock the request right before it is granted.
// Its methods may be called by any number of goroutines.
//
// It takes over what go-zookeeper/zk tells of its state, which is easily missed: the client's
// channel holds six events and drops the rest, and after an expiry the client opens a new session
// without a word. Whoever wants to know calls [Session.Events] or [Session.Context], as often as
// needed; nobody misses anything, and nobody holds up anybody.
//
// A session counts as lost as soon as ZooKeeper says so, as the client has opened another, or as a
// third of its timeout has passed since the last request was sent that ZooKeeper has confirmed: see
// the bound on clocks in the documentation of this package. A session that was taken for lost only
// for the last of these can come back. To know all that, a session has ZooKeeper agree on an empty
// write in each sixth of its timeout, from the first call of Events or Context on.
type Session struct {
	Client
	timeout time.Duration
	// for the goroutine that reads the client's channel; nil with a callback
	drainRequests chan chan struct{}
	ended         chan struct{} // closed once the client is closed

	mu            sync.Mutex
	pendingEvents []zk.Event // that came before the client was known
	id            int64      // of the session that is observed, 0 while there is none
	epoch         uint64     // how many connections were lost
	deadline      time.Time  // until when the session stands for sure
	latest        *sessionChange
	closed        bool
	active        bool        // somebody wants to know
	pinging       bool        // a request is under way
	tenures       []*tenure   // the locks that are held, whose nodes belong to the session
	pingTimer     *time.Timer // for the next request
	expiryTimer   *time.Timer // for the deadline
}

// A sessionChange is an event, and the way to the next.
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
	case <-c.ready: // Both may have been ready: news go before the end.
		return true
	default:
		return false
	}
}

// validity is how long a session, and what belongs to it, stands for sure after a write was sent
// that was answered. Why it is no more than a third of the timeout is said in the documentation of
// this package.
func validity(timeout time.Duration) time.Duration { return timeout / 3 }

// NewSession returns the session of a client that was connected with that timeout, and takes over
// its channel of events, which nobody else may read. [OpenSession] is better where there is the
// choice, as it misses nothing by itself: from a channel that was full something may be missing, so
// that a session then asks anew.
//
// The timeout must be positive, or else no lock can be made on the session. It ends with the
// client: when the channel is closed.
func NewSession(client Client, events <-chan zk.Event, timeout time.Duration) *Session {
	s := newSession(timeout)
	s.drainRequests = make(chan chan struct{})
	s.attach(client)
	go s.read(events)
	return s
}

// OpenSession connects a client and returns its session. The function must call zk.Connect with
// that timeout and the callback, and may give it any other option:
//
//	session, err := lock.OpenSession(timeout, func(callback zk.EventCallback) (*zk.Conn, <-chan zk.Event, error) {
//		return zk.Connect(servers, timeout, zk.WithEventCallback(callback))
//	})
//
// It returns the function's error. It does not wait for the connection.
func OpenSession(timeout time.Duration, connect func(zk.EventCallback) (*zk.Conn, <-chan zk.Event,
	error),
) (*Session, error) {
	s := newSession(timeout)
	conn, events, err := connect(s.handle)
	if err != nil {
		return nil, err
	}
	s.attach(conn)
	go func() {
		for range events {
		}
		s.end()
	}()
	return s, nil
}

func newSession(timeout time.Duration) *Session {
	return &Session{timeout: timeout, ended: make(chan struct{}), latest: &sessionChange{
		SessionEvent: SessionEvent{Status: SessionSuspended}, ready: make(chan struct{}),
	}}
}

// Timeout returns the session's timeout.
func (s *Session) Timeout() time.Duration { return s.timeout }

// attach gives the session its client, and what the client has told before that.
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

// read reads the client's channel of events.
func (s *Session) read(events <-chan zk.Event) {
	for {
		select {
		case e, ok := <-events:
			if !ok {
				s.end()
				return
			}
			// A channel that was full before this one was taken may have missed others.
			if len(events) >= cap(events)-1 {
				s.resync()
			}
			s.handle(e)
		case answer := <-s.drainRequests:
			s.drain(events)
			close(answer)
		}
	}
}

// drain takes what is in the channel.
func (s *Session) drain(events <-chan zk.Event) {
	for {
		if len(events) == cap(events) {
			s.resync()
		}
		select {
		case e, ok := <-events:
			if !ok {
				return // read will see it again.
			}
			s.handle(e)
		default:
			return
		}
	}
}

// handle takes note of what the client tells. It does not block.
func (s *Session) handle(e zk.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Client == nil {
		s.pendingEvents = append(s.pendingEvents, e)
		return
	}
	s.apply(e)
}

// apply takes note of an event. The caller holds the lock.
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

// resync begins anew where events may be missing.
func (s *Session) resync() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	s.suspend()
	if s.Client.State() == zk.StateHasSession {
		s.updateID(s.Client.SessionID())
	}
}

// updateID takes note of the session that the client has. The caller holds the lock.
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

// lose takes note that the session is lost. The caller holds the lock.
func (s *Session) lose(why error) {
	if s.latest.Status != SessionLost {
		s.change(SessionLost, why)
	}
	s.deadline = time.Time{}
	for _, t := range s.tenures {
		t.checkExpired()
	}
}

// register lets a grant end as soon as the client says that its session is over. The client may
// have said so before.
func (s *Session) register(t *tenure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tenures = append(s.tenures, t)
	t.checkExpired()
}

// unregister takes back enlist.
func (s *Session) unregister(t *tenure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tenures = slices.DeleteFunc(s.tenures, func(one *tenure) bool { return one == t })
}

// change tells everybody of the session's new status. The caller holds the lock.
func (s *Session) change(status SessionStatus, err error) {
	next := &sessionChange{
		SessionEvent: SessionEvent{Status: status, ID: s.id, Err: err},
		ready:        make(chan struct{}),
	}
	s.latest.next = next
	close(s.latest.ready)
	s.latest = next
}

// end is called when the client was closed.
func (s *Session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	s.change(SessionLost, errSessionClosed)
	s.closed = true
	close(s.ended)
	if s.active {
		s.pingTimer.Stop()
		s.expiryTimer.Stop()
	}
}

// currentEpoch returns a number for the connection that the client has. As long as it stays the
// same, all that ZooKeeper had to tell has come over one connection, in the order in which it
// happened. It knows of all that the client has told before the call.
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
	return s.epoch
}

// activate begins to ask ZooKeeper how the session is.
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

// pingNow puts the next request forward. The caller holds the lock. Timers that end at once will
// not do: under the race detector Go 1.26 crashes where several goroutines of a synctest bubble
// start some together.
func (s *Session) pingNow() {
	s.pingTimer.Stop()
	go s.ping()
}

// ping asks ZooKeeper for a sign of life.
func (s *Session) ping() {
	s.mu.Lock()
	busy := s.pinging
	s.pinging = true
	s.mu.Unlock()
	if busy {
		return
	}
	id, sentAt := s.Client.SessionID(), time.Now()
	err := commitNoop(s.Client, pingPath)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinging = false
	if s.closed {
		return
	}
	late := time.Since(sentAt) >= validity(s.timeout) // so that the answer is worth nothing
	if err != nil || late || id == 0 || id != s.Client.SessionID() {
		s.pingTimer.Reset(retryDelay)
		return
	}
	s.updateID(id) // The client's own word can be late, or was dropped.
	s.pingTimer.Reset(s.timeout / confirmations)
	s.deadline = sentAt.Add(validity(s.timeout))
	s.expiryTimer.Reset(time.Until(s.deadline))
	if s.latest.Status != SessionConnected {
		s.change(SessionConnected, nil)
	}
}

// beatPath is what is checked: a node that every ZooKeeper has, though it would do if it did not.
const pingPath = "/zookeeper"

// expire ends the session when its time is over.
func (s *Session) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && !time.Now().Before(s.deadline) {
		s.lose(errSessionSilent)
	}
}

// Events returns what becomes of the session, beginning with how it is at the moment. The sequence
// ends when the context does, or when the client was closed. However late the caller comes for the
// next event, none is missing.
func (s *Session) Events(ctx context.Context) iter.Seq[SessionEvent] {
	return func(yield func(SessionEvent) bool) {
		for at := s.activate(); yield(at.SessionEvent) && at.Err != errSessionClosed &&
			at.await(ctx); at = at.next {
		}
	}
}

// Context waits until the session is connected, and returns a context that ends when that session
// is lost, or with its parent. [context.Cause] says why: after a loss it returns an error that
// wraps [ErrSessionLost]. A context that has ended stays so, also where the session comes back.
// Context returns the parent's cause if that ends first, and an error that wraps [ErrSessionLost]
// and zk.ErrClosing if the client was closed. Until the returned context ends a goroutine waits for
// that: give it a parent that ends when the context is not needed any more.
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
		cancel(at.Err) // without effect if the context has ended
	}()
	return ctx, nil
}

// Do calls a function that sends requests, and tells whether all of them were carried out under one
// session, the one whose id the function is given. A request that go-zookeeper/zk cannot send at
// once waits for the next connection, even if by then the session is another: an ephemeral node can
// so come to belong to a session that its maker knows nothing of, and what was read before can be
// out of date. Do returns the function's error, joined with one that wraps [ErrSessionLost] if
// there was no session when it began, or it is another by the end: then any of the requests may
// have been carried out under either. Do sends nothing by itself.
func (s *Session) Do(requests func(id int64) error) error {
	before := s.Client.SessionID()
	err := requests(before)
	if before == 0 || s.Client.SessionID() != before {
		return errors.Join(err, errSessionNew)
	}
	return err
}

// isClosed tells whether the client was closed.
func (s *Session) isClosed() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}
