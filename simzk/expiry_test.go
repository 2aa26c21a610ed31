package simzk_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A session ends at the first multiple of the tick, plus a phase, that is more than its timeout
// later than what the leader knows of it: what a follower reports each half tick, plus a phase. The
// tick is 2 s, the timeout 4 s, and the client pings each third of that.
func TestPhasesOfExpiry(t *testing.T) {
	const ms = time.Millisecond
	late := []time.Duration{1100 * ms}
	for _, tc := range []struct {
		name          string
		server        int // of the client: the last one leads
		expiry, relay int // phases, in quarters of a tick and of half a tick
		contacts      []time.Duration
		silent        time.Duration // when the server is cut off
		and           string        // what silences the client too, or ""
		at            time.Duration // when that was
		ends          time.Duration
	}{
		// The last ping that the leader knows of came at 0 s.
		{"only pings", 1, 0, 0, nil, 1200 * ms, "", 0, 6000 * ms},
		{"only pings, other phase", 1, 2, 0, nil, 1200 * ms, "", 0, 5000 * ms},
		{"a ping was reported", 1, 2, 0, nil, 2500 * ms, "", 0, 7000 * ms},
		{"a contact was reported", 1, 2, 0, []time.Duration{900 * ms}, 1500 * ms, "", 0, 7000 * ms},
		{"it is reported at once", 1, 2, 0, []time.Duration{1000 * ms}, 1500 * ms, "", 0, 7000 * ms},
		{"it was not reported", 1, 2, 0, []time.Duration{1100 * ms}, 1200 * ms, "", 0, 5000 * ms},
		{"one of two", 1, 2, 0, []time.Duration{900 * ms, 1100 * ms}, 1200 * ms, "", 0, 7000 * ms},
		{
			"the first at once", 1, 2, 0,
			[]time.Duration{1000 * ms, 1100 * ms},
			1200 * ms, "", 0,
			7000 * ms,
		},
		{"reports at 0.5 s", 1, 2, 2, []time.Duration{400 * ms}, 600 * ms, "", 0, 5000 * ms},
		{"reports at 0.5 s, too late", 1, 2, 2, []time.Duration{1100 * ms}, 1200 * ms, "", 0, 5000 * ms},
		{"reports at 1.5 s", 1, 2, 2, []time.Duration{1100 * ms}, 1600 * ms, "", 0, 7000 * ms},
		// A report gets lost whatever silences the client before or after.
		{"cut, stalled", 1, 2, 0, late, 1200 * ms, "stall-requests", 1500 * ms, 5000 * ms},
		{"cut, paused", 1, 2, 0, late, 1200 * ms, "pause", 1500 * ms, 5000 * ms},
		{"cut, disconnected", 1, 2, 0, late, 1200 * ms, "cut", 1500 * ms, 5000 * ms},
		{"stalled, cut", 1, 2, 0, late, 1500 * ms, "stall-requests", 1200 * ms, 5000 * ms},
		{"paused, cut", 1, 2, 0, late, 1500 * ms, "pause", 1200 * ms, 5000 * ms},
		{"stalled, reported, cut", 1, 2, 0, late, 2500 * ms, "stall-requests", 1200 * ms, 7000 * ms},
		{"paused, reported, cut", 1, 2, 0, late, 2500 * ms, "pause", 1200 * ms, 7000 * ms},
		// The ping at 1.333 s is the last that arrives.
		{"stalled before a ping", 1, 2, 0, nil, 3500 * ms, "stall-requests", 2500 * ms, 7000 * ms},
		// The leader itself rounds nothing.
		{"at the leader", 3, 0, 0, []time.Duration{500 * ms}, 1200 * ms, "", 0, 6000 * ms},
		{"at the leader, other phase", 3, 2, 0, []time.Duration{500 * ms}, 1200 * ms, "", 0, 5000 * ms},
		{"at the leader, later", 3, 2, 0, []time.Duration{1100 * ms}, 1200 * ms, "", 0, 7000 * ms},
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
				client := fmt.Sprintf("c%d", tc.server)
				silence := []string{"partition-server", fmt.Sprintf("s%d", tc.server)}
				if tc.server == 3 {
					silence = []string{"isolate", client}
				}
				var plan agenda
				for _, contact := range tc.contacts {
					plan.add(contact, "call", client, "get", "/")
					plan.add(contact, "serve", client)
					plan.add(contact, "deliver", client)
				}
				plan.add(tc.silent, silence...)
				if tc.and != "" {
					plan.add(tc.at, tc.and, client)
				}
				plan.run(t, s)
				wantExpiry(t, s, tc.server, tc.ends)
			})
		})
	}
}

// A follower that is killed reports nothing more, also if its client was silent before.
func TestReportLostWithServer(t *testing.T) {
	const ms = time.Millisecond
	for _, silence := range []string{"", "stall-requests", "pause"} {
		t.Run("after "+silence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newEnsembleHarness(t, 3)
				defer s.tearDown()
				s.join()
				s.cluster.ShiftExpiry(2, 4)
				var plan agenda
				plan.add(1100*ms, "call", "c1", "get", "/")
				plan.add(1100*ms, "serve", "c1")
				if silence != "" {
					plan.add(1200*ms, silence, "c1")
				}
				plan.add(1500*ms, "kill", "s1")
				plan.run(t, s)
				wantExpiry(t, s, 1, 5000*ms)
			})
		})
	}
}

// wantExpiry verifies when the session of a process ends.
func wantExpiry(t *testing.T, s *harness, process int, want time.Duration) {
	t.Helper()
	for _, session := range s.cluster.SessionList() {
		if session.Process != process {
			continue
		}
		if session.Expires != want {
			t.Errorf("the session ends at %v, want %v", session.Expires, want)
		}
		return
	}
	t.Error("no session")
}

// An agenda is the commands of a script with their times.
type agenda []appointment

type appointment struct {
	at    time.Duration
	words []string
}

func (a *agenda) add(at time.Duration, words ...string) {
	*a = append(*a, appointment{at, words})
}

// run runs the commands in the order of their times.
func (a agenda) run(t *testing.T, s *harness) {
	t.Helper()
	slices.SortStableFunc(a, func(x, y appointment) int { return cmp.Compare(x.at, y.at) })
	now := time.Duration(0)
	for _, next := range a {
		if next.at > now {
			s.run(t, "pass", (next.at - now).String())
		}
		s.run(t, next.words[0], next.words[1:]...)
		now = next.at
	}
}
