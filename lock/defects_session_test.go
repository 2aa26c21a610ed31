package lock_test

import (
	"errors"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

// A lost session goes unnoticed.
var sessionDefects = []defect{
	{"B46", "the holder does not learn of the loss", 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		w.cluster.Isolate(w.client(1).Link)
		rival := w.start(background, w.mutex(2))
		for range 200 {
			w.pass(50 * time.Millisecond)
			if rival.returned() && lease.Err() == nil {
				w.t.Fatal("the lock was granted to another contender, and the holder does not know")
			}
		}
		w.wantGranted(rival)
	}},
	{"B47", "a node of an expired session counts as its own", 1, func(w *world) {
		foreign := &foreignOwner{Conn: w.client(1)}
		lease := w.acquire(must(lock.NewMutex(w.sessionOf(1, foreign), "/lock")))
		if lease.Node() == foreign.first {
			w.t.Error("the lock was granted by a node of another session")
		}
	}},
	{"B50", "a lost lock cannot be used again", 2, func(w *world) {
		m := w.mutex(1)
		lost := w.acquire(m)
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(2 * time.Second)
		if err := w.do(func() error { return lost.Unlock(background) }); !errors.Is(err,
			lock.ErrLost) {
			w.t.Errorf("Unlock: %v", err)
		}
		w.unlock(w.acquire(m))
		w.acquire(w.mutex(2))
	}},
	{"B51 D11", "granted without a node", 3, func(w *world) {
		holder := w.acquire(w.mutex(1))
		c := w.start(background, w.mutex(2))
		w.flow()
		// The waiter's node is deleted, and only the holder's end is reported.
		for _, name := range w.nodes() {
			if path := "/lock/" + name; path != holder.Node() {
				if err := w.do(func() error { return w.client(3).Delete(path, -1) }); err != nil {
					w.t.Fatal(err)
				}
			}
		}
		rival := w.start(background, w.mutex(3))
		w.watch() // A node that was seen recently is not read again.
		w.wantWaiting(c, rival)
		w.unlock(holder)
		w.wantGranted(rival)
		w.wantWaiting(c)
	}},
	{
		"B51 D11", "granted without a node, just after the session's end", 3,
		func(w *world) {
			holder := w.acquire(w.mutex(1))
			c := w.start(background, w.mutex(2))
			w.flow()
			// The end of the session is not reported, and later only the holder's.
			w.cluster.Cut(w.client(2).Link)
			w.cluster.Expire(w.client(2).SessionID())
			rival := w.start(background, w.mutex(3))
			w.wantWaiting(c, rival)
			w.cluster.Heal(w.client(2).Link)
			w.unlock(holder)
			w.wantGranted(rival)
			w.pass(2 * time.Second)
			w.wantWaiting(c)
		},
	},
	{"B53", "a late release removes the next holder", 2, func(w *world) {
		lost := w.acquire(w.mutex(1))
		w.cluster.Expire(w.client(1).SessionID())
		rival := w.acquire(w.mutex(2))
		go lost.Unlock(background)
		w.pass(2 * time.Second)
		if rival.Err() != nil {
			w.t.Error(rival.Err())
		}
		w.wantNodes(1)
	}},
	{"B54", "the holder learns late, because a request is never answered", 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		told := lease.Done() // A later call would check the clock.
		for began := time.Now(); time.Since(began) < sessionTimeout; {
			time.Sleep(100 * time.Millisecond)
			w.send() // and nothing is served
		}
		if !closed(told) || !errors.Is(lease.Err(), lock.ErrLost) {
			w.t.Errorf("after %v of silence: %v", sessionTimeout, lease.Err())
		}
	}},
}
