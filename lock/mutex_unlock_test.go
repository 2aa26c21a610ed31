package lock_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

func TestUnlockWhileDown(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		w.cluster.Cut(w.client(1).Link)
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		var err error
		go func() { err = lease.Unlock(ctx) }()
		w.pass(2 * time.Second)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Unlock: %v, want context.DeadlineExceeded", err)
		}
		w.wantNodes(1)
		w.cluster.Heal(w.client(1).Link)
		w.pass(2 * time.Second)
		w.wantNodes(0)
		if err := lease.Unlock(background); err != nil {
			t.Errorf("Unlock after the removal: %v", err)
		}
	})
}

// Unlock with a context of the lease, which Unlock itself ends, waits with its parent, for no longer
// than the context lasts.
func TestUnlockWithContextOfLease(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m := w.mutex(1)
		lease := w.acquire(m)
		nested := lease.Context(lease.Context(background))
		if err := w.do(func() error { return lease.Unlock(nested) }); err != nil {
			t.Errorf("Unlock: %v", err)
		}
		lease = w.acquire(m)
		w.cluster.Cut(w.client(1).Link)
		ctx, cancel := context.WithTimeout(lease.Context(background), time.Second)
		defer cancel()
		unlock := w.call(ctx, func(context.Context) (*lock.Lease, error) {
			return nil, lease.Unlock(ctx)
		})
		w.pass(time.Second / 2)
		w.wantWaiting(unlock)
		w.pass(time.Second)
		w.wantError(unlock, context.DeadlineExceeded)
	})
}

// The same for a Multi, and for the exclusive lease of an owner that keeps a shared one.
func TestUnlockSeveralWithContextOfLease(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		leases, err := w.takeAll(background, must(lock.NewMulti(w.mutex(1), w.at(1, "/other"))))
		if err != nil {
			t.Fatal(err)
		}
		ctx := leases.Context(background)
		if err := w.do(func() error { return leases.Unlock(ctx) }); err != nil {
			t.Errorf("Unlock of several: %v", err)
		}
		m := must(lock.NewRWMutex(w.session(1), "/lock"))
		owner := lock.WithOwner(background)
		exclusive := w.take(owner, m.Lock)
		shared := w.take(owner, m.RLock)
		if err := w.do(func() error { return exclusive.Unlock(exclusive.Context(owner)) }); err != nil {
			t.Errorf("Unlock of an exclusive lease: %v", err)
		}
		w.unlock(shared)
	})
}

// A second node of the same contender, created by a request presumed lost, is removed.
func TestDuplicateIsRemoved(t *testing.T) {
	guid := bytes.Repeat([]byte{0xab}, 16)
	inWorld(t, 1, func(w *world) {
		w.create("/lock/_c_"+strings.Repeat("ab", 16)+"-lock-", zk.FlagEphemeralSequential,
			w.client(1).SessionID())
		lease := w.acquire(w.mutex(1, lock.WithRandom(bytes.NewReader(guid))))
		w.wantNodes(1)
		w.unlock(lease)
		w.wantNodes(0)
	})
}

// The same while another holds the lock: the contender still waits for it, even if the second node
// can only be removed at the second attempt.
func TestDuplicateIsRemovedByAWaiter(t *testing.T) {
	for _, lost := range []bool{false, true} {
		inWorld(t, 2, func(w *world) {
			holder := w.acquire(w.mutex(2))
			w.create("/lock/_c_"+strings.Repeat("11", 16)+"-lock-", zk.FlagEphemeralSequential,
				w.client(1).SessionID())
			waiter := w.start(background, w.guid(1, 1))
			if lost {
				w.awaitRequest(1, "delete", 1)
				w.cluster.Cut(w.client(1).Link)
				w.cluster.Heal(w.client(1).Link)
				w.pass(2 * time.Second)
			}
			w.wantWaiting(waiter)
			w.wantNodes(2)
			w.unlock(holder)
			w.wantGranted(waiter)
			w.wantNodes(1)
		})
	}
}

// Late creates that were presumed lost can even make a third node. Unlock removes all of them, also
// if it loses its connection meanwhile.
func TestDuplicatesAreRemoved(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		c := w.start(background, w.guid(1, 1))
		w.serve(1)
		w.cluster.LoseReply(w.client(1).Link)
		w.cluster.Heal(w.client(1).Link)
		w.pass(2 * time.Second)
		w.wantGranted(c)
		for range 2 {
			w.create("/lock/_c_"+strings.Repeat("11", 16)+"-lock-", zk.FlagEphemeralSequential,
				w.client(1).SessionID())
		}
		go c.lease.Unlock(background)
		w.awaitRequest(1, "delete", 2)
		w.cluster.Cut(w.client(1).Link)
		w.cluster.Heal(w.client(1).Link)
		w.pass(2 * time.Second)
		w.wantNodes(0)
	})
}

func TestUnlockTwice(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		w.unlock(lease)
		w.unlock(lease)
		if got := w.requests(1, "delete"); got != 1 {
			t.Errorf("%d deletes, want 1", got)
		}
	})
}

// A holder whose node was gone before it unlocked had lost the lock, even if the event is still in
// flight.
func TestUnlockOfLost(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		go w.client(2).Delete(lease.Node(), -1)
		w.serve(2)
		var err error
		go func() { err = lease.Unlock(background) }()
		w.flow()
		if !errors.Is(err, lock.ErrLost) {
			t.Errorf("Unlock: %v, want ErrLost", err)
		}
	})
}

