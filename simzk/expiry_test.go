package simzk_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A session ends at the first multiple of the tick, plus a phase, that is more than its timeout
// later than what the leader knows of it: what a follower reports each half tick, plus a phase. The
// tick is 2 s, the timeout 4 s, and the client pings each third of that.
func TestPhasesOfExpiry(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name          string
		server        int // of the client: the last one leads
		expiry, relay int // phases, in quarters of a tick and of half a tick
		contacts      []time.Duration
		silent        time.Duration // when the server is cut off
		ends          time.Duration
	}{
		// The last ping that the leader knows of came at 0 s.
		{"only pings", 1, 0, 0, nil, 1200 * ms, 6000 * ms},
		{"only pings, other phase", 1, 2, 0, nil, 1200 * ms, 5000 * ms},
		{"a ping was reported", 1, 2, 0, nil, 2500 * ms, 7000 * ms},
		{"a contact was reported", 1, 2, 0, []time.Duration{900 * ms}, 1500 * ms, 7000 * ms},
		{"it is reported at once", 1, 2, 0, []time.Duration{1000 * ms}, 1500 * ms, 7000 * ms},
		{"it was not reported", 1, 2, 0, []time.Duration{1100 * ms}, 1200 * ms, 5000 * ms},
		{"one of two", 1, 2, 0, []time.Duration{900 * ms, 1100 * ms}, 1200 * ms, 7000 * ms},
		{"the first at once", 1, 2, 0, []time.Duration{1000 * ms, 1100 * ms}, 1200 * ms, 7000 * ms},
		{"reports at 0.5 s", 1, 2, 2, []time.Duration{400 * ms}, 600 * ms, 5000 * ms},
		{"reports at 0.5 s, too late", 1, 2, 2, []time.Duration{1100 * ms}, 1200 * ms, 5000 * ms},
		{"reports at 1.5 s", 1, 2, 2, []time.Duration{1100 * ms}, 1600 * ms, 7000 * ms},
		// The leader itself rounds nothing.
		{"at the leader", 3, 0, 0, []time.Duration{500 * ms}, 1200 * ms, 6000 * ms},
		{"at the leader, other phase", 3, 2, 0, []time.Duration{500 * ms}, 1200 * ms, 5000 * ms},
		{"at the leader, later", 3, 2, 0, []time.Duration{1100 * ms}, 1200 * ms, 7000 * ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newEnsembleHarness(t, 3)
				defer s.tearDown()
				for range tc.server {
					s.join()
				}
				s.cluster.ShiftExpiry(tc.expiry, 4)
				s.cluster.ShiftRelay(tc.relay, 4)
				client, at := fmt.Sprintf("c%d", tc.server), time.Duration(0)
				for _, contact := range tc.contacts {
					s.run(t, "pass", (contact - at).String())
					s.run(t, "call", client, "get", "/")
					s.run(t, "serve", client)
					s.run(t, "deliver", client)
					at = contact
				}
				s.run(t, "pass", (tc.silent - at).String())
				if tc.server == 3 {
					s.run(t, "isolate", client)
				} else {
					s.run(t, "partition-server", fmt.Sprintf("s%d", tc.server))
				}
				for _, session := range s.cluster.SessionList() {
					if session.Process != tc.server {
						continue
					}
					if session.Expires != tc.ends {
						t.Errorf("the session ends at %v, want %v", session.Expires, tc.ends)
					}
					return
				}
				t.Error("no session")
			})
		})
	}
}
