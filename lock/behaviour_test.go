package lock_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// A backend is a server for the behaviour tests, which pass on every backend.
type backend struct {
	name  string
	start func(*testing.T) (address string)
}

var backends = []backend{
	{"simulated", func(t *testing.T) string {
		server, err := tcp.Start(tcp.Config{}, "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		return server.Addresses()[0]
	}},
	{"ZooKeeper", func(t *testing.T) string { return startZooKeeper(t) }},
}

// behaviourTimeout is long enough for a busy machine to confirm a lease within a third of it.
const behaviourTimeout = 12 * time.Second

// shortTimeout is the timeout of a session whose expiry a test awaits: the shortest that a server
// with a tick of two seconds grants.
const shortTimeout = 4 * time.Second

// eventTimeout is how long a test waits for an expected event.
const eventTimeout = time.Minute

// A fixture is a server with clients.
type fixture struct {
	*testing.T
	address string
}

// session connects a client with real sockets.
func (s *fixture) session() *lock.Session {
	return openSession(s.T, s.address, behaviourTimeout, net.DialTimeout)
}

func (s *fixture) context() context.Context {
	ctx, cancel := context.WithTimeout(s.T.Context(), eventTimeout)
	s.Cleanup(cancel)
	return ctx
}

func (s *fixture) mutex(client *lock.Session, path string, options ...lock.Option) *lock.Mutex {
	return must(lock.NewMutex(client, path, options...))
}

// take takes a lock and fails the test if that takes too long.
func (s *fixture) take(locker lock.Locker) *lock.Lease {
	s.Helper()
	lease, err := locker.Lock(s.context())
	if err != nil {
		s.Fatal(err)
	}
	return lease
}

func (s *fixture) unlock(lease *lock.Lease) {
	s.Helper()
	if err := lease.Unlock(s.context()); err != nil {
		s.Fatal(err)
	}
}

// queue adds a contender to the queue and returns the channel of its lease.
func (s *fixture) queue(ctx context.Context, mutex *lock.Mutex) <-chan *call {
	s.Helper()
	before := len(s.participants(mutex))
	result := make(chan *call, 1)
	go func() {
		lease, err := mutex.Lock(ctx)
		result <- &call{lease: lease, err: err}
	}()
	for len(s.participants(mutex)) <= before {
	}
	return result
}

func (s *fixture) participants(mutex *lock.Mutex) []lock.Participant {
	s.Helper()
	participants, err := mutex.Participants(s.context())
	if err != nil {
		s.Fatal(err)
	}
	return participants
}

func (s *fixture) wantError(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Fatalf("error %v, want %v", err, want)
	}
}

func (s *fixture) await(what string, done <-chan struct{}) {
	s.Helper()
	select {
	case <-done:
	case <-s.context().Done():
		s.Fatal(what, "did not happen")
	}
}

// A flakyNetwork is a client's network that can be cut.
type flakyNetwork struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func (c *flakyNetwork) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return nil, errors.New("the cable is cut")
	}
	conn, err := net.DialTimeout(network, address, timeout)
	c.conns = append(c.conns, conn)
	return conn, err
}

func (c *flakyNetwork) sever(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	for _, conn := range c.conns {
		conn.Close()
	}
}

