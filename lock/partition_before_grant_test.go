package lock_test

import (
	"testing"
	"time"
)

// The leader has not heard of the client since its server, s1, ceased to hear the leader at 2.9 s,
// so that the session ends at 8 s. At 7.9 s, s1 passes on the create all the same, and the leader
// commits it. Then s1 is no longer heard, but hears again: it answers the leader's pings in vain,
// and its client gets the reply to the create. Then s1 hears nothing more. A lock that is granted
// must not be valid any more when the session ends.
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
			t.Fatalf("the server has not heard of the create, but the call returned: %v", c.err)
		}
		w.cluster.PartitionLink(server, leader)
		w.cluster.HealLink(leader, server)
		w.flow()
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
