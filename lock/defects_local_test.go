package lock_test

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// A process counts wrongly or waits for itself.
var localDefects = []defect{
	{"B55", "a released lock is kept alive", 2, func(w *world) {
		w.unlock(w.acquire(w.mutex(1)))
		before := w.requests(1, "")
		w.pass(3 * sessionTimeout)
		if after := w.requests(1, ""); after != before {
			w.t.Errorf("%d requests after the unlock", after-before)
		}
	}},
	{"B64 D3", "a failed attempt counts as successful", 2, func(w *world) {
		rival := w.acquire(w.mutex(2))
		owner := lock.WithOwner(background)
		m := w.mutex(1)
		ctx, cancel := context.WithCancel(owner)
		failed := w.start(ctx, m)
		w.flow()
		cancel()
		w.wantError(failed, context.Canceled)
		again := w.start(owner, m)
		w.wantWaiting(again)
		w.wantError(w.begin(owner, m.TryLock), lock.ErrNotAcquired)
		w.unlock(rival)
		w.wantGranted(again)
	}},
	{"D6 D14", "one attempt ends while another on the same handle begins", 3, func(w *world) {
		m := w.mutex(1)
		first := w.acquire(m)
		second, third := w.start(background, m), w.start(background, m)
		w.wantWaiting(second, third)
		done := false
		go func() { first.Unlock(background); done = true }()
		fourth := w.start(background, m)
		w.flow()
		held := 0
		for _, c := range []*call{second, third, fourth} {
			if c.returned() {
				held++
				if _, stands := w.cluster.Tree().Stat(c.lease.Node()); !stands {
					w.t.Error("held without a node")
				}
			}
		}
		if !done || held != 1 {
			w.t.Errorf("unlocked %v, %d holders", done, held)
		}
		w.wantNodes(3)
	}},
	{"D9", "a lock that was lost is re-entered", 2, func(w *world) {
		owner := lock.WithOwner(background)
		m := w.mutex(1)
		w.take(owner, m.Lock)
		w.cluster.Expire(w.client(1).SessionID())
		rival := w.acquire(w.mutex(2))
		w.pass(2 * time.Second)
		again := w.start(owner, m)
		w.wantWaiting(again)
		w.unlock(rival)
		w.wantGranted(again)
	}},
	{"D15", "each cancelled attempt leaves a watch", 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		m := w.mutex(2)
		for range 5 {
			ctx, cancel := context.WithCancel(background)
			c := w.start(ctx, m)
			w.wantWaiting(c)
			cancel()
			w.wantError(c, context.Canceled)
		}
		last := w.start(background, m)
		w.wantWaiting(last)
		if got := w.requests(2, "get+watch"); got != 1 {
			w.t.Errorf("%d watches were set, want one", got)
		}
		w.unlock(holder)
		w.wantGranted(last)
	}},
	{"D16", "a lock belongs to a goroutine", 1, func(w *world) {
		m := w.mutex(1)
		lease := w.acquire(m)
		other := w.start(background, m)
		w.wantWaiting(other) // The goroutine does not matter.
		w.unlock(lease)      // in another goroutine than the one that locked
		w.wantGranted(other)
	}},
	{
		"D23", "re-entered after a failed attempt, one release is not enough", 1,
		func(w *world) {
			owner := lock.WithOwner(background)
			failing := &unlistedAtFirst{Conn: w.client(1)}
			m := must(lock.NewMutex(w.sessionOf(1, failing), "/lock"))
			w.wantError(w.start(owner, m), zk.ErrNoAuth)
			w.unlock(w.take(owner, m.Lock))
			w.wantNodes(0)
		},
	},
	{"D24", "not all locks on a session learn of its end", 2, func(w *world) {
		var leases []*lock.Lease
		for _, path := range []string{"/lock/a", "/lock/b", "/lock/c"} {
			leases = append(leases, w.acquire(w.at(1, path)))
		}
		var told []<-chan struct{}
		for _, lease := range leases {
			told = append(told, lease.Done())
		}
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(sessionTimeout * 3 / 10) // The leases have not expired yet.
		for i, lease := range leases {
			if !closed(told[i]) || !errors.Is(lease.Err(), lock.ErrLost) {
				w.t.Errorf("%s: %v", lease.Node(), lease.Err())
			}
		}
	}},
	{"B56", "two handles of one owner deadlock", 1, func(w *world) {
		owner := lock.WithOwner(background)
		w.take(owner, w.mutex(1).Lock)
		w.take(owner, w.mutex(1).Lock)
	}},
	{"B57 D4", "one release undoes two acquisitions", 2, func(w *world) {
		owner := lock.WithOwner(background)
		m := w.mutex(1)
		outer, inner := w.take(owner, m.Lock), w.take(owner, m.Lock)
		c := w.start(background, w.mutex(2))
		w.flow()
		w.unlock(inner)
		w.unlock(inner) // and once more
		w.wantWaiting(c)
		w.unlock(outer)
		w.wantGranted(c)
	}},
	{"B59", "TryLock spins while the lock is held", 1, func(w *world) {
		m := w.mutex(1)
		w.acquire(m)
		before := w.requests(1, "")
		w.wantError(w.begin(background, m.TryLock), lock.ErrNotAcquired)
		if got := w.requests(1, "") - before; got != 3 {
			w.t.Errorf("%d requests, want 3", got)
		}
	}},
	{"B60", "a cancelled call makes the next fail", 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		m := w.mutex(2)
		ctx, cancel := context.WithCancel(background)
		c := w.start(ctx, m)
		w.flow()
		cancel()
		w.wantError(c, context.Canceled)
		w.unlock(holder)
		w.unlock(w.acquire(m))
	}},
	{"B61 D18", "the timeout restarts with each wake-up", 3, func(w *world) {
		w.acquire(w.mutex(1))
		leaving, leave := context.WithCancel(background)
		w.start(leaving, w.mutex(2))
		w.flow()
		ctx, cancel := context.WithTimeout(background, 2*time.Second)
		defer cancel()
		c := w.start(ctx, w.mutex(3))
		w.pass(1500 * time.Millisecond)
		leave()
		w.pass(700 * time.Millisecond)
		w.wantError(c, context.DeadlineExceeded)
	}},
	{"B63 D21", "the directory is removed while others are about to use it", 1, func(w *world) {
		m := must(lock.NewMutex(w.session(1), "/jobs/nightly"))
		for range 2 {
			w.unlock(w.acquire(m))
			if err := w.do(func() error {
				return w.client(1).Delete("/jobs/nightly",
					-1)
			}); err != nil {
				w.t.Fatal(err)
			}
		}
		w.unlock(w.acquire(m))
	}},
	{"D1", "a wake-up counts as a grant", 3, func(w *world) {
		w.acquire(w.mutex(1))
		ctx, cancel := context.WithCancel(background)
		w.start(ctx, w.mutex(2))
		w.flow()
		c := w.start(background, w.mutex(3))
		w.flow()
		cancel()
		w.wantWaiting(c)
	}},
	{"D5", "alone in the directory counts as first", 2, func(w *world) {
		rival := w.acquire(w.mutex(2))
		gone := &vanishing{Conn: w.client(1), gone: make(chan struct{})}
		c := w.start(background, must(lock.NewMutex(w.sessionOf(1, gone), "/lock")))
		w.wantWaiting(c)
		w.unlock(rival)
		w.wantGranted(c)
	}},
}

// vanishing is a client whose first node is gone before it lists.
type vanishing struct {
	*model.Conn
	once bool
	gone chan struct{}
}

func (v *vanishing) Children(path string) ([]string, *zk.Stat, error) {
	<-v.gone
	return v.Conn.Children(path)
}

func (v *vanishing) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := v.Conn.Create(path, data, flags, acl)
	if err == nil && !v.once {
		v.once = true
		err = v.Conn.Delete(created, -1)
		close(v.gone)
	}
	return created, err
}