// refusing is a client that may not delete.
type refusing struct{ *model.Conn }

func (refusing) Delete(string, int32) error { return zk.ErrNoAuth }

func TestRemovalRefused(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m, err := lock.NewMutex(w.sessionOf(1, refusing{w.client(1)}), "/lock")
		if err != nil {
			t.Fatal(err)
		}
		lease := w.acquire(m)
		for range 2 {
			var err error
			go func() { err = lease.Unlock(background) }()
			w.flow()
			if !errors.Is(err, zk.ErrNoAuth) {
				t.Errorf("Unlock: %v, want ErrNoAuth", err)
			}
		}
		w.wantNodes(1)
	})
}

// A holder that may delete but not write can release the lock. The contender behind it must then
// list.
func TestUnlockWithoutWriting(t *testing.T) {
	readOnly := lock.WithACL(zk.WorldACL(zk.PermRead | zk.PermCreate | zk.PermDelete))
	inWorld(t, 3, func(w *world) {
		first := w.acquire(w.mutex(1, readOnly))
		second := w.start(background, w.mutex(2, readOnly))
		w.flow()
		third := w.start(background, w.mutex(3, readOnly))
		w.flow()
		w.unlock(first)
		w.wantGranted(second)
		w.wantWaiting(third)
		w.unlock(second.lease)
		w.wantGranted(third)
		w.unlock(third.lease)
		w.wantNodes(0)
	})
}

// Once the node is gone, the result of Unlock does not depend on the context.
func TestUnlockAgainAfterTheEnd(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		w.unlock(lease)
		ended, cancel := context.WithCancel(background)
		cancel()
		for range 100 {
			if err := lease.Unlock(ended); err != nil {
				t.Fatalf("Unlock: %v", err)
			}
		}
	})
}

// A create that was presumed lost is carried out when the contender already has its node: both
// nodes must go.
func TestLateDuplicate(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m, err := lock.NewMutex(w.sessionOf(1, &lateCreate{Conn: w.client(1)}), "/lock")
		if err != nil {
			t.Fatal(err)
		}
		c := w.start(background, m)
		w.pass(time.Second)
		if !c.returned() || c.err != nil {
			t.Fatalf("returned %v with %v", c.returned(), c.err)
		}
		w.wantNodes(1)
		w.unlock(c.lease)
		w.wantNodes(0)
	})
}

// A contender behind that second node does not take its end for a release: the node was at the end
// of the queue.
func TestLateDuplicateIsNoRelease(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		late := &lateCreate{Conn: w.client(1), proceed: make(chan struct{})}
		first := w.acquire(w.mutex(2))
		second := w.start(background, must(lock.NewMutex(w.sessionOf(1, late), "/lock")))
		w.pass(500 * time.Millisecond)
		third := w.start(background, w.mutex(3))
		w.flow()
		w.unlock(first)
		w.wantGranted(second)
		go second.lease.Unlock(background)
		w.flow()
		w.wantGranted(third)
		w.wantNodes(2)
		fourth := w.start(background, w.mutex(4))
		w.wantWaiting(fourth)
		close(late.proceed)
		w.wantWaiting(fourth)
		w.wantNodes(2)
		w.unlock(third.lease)
		w.wantGranted(fourth)
	})
}

// lateCreate loses the first create, and carries it out right before the first node is removed. The
// next removal waits for it if necessary.
type lateCreate struct {
	*model.Conn
	lost    string
	late    bool
	proceed chan struct{}
}

func (l *lateCreate) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if l.lost == "" {
		l.lost = path
		return "", zk.ErrConnectionClosed
	}
	return l.Conn.Create(path, data, flags, acl)
}

func (l *lateCreate) Delete(path string, version int32) error {
	if err := l.createLate(); err != nil {
		return err
	}
	return l.Conn.Delete(path, version)
}

func (l *lateCreate) Multi(operations ...any) ([]zk.MultiResponse, error) {
	if _, removes := operations[len(operations)-1].(*zk.DeleteRequest); removes {
		if err := l.createLate(); err != nil {
			return nil, err
		}
	}
	return l.Conn.Multi(operations...)
}

func (l *lateCreate) createLate() error {
	if l.late {
		if l.proceed != nil {
			<-l.proceed
		}
		return nil
	}
	l.late = true
	_, err := l.Conn.Create(l.lost, nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	return err
}

// A delete whose reply is lost has still released the lock.
func TestLostDeleteReply(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		err, done := error(nil), false
		go func() { err = lease.Unlock(background); done = true }()
		w.send()
		w.cluster.LoseReply(w.client(1).Link)
		w.cluster.Heal(w.client(1).Link)
		w.pass(3 * time.Second)
		if !done || err != nil {
			t.Errorf("Unlock returned %v with %v, want nil", done, err)
		}
		w.wantNodes(0)
	})
}

// The session ends while the reply to the delete is pending: it is unknown which of the two has
// removed the node, and Unlock must not report success.
func TestExpiredWhileUnlocking(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		err, done := error(nil), false
		go func() { err = lease.Unlock(background); done = true }()
		w.send()
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(5 * time.Second)
		if !done || !errors.Is(err, lock.ErrLost) {
			t.Errorf("Unlock returned %v with %v, want ErrLost", done, err)
		}
		w.wantNodes(0)
	})
}
