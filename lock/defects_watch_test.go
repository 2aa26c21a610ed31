package lock_test

import (
	"bytes"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

// Watches are lost or wake the wrong contenders.
var watchDefects = []defect{
	{"B25", "the watch is lost with the connection", 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		c := w.start(background, w.mutex(2))
		w.flow()
		w.cluster.Cut(w.client(2).Link)
		w.unlock(holder)
		w.wantWaiting(c)
		w.cluster.Heal(w.client(2).Link)
		w.pass(2 * time.Second)
		w.wantGranted(c)
	}},
	{"B26 B27 D2", "the predecessor goes between the listing and the watch", 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		c := w.start(background, w.mutex(2))
		for range 2 { // create, list
			w.serve(2)
			w.cluster.Deliver(w.client(2).Link)
		}
		w.unlock(holder)
		w.flow()
		w.wantGranted(c)
	}},
	{"B28 D10", "a waiter does not learn that its session is over", 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		c := w.start(background, w.mutex(2))
		w.pass(time.Second) // It watches its own node too.
		w.cluster.Expire(w.client(2).SessionID())
		w.pass(2 * time.Second)
		w.wantNodes(2)
		w.unlock(holder)
		w.wantGranted(c)
	}},
	{"B29", "the first number is never waited for", 2, func(w *world) {
		w.acquire(w.mutex(1))
		c := w.start(background, w.mutex(2))
		w.flow()
		before := w.requests(2, "")
		w.pass(2 * sessionTimeout)
		w.wantWaiting(c)
		if after := w.requests(2, ""); before != 4 || after != before+1 {
			w.t.Errorf("%d requests until it waited, want 4, and %d since, want 1", before,
				after-before)
		}
	}},
	{
		"B33", "finds its predecessor gone, and queues again or takes the lock without a node", 3,
		func(w *world) {
			holder := w.acquire(w.mutex(1))
			c := w.start(background, w.mutex(2))
			for range 2 { // create, list
				w.serve(2)
				w.cluster.Deliver(w.client(2).Link)
			}
			late := w.start(background, w.mutex(3))
			w.serve(3)
			w.unlock(holder)
			w.wantGranted(c)
			w.wantWaiting(late)
			if got := w.requests(2, "create"); got != 1 {
				w.t.Errorf("it created %d nodes, want 1", got)
			}
			if _, stands := w.cluster.Tree().Stat(c.lease.Node()); !stands {
				w.t.Error("it holds the lock without a node")
			}
		},
	},
	{
		"B36", "the session expires during a retry, and the attempt deadlocks", 2,
		func(w *world) {
			holder := w.acquire(w.mutex(1))
			m := must(lock.NewMutex(w.sessionOf(2, newUnsearchable(w.client(2), 30)), "/lock"))
			c := w.start(background, m)
			w.pass(time.Second)
			w.cluster.Expire(w.client(2).SessionID())
			w.pass(5 * time.Second)
			w.unlock(holder)
			w.pass(time.Second)
			w.wantGranted(c)
			w.wantNodes(1)
		},
	},
	{
		"B37", "a control: spurious and early events", 2,
		func(w *world) {
			// A Mutex changes its node only to release the lock.
			holder := w.take(background, w.rwmutex(1).Lock)
			c := w.begin(background, w.rwmutex(2).Lock)
			w.flow()
			for range 3 {
				for _, node := range []string{holder.Node(), "/lock"} {
					w.do(func() error {
						_, err := w.client(1).Set(node, []byte("?"),
							-1)
						return err
					})
					w.wantWaiting(c)
				}
			}
			w.unlock(holder)
			w.wantGranted(c)
		},
	},
	{"B31", "watches are left on deleted nodes", 2, func(w *world) {
		for range 5 {
			holder := w.acquire(w.mutex(1))
			c := w.start(background, w.mutex(2))
			for range 2 {
				w.serve(2)
				w.cluster.Deliver(w.client(2).Link)
			}
			w.unlock(holder)
			w.wantGranted(c)
			w.unlock(c.lease)
		}
		if watches, _ := w.cluster.Watches(); watches != 0 {
			w.t.Errorf("%d watches are left", watches)
		}
	}},
	{"B32", "every contender waits for the first", 4, func(w *world) {
		holder := w.acquire(w.guid(1, 9))
		var calls []*call
		// The order of the names differs from that of the numbers.
		for client := 2; client <= 4; client++ {
			calls = append(calls, w.start(background, w.guid(client, 9-client)))
			w.flow()
		}
		before := w.requests(3, "") + w.requests(4, "")
		w.unlock(holder)
		w.wantGranted(calls[0])
		if woken := w.requests(3, "") + w.requests(4, "") - before; woken != 0 {
			w.t.Errorf("%d requests of contenders that must not wake", woken)
		}
	}},
}

// guid returns a mutex whose first contender has a GUID of that one digit.
func (w *world) guid(client, digit int) *lock.Mutex {
	return w.mutex(client,
		lock.WithRandom(bytes.NewReader(bytes.Repeat([]byte{byte(digit * 17)}, 16))))
}
