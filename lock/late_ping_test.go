package lock_test

import (
	"testing"
	"time"
)

// A ping of the client arrives late, just after its server has reported its clients to the leader.
// The process then takes the lock, and its server is cut off just before the next report: the
// leader knows of no contact since the ping before. The holder learns of its loss before the
// session ends if the ping is late by at most a twelfth of the session timeout, as docs/lock.md
// demands. It does not if the ping is late by almost a third, where the client would close the
// connection.
func TestLeaseAfterLatePing(t *testing.T) {
	const tick = sessionTimeout / 2
	for _, test := range []struct {
		late time.Duration
		told bool
	}{
		{0, true},
		{sessionTimeout / 12, true},
		{sessionTimeout/3 - 10*time.Millisecond, false},
	} {
		inEnsemble(t, 3, 2, func(w *world) {
			arrives := 2*(sessionTimeout/3) + test.late
			report := arrives - 10*time.Millisecond
			known := report
			for known-tick/2 >= sessionTimeout/3 {
				known -= tick / 2 // of the ping before
			}
			w.cluster.ShiftRelay(int(report%(tick/2)/time.Millisecond), 1000)
			w.cluster.ShiftExpiry(int((known+sessionTimeout)%tick/time.Millisecond)+5, 2000)
			w.passUntil(2*(sessionTimeout/3) - 50*time.Millisecond)
			w.cluster.StallRequests(w.client(1).Link)
			w.passUntil(arrives)
			w.cluster.Heal(w.client(1).Link)
			w.passUntil(report + tick/2 - 50*time.Millisecond)
			lease := w.acquire(w.mutex(1))
			w.cluster.PartitionServer(0, true, true)
			for w.cluster.Sessions() == 2 {
				if time.Since(w.began) > report+sessionTimeout {
					t.Fatalf("%v late: the session is alive at %v", test.late, time.Since(w.began))
				}
				if told := lease.Err() != nil; told && !test.told {
					t.Fatalf("%v late: told at %v", test.late, time.Since(w.began))
				}
				w.passUntil(time.Since(w.began) + 5*time.Millisecond)
			}
			if told := lease.Err() != nil; told != test.told {
				t.Errorf("%v late: told before the session's end: %v, want %v", test.late, told,
					test.told)
			}
		})
	}
}