// The locks behave alike over real sockets with the real client, on a simulated and on a real
// server.
var behaviours = []struct {
	name string
	test func(*fixture)
}{
	{"one at a time, in the order of arrival", func(s *fixture) {
		holder := s.take(s.mutex(s.session(), "/fifo"))
		var waiting []<-chan *call
		for range 5 {
			waiting = append(waiting, s.queue(s.context(), s.mutex(s.session(), "/fifo")))
		}
		for _, next := range waiting {
			for _, other := range waiting {
				if len(other) > 0 {
					s.Fatal("a second holder")
				}
			}
			s.unlock(holder)
			result := <-next
			s.wantError(result.err, nil)
			if result.lease.Token() <= holder.Token() {
				s.Errorf("token %d after %d", result.lease.Token(), holder.Token())
			}
			holder = result.lease
		}
		s.unlock(holder)
	}},
	{"TryLock", func(s *fixture) {
		mine, theirs := s.mutex(s.session(), "/try"), s.mutex(s.session(), "/try")
		lease := s.take(mine)
		_, err := theirs.TryLock(s.context())
		s.wantError(err, lock.ErrNotAcquired)
		if n := len(s.participants(mine)); n != 1 {
			s.Errorf("%d nodes exist, want 1", n)
		}
		s.unlock(lease)
		lease, err = theirs.TryLock(s.context())
		s.wantError(err, nil)
		s.unlock(lease)
	}},
	{"a cancelled waiter lets nobody in and leaves no node", func(s *fixture) {
		mutex := s.mutex(s.session(), "/cancel")
		holder := s.take(mutex)
		ctx, cancel := context.WithCancel(s.context())
		second := s.queue(ctx, s.mutex(s.session(), "/cancel"))
		third := s.queue(s.context(), s.mutex(s.session(), "/cancel"))
		cancel()
		s.wantError((<-second).err, context.Canceled)
		for len(s.participants(mutex)) > 2 {
		}
		if len(third) > 0 {
			s.Fatal("granted beside the holder")
		}
		s.unlock(holder)
		result := <-third
		s.wantError(result.err, nil)
		s.unlock(result.lease)
	}},
	{"re-entered by the same owner", func(s *fixture) {
		mutex := s.mutex(s.session(), "/owner")
		owner := lock.WithOwner(s.context())
		outer, err := mutex.Lock(owner)
		s.wantError(err, nil)
		inner, err := mutex.Lock(owner)
		s.wantError(err, nil)
		s.unlock(outer)
		_, err = s.mutex(s.session(), "/owner").TryLock(s.context())
		s.wantError(err, lock.ErrNotAcquired)
		s.unlock(inner)
		s.unlock(s.take(s.mutex(s.session(), "/owner")))
	}},
	{"shared readers, an exclusive writer, and a downgrade", func(s *fixture) {
		a, b := must(lock.NewRWMutex(s.session(), "/rw")),
			must(lock.NewRWMutex(s.session(), "/rw"))
		first, second := s.take(a.RLocker()), s.take(b.RLocker())
		_, err := a.TryLock(s.context())
		s.wantError(err, lock.ErrNotAcquired)
		s.unlock(first)
		s.unlock(second)
		writer := s.take(a)
		_, err = b.TryRLock(s.context())
		s.wantError(err, lock.ErrNotAcquired)
		reading := make(chan error, 1)
		go func() {
			lease, err := b.RLock(s.context())
			if err == nil {
				err = lease.Unlock(s.context())
			}
			reading <- err
		}()
		s.wantError(writer.Downgrade(s.context()), nil)
		s.wantError(<-reading, nil)
		s.unlock(writer)
	}},
	{"a limited number of places", func(s *fixture) {
		a, b := must(lock.NewSemaphore(s.session(), "/places", 2)),
			must(lock.NewSemaphore(s.session(), "/places", 2))
		first, second := s.take(a), s.take(b)
		_, err := a.TryLock(s.context())
		s.wantError(err, lock.ErrNotAcquired)
		s.unlock(first)
		third, err := b.TryLock(s.context())
		s.wantError(err, nil)
		s.unlock(second)
		s.unlock(third)
	}},
	{"several, all or none", func(s *fixture) {
		client, other := s.session(), s.session()
		held := s.take(s.mutex(other, "/several/b"))
		both := must(lock.NewMulti(s.mutex(client, "/several/b"), s.mutex(client, "/several/a")))
		_, err := both.TryLock(s.context())
		s.wantError(err, lock.ErrNotAcquired)
		s.unlock(s.take(s.mutex(other, "/several/a")))
		s.unlock(held)
		leases, err := both.Lock(s.context())
		s.wantError(err, nil)
		s.wantError(leases.Unlock(s.context()), nil)
	}},
	{"a guarded write during the lease, and none after", func(s *fixture) {
		client, admin := s.session(), s.session()
		_, err := admin.Create("/data", []byte("0"), 0, zk.WorldACL(zk.PermAll))
		s.wantError(err, nil)
		lease := s.take(s.mutex(client, "/guarded"))
		_, err = lease.Write(s.context(), &zk.SetDataRequest{
			Path: "/data", Data: []byte("1"),
			Version: -1,
		})
		s.wantError(err, nil)
		s.wantError(admin.Delete(lease.Node(), -1), nil)
		_, err = lease.Write(s.context(), &zk.SetDataRequest{
			Path: "/data", Data: []byte("2"),
			Version: -1,
		})
		s.wantError(err, lock.ErrNotHeld)
		data, _, err := admin.Get("/data")
		s.wantError(err, nil)
		if string(data) != "1" {
			s.Errorf("data %q, want 1", data)
		}
		s.await("the loss", lease.Done())
	}},
	{"revoked, and listed by others", func(s *fixture) {
		mine, theirs := s.mutex(s.session(), "/asked", lock.WithMetadata("me")),
			s.mutex(s.session(), "/asked")
		s.wantError(theirs.Revoke(s.context()), lock.ErrNotHeld)
		lease := s.take(mine)
		s.wantError(theirs.Revoke(s.context()), nil)
		s.await("the request", lease.Revoked())
		if p := s.participants(theirs); len(p) != 1 || p[0].Metadata != "me" || !p[0].Turn ||
			!p[0].Revoked || p[0].Created < lease.Token() {
			s.Errorf("%+v", p)
		}
		s.unlock(lease)
	}},
	{"the directory is removed", func(s *fixture) {
		client := s.session()
		mutex := s.mutex(client, "/deep/er/lock", lock.WithContainers())
		first := s.take(mutex)
		s.unlock(first)
		for _, path := range []string{"/deep/er/lock", "/deep/er", "/deep"} {
			s.wantError(client.Delete(path, -1), nil)
		}
		second := s.take(mutex)
		if second.Token() <= first.Token() {
			s.Errorf("token %d after %d", second.Token(), first.Token())
		}
		s.unlock(second)
	}},
	{"in one queue with zk.Lock", func(s *fixture) {
		client := s.session()
		mutex := s.mutex(client, "/shared")
		holder := s.take(mutex)
		other := zk.NewLock(s.session().Client.(*zk.Conn), "/shared", zk.WorldACL(zk.PermAll))
		locked := make(chan error, 1)
		go func() { locked <- other.Lock() }()
		for len(s.participants(mutex)) < 2 {
		}
		last := s.queue(s.context(), mutex)
		if len(locked) > 0 {
			s.Fatal("zk.Lock has not waited")
		}
		s.unlock(holder)
		s.wantError(<-locked, nil)
		if len(last) > 0 {
			s.Fatal("a second holder")
		}
		s.wantError(other.Unlock(), nil)
		result := <-last
		s.wantError(result.err, nil)
		s.unlock(result.lease)
	}},
	{"closing the holder's client releases the lock at once", func(s *fixture) {
		client := s.session()
		lease := s.take(s.mutex(client, "/closed"))
		next := s.queue(s.context(), s.mutex(s.session(), "/closed"))
		client.Client.(*zk.Conn).Close()
		result := <-next
		s.wantError(result.err, nil)
		s.await("the loss", lease.Done())
		s.unlock(result.lease)
	}},
	{"a short disconnection is survived", func(s *fixture) {
		network := new(flakyNetwork)
		session := openSession(s.T, s.address, behaviourTimeout, network.dial)
		other := s.mutex(s.session(), "/cut")
		holder := s.take(other)
		waiting := s.queue(s.context(), s.mutex(session, "/cut"))
		network.sever(false)
		s.unlock(holder)
		result := <-waiting
		s.wantError(result.err, nil)
		if n := len(s.participants(other)); n != 1 {
			s.Errorf("%d nodes exist, want 1", n)
		}
		s.unlock(result.lease)
	}},
	{"a barrier is removed while a process that waits is disconnected", func(s *fixture) {
		network := new(flakyNetwork)
		waiter := must(lock.NewBarrier(openSession(s.T, s.address, behaviourTimeout,
			network.dial), "/barrier"))
		other := must(lock.NewBarrier(s.session(), "/barrier"))
		s.wantError(waiter.Wait(s.context()), nil)
		s.wantError(other.Set(s.context()), nil)
		ctx, passed := s.context(), make(chan error, 1)
		go func() { passed <- waiter.Wait(ctx) }()
		network.sever(false)
		if len(passed) > 0 {
			s.Errorf("passes the barrier while it is set, with error %v", <-passed)
		}
		s.wantError(other.Remove(s.context()), nil)
		s.wantError(<-passed, nil)
	}},
	{"a partitioned holder learns of its loss before the next grant", func(s *fixture) {
		network := new(flakyNetwork)
		session := openSession(s.T, s.address, shortTimeout, network.dial)
		lease := s.take(s.mutex(session, "/expired"))
		standing, err := session.Context(s.context())
		s.wantError(err, nil)
		next := s.queue(s.context(), s.mutex(s.session(), "/expired"))
		network.sever(true)
		result := <-next
		s.wantError(result.err, nil)
		s.wantError(lease.Err(), lock.ErrLost)
		s.wantError(context.Cause(standing), lock.ErrSessionLost)
		network.sever(false)
		s.wantError(lease.Unlock(s.context()), lock.ErrLost)
		s.wantError(result.lease.Err(), nil)
		s.unlock(result.lease)
	}},
}

func TestBehaviour(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			address := b.start(t)
			for _, behaviour := range behaviours {
				t.Run(behaviour.name, func(t *testing.T) {
					t.Parallel()
					behaviour.test(&fixture{t, address})
				})
			}
		})
	}
}
