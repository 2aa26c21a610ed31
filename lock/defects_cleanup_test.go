package lock_test

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// A failed or cancelled attempt leaves its node.
var cleanupDefects = []defect{
	{"B12 D12", "a failed attempt leaves its node", 1, func(w *world) {
		m := must(lock.NewMutex(w.sessionOf(1, unlisted{w.client(1)}), "/lock"))
		w.wantError(w.start(background, m), zk.ErrNoAuth)
		w.wantNodes(0)
	}},
	{"B13 D8", "the lock is re-entered after a failed release", 2, func(w *world) {
		owner := lock.WithOwner(background)
		m := w.mutex(1)
		lease := w.take(owner, m.Lock)
		w.cluster.Isolate(w.client(1).Link)
		go lease.Unlock(background)
		rival := w.start(background, w.mutex(2))
		for waited := time.Duration(0); waited < 2*sessionTimeout &&
			!rival.returned(); waited += 100 * time.Millisecond {
			w.pass(100 * time.Millisecond)
		}
		w.wantGranted(rival)
		again := w.start(owner, m) // The first client does not know the outcome of its release yet.
		w.pass(2 * sessionTimeout)
		w.wantWaiting(again)
		w.unlock(rival.lease)
		w.wantGranted(again)
	}},
	{"B15", "TryLock fails while the connection is down", 2, func(w *world) {
		holder := w.acquire(w.mutex(2))
		w.loseDelete(w.mutex(1).TryLock)
		w.unlock(holder)
		w.acquire(w.mutex(2))
		w.wantNodes(1)
	}},
	{"B17", "a failed TryLock blocks a semaphore", 3, func(w *world) {
		holder := w.take(background, w.semaphore(3, 1).Lock)
		w.loseDelete(w.semaphore(1, 1).TryLock)
		w.unlock(holder)
		w.take(background, w.semaphore(2, 1).TryLock)
	}},
	{"B19 D22", "a timeout leaves the node", 2, func(w *world) {
		w.acquire(w.mutex(1))
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		c := w.begin(ctx, w.mutex(2).Lock)
		w.pass(1100 * time.Millisecond)
		w.wantError(c, context.DeadlineExceeded)
		w.wantNodes(1)
	}},
	{"B20", "cancelled during the listing on a broken connection", 2, func(w *world) {
		w.acquire(w.mutex(1))
		ctx, cancel := context.WithCancel(background)
		c := w.begin(ctx, w.mutex(2).Lock)
		w.serve(2)
		w.cluster.Deliver(w.client(2).Link)
		w.send() // the listing
		w.cluster.Cut(w.client(2).Link)
		cancel()
		w.wantError(c, context.Canceled)
		w.pass(1500 * time.Millisecond) // The delete fails more than once.
		w.cluster.Heal(w.client(2).Link)
		w.pass(1500 * time.Millisecond)
		w.wantNodes(1)
	}},
	{"B21", "the error of the clean-up hides that of the attempt", 1, func(w *world) {
		m := must(lock.NewMutex(w.sessionOf(1, unlistedForGood{unlisted{w.client(1)}}), "/lock"))
		w.wantError(w.start(background, m), zk.ErrNoAuth)
	}},
	{"B23", "a cancelled waiter is woken and queues again", 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		ctx, cancel := context.WithCancel(background)
		c := w.begin(ctx, w.mutex(2).Lock)
		w.flow()
		cancel()
		w.wantError(c, context.Canceled)
		w.wantNodes(1)
		w.unlock(holder)
		w.pass(2 * sessionTimeout)
		w.wantNodes(0)
	}},
	{"B24", "TryLock leaves its node", 2, func(w *world) {
		w.acquire(w.mutex(1))
		for range 3 {
			w.wantError(w.begin(background, w.mutex(2).TryLock), lock.ErrNotAcquired)
			w.wantNodes(1)
		}
	}},
}

// loseDelete makes the first client try a lock that is held, and loses its delete.
func (w *world) loseDelete(try func(context.Context) (*lock.Lease, error)) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(background, time.Second)
	defer cancel()
	c := w.begin(ctx, try)
	for range 2 { // create, list
		w.serve(1)
		w.cluster.Deliver(w.client(1).Link)
	}
	w.send()
	w.cluster.Cut(w.client(1).Link)
	w.pass(1500 * time.Millisecond)
	w.wantError(c, context.DeadlineExceeded)
	w.cluster.Heal(w.client(1).Link)
	w.pass(1500 * time.Millisecond)
}

// unlisted is a client without permission to list.
type unlisted struct{ *model.Conn }

func (unlisted) Children(string) ([]string, *zk.Stat, error) { return nil, nil, zk.ErrNoAuth }

// unlistedAtFirst may list from the second attempt on. The first attempt sends two listings.
type unlistedAtFirst struct {
	*model.Conn
	listings atomic.Int32
}

func (u *unlistedAtFirst) Children(path string) ([]string, *zk.Stat, error) {
	if u.listings.Add(1) <= 2 {
		return nil, nil, zk.ErrNoAuth
	}
	return u.Conn.Children(path)
}

// unlistedForGood may not delete either, for another reason.
type unlistedForGood struct{ unlisted }

func (unlistedForGood) Delete(string, int32) error { return zk.ErrInvalidACL }
