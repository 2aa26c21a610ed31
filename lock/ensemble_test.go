package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

// cutOff runs a test for each way to cut a server off from the others: a follower, or the leader,
// which continues to answer reads and syncs for longer than any session lasts.
func cutOff(t *testing.T, test func(w *world, server int, part func())) {
	for _, server := range []int{1, 3} { // a follower, and the leader
		for _, way := range []struct {
			name       string
			deaf, mute bool
		}{
			{"cut off", true, true},
			{"receives nothing", true, false},
			{"sends nothing", false, true},
		} {
			t.Run(fmt.Sprintf("s%d %s", server, way.name), func(t *testing.T) {
				inEnsemble(t, 3, 3, func(w *world) {
					test(w, server, func() {
						w.cluster.PartitionServer(server-1, way.deaf,
							way.mute)
					})
				})
			})
		}
	}
}

// A server that is cut off confirms no lease: its client learns that it has lost the lock after a
// third of the session timeout, and before another contender holds it.
func TestLeaseWhenServerIsCutOff(t *testing.T) {
	cutOff(t, func(w *world, server int, part func()) {
		lease := w.acquireBy(server)
		rival := w.start(background, w.mutex(2))
		w.pass(time.Second)
		w.wantWaiting(rival)
		if lease.Err() != nil {
			w.t.Fatalf("lost before the partition: %v", lease.Err())
		}
		part()
		for parted := time.Now(); !rival.returned() &&
			time.Since(parted) < 15*sessionTimeout; w.pass(100 * time.Millisecond) {
			if lease.Err() == nil && time.Since(parted) > sessionTimeout/3 {
				w.t.Fatalf("holds the lock %v after its server was cut off",
					time.Since(parted))
			}
		}
		w.wantGranted(rival)
		if !errors.Is(lease.Err(), lock.ErrLost) {
			w.t.Errorf("the lease ended with %v", lease.Err())
		}
	})
}

// acquireBy makes a client take the lock and watch its node.
func (w *world) acquireBy(client int) *lock.Lease {
	w.t.Helper()
	c := w.start(background, w.mutex(client))
	w.pass(time.Second)
	w.wantGranted(c)
	return c.lease
}

// A server that is cut off confirms no session either.
func TestSessionWhenServerIsCutOff(t *testing.T) {
	cutOff(t, func(w *world, server int, part func()) {
		session := w.session(server)
		var standing context.Context
		if err := w.do(func() (err error) {
			standing,
				err = session.Context(background)
			return err
		}); err != nil {
			w.t.Fatal(err)
		}
		w.pass(sessionTimeout)
		if standing.Err() != nil {
			w.t.Fatalf("lost before the partition: %v", context.Cause(standing))
		}
		part()
		w.pass(sessionTimeout/3 + 100*time.Millisecond)
		if !errors.Is(context.Cause(standing), lock.ErrSessionLost) {
			w.t.Errorf("considers the session alive %v after its server was cut off",
				sessionTimeout/3)
		}
	})
}
