package lock_test

import (
	"testing"
	"time"
)

// The leader has not heard of the client since its server, s1, ceased to hear the leader at 2.9 s,
// so that the session ends at 8 s. At 7.9 s, s1 passes on the first request all the same, and the
// leader carries it out. Then s1 is no longer heard, but hears again: its answers to the leader's
// pings wait, and its client gets the reply. Then s1 hears nothing more. If the request was the
// create and has granted the lock, its holder believes in it after the session's end.
func TestGrantAfterPartition(t *testing.T) {
	const server, leader = 0, 2
	inEnsemble(t, 3, 2, func(w *world) {
		w.unlock(w.acquire(w.mutex(2))) // makes the directory
		w.passUntil(2900 * time.Millisecond)
		w.cluster.PartitionLink(leader, server)
		w.passUntil(7900 * time.Millisecond)
		c := w.start(background, w.mutex(1))
		w.flow()
		if c.returned() {
			t.Fatalf("the server has heard no reply, but the call returned: %v", c.err)
		}
		w.cluster.PartitionLink(server, leader)
		w.cluster.HealLink(leader, server)
		before := w.requests(1, "")
		w.flow()
		if !c.returned() && w.requests(1, "") == before {
			t.Fatal("there was no reply")
		}
		w.cluster.PartitionLink(leader, server)
		for w.cluster.Sessions() == 2 {
			if time.Since(w.began) > 8*time.Second {
				t.Fatalf("the session is alive after 8 s: %+v", w.cluster.SessionList())
			}
			w.passUntil(time.Since(w.began) + 5*time.Millisecond)
		}
		if c.returned() && c.err == nil && c.lease.Err() == nil {
			t.Errorf("the session has ended at %v, and the lock is considered held",
				time.Since(w.began))
		}
	})
}
