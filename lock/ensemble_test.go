package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

// A server that is cut off from the others confirms nothing, in whichever direction, and be it the leader, who answers reads
// and syncs for longer than any session lasts. So its client knows that it has lost the lock after a third of the session
// timeout, and before another has it.
func TestServerCutOff(t *testing.T) {
	for _, server := range []int{1, 3} { // a follower, and the leader
		for _, way := range []struct {
			name       string
			deaf, mute bool
		}{{"cut off", true, true}, {"deaf", true, false}, {"mute", false, true}} {
			t.Run(fmt.Sprintf("s%d %s", server, way.name), func(t *testing.T) {
				inEnsemble(t, 3, 3, func(w *world) {
					w.testCutOff(server, func() { w.cluster.Part(server-1, way.deaf, way.mute) })
				})
			})
		}
	}
}

// testCutOff lets the client of a server hold the lock while that happens to the server, and another wait for it.
func (w *world) testCutOff(server int, part func()) {
	session := w.session(server)
	c := w.start(background, must(lock.NewMutex(session, "/lock", sessionTimeout)))
	w.pass(time.Second)
	w.wantGranted(c)
	var standing context.Context
	if err := w.do(func() (err error) { standing, err = session.Context(background); return err }); err != nil {
		w.t.Fatal(err)
	}
	rival := w.start(background, w.mutex(2))
	w.pass(time.Second)
	w.wantWaiting(rival)
	if c.lease.Err() != nil {
		w.t.Fatalf("lost before anything happened: %v", c.lease.Err())
	}
	part()
	for parted := time.Now(); !rival.returned() && time.Since(parted) < 15*sessionTimeout; w.pass(100 * time.Millisecond) {
		if (c.lease.Err() == nil || standing.Err() == nil) && time.Since(parted) > sessionTimeout/3 {
			w.t.Fatalf("believes in the lock %v after its server was cut off: lease %v, session %v",
				time.Since(parted), c.lease.Err(), context.Cause(standing))
		}
	}
	w.wantGranted(rival)
	if !errors.Is(c.lease.Err(), lock.ErrLost) || !errors.Is(context.Cause(standing), lock.ErrSessionLost) {
		w.t.Errorf("lease %v, session %v", c.lease.Err(), context.Cause(standing))
	}
}
