package simzk_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The leader hears of a follower's clients when the follower answers a ping. Pings and answers that
// a partition delays arrive when it ends. Sessions of 4 s end at odd seconds; the leader pings each
// second, and the client each 4/3 s. Every case but those that wait ends with another partition, so
// that nothing is reported after it.
func TestReportsAfterPartition(t *testing.T) {
	for _, tc := range []struct {
		name  string
		relay int // phase of the leader's pings, in quarters of half a tick
		steps string
		ends  time.Duration
	}{
		{"both directions", 0, "0.9s cut, 3.5s heal, 3.6s cut", 9 * time.Second},
		{
			"both directions, link by link", 0,
			"0.9s deaf, 0.9s mute, 3.5s hears, 3.5s heard, 3.6s cut",
			9 * time.Second,
		},
		{"without end", 0, "0.9s cut", 5 * time.Second},
		// The ping of 1.333 s would be reported at 1.5 s.
		{"no ping of the leader", 2, "1s cut, 1.4s heal, 1.45s cut", 5 * time.Second},
		{"in time for the next", 2, "1s cut, 1.4s heal, 1.55s cut", 7 * time.Second},
		// The ping of 5.333 s would be reported when the partition ends.
		{"just after a ping of the leader", 2, "4.5s cut, 5.4s heal, 5.45s cut", 9 * time.Second},
		{"to the follower", 0, "0.9s deaf, 3.5s hears, 3.6s cut", 9 * time.Second},
		{"to the leader", 0, "0.9s mute, 3.5s heard, 3.6s cut", 9 * time.Second},
		{"to the leader, no ping", 2, "1s mute, 1.4s heard, 1.45s cut", 5 * time.Second},
		{"to the leader, reported before", 0, "2.1s mute, 2.9s heard, 2.95s cut", 7 * time.Second},
		{
			"to the leader, no contact", 0,
			"1.2s stall-requests-c1, 1.25s mute, 3.5s heard, 3.6s cut",
			5 * time.Second,
		},
		{"the answer waits", 0, "0.9s deaf, 1.5s mute, 3.5s hears", 5 * time.Second},
		{
			"the answer arrives", 0,
			"0.9s deaf, 1.5s mute, 3.5s hears, 4.5s heard, 4.6s cut",
			9 * time.Second,
		},
		{
			"an answer arrives, the next waits", 0,
			"0.9s mute, 2.5s deaf, 3.5s heard, 3.6s mute, 4.5s hears",
			9 * time.Second,
		},
		{"the ping waits longer", 0, "0.9s deaf, 0.9s mute, 2.5s heard", 5 * time.Second},
		{
			"two partitions", 0,
			"0.9s cut, 2.5s heal, 2.55s cut, 2.9s heal, 2.95s cut",
			7 * time.Second,
		},
		{
			"two partitions, two answers", 0,
			"0.9s cut, 2.5s heal, 2.55s cut, 4.5s heal, 4.55s cut",
			9 * time.Second,
		},
		{"the next answer in time", 0, "0.9s cut, 2.5s heal, 3.05s cut", 9 * time.Second},
		{
			"a stall ends within", 0,
			"0.8s stall-requests-c1, 0.9s cut, 2.2s heal-c1, 3.5s heal, 3.6s cut",
			9 * time.Second,
		},
		{
			"a stall ends after", 0,
			"0.8s stall-requests-c1, 0.9s cut, 3s heal, 3.1s heal-c1, 3.2s cut",
			5 * time.Second,
		},
		{
			"a stall ends within, to the leader", 0,
			"0.8s stall-requests-c1, 0.9s mute, 2.2s heal-c1, 3.5s heard, 3.6s cut",
			9 * time.Second,
		},
		{
			"a stall ends within, no ping since", 0,
			"0.8s stall-requests-c1, 0.9s mute, 2.2s heal-c1, 2.5s heard, 2.6s cut",
			5 * time.Second,
		},
		{
			"a stall ends within, at a ping of the leader", 0,
			"0.8s stall-requests-c1, 0.9s mute, 2s heal-c1, 2.5s heard, 2.6s cut",
			7 * time.Second,
		},
		{
			"a stall begins within", 0,
			"0.9s cut, 2s stall-requests-c1, 3.5s heal, 3.6s cut",
			9 * time.Second,
		},
		{
			"a pause within", 0,
			"0.9s cut, 1s pause-c1, 2.2s resume-c1, 3.5s heal, 3.6s cut",
			9 * time.Second,
		},
		{
			"a contact just after the answer", 0,
			"0.8s stall-requests-c1, 0.9s cut, 2.2s heal, 2.2s heal-c1, 2.2s cut",
			5 * time.Second,
		},
		// A follower remembers a client that has left.
		{"a client leaves", 0, "0.9s cut, 1.5s cut-c1, 3.5s heal", 9 * time.Second},
		{
			"a client leaves before its ping", 0,
			"0.9s cut, 1.2s cut-c1, 3.5s heal",
			5 * time.Second,
		},
		{
			"a client leaves, the answer waits", 0,
			"0.9s mute, 1.5s cut-c1, 3.5s heard",
			9 * time.Second,
		},
		{"a client dies", 0, "0.9s cut, 1.5s crash-c1, 3.5s heal", 9 * time.Second},
		// What waits is lost with the follower.
		{"the follower dies", 0, "0.9s mute, 3.5s kill, 3.6s heard", 5 * time.Second},
		{
			"the follower dies after the client has left", 0,
			"0.9s mute, 1.5s cut-c1, 3.5s kill, 3.6s heard, 3.7s start",
			5 * time.Second,
		},
		{
			"a partition after the follower has died", 0,
			"0.9s mute, 1.5s cut-c1, 2s kill, 2.1s heard, 2.2s start, 2.5s mute, 3.5s heard",
			5 * time.Second,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newEnsembleHarness(t, 3)
				defer s.tearDown()
				s.join()
				s.cluster.ShiftExpiry(2, 4)
				s.cluster.ShiftRelay(tc.relay, 4)
				partitions(t, tc.steps).run(t, s)
				wantExpiry(t, s, 1, tc.ends)
			})
		})
	}
}

// partitions returns the steps that a text names, with their times.
func partitions(t *testing.T, text string) (plan agenda) {
	commands := map[string]string{
		"cut": "partition-server s1", "heal": "heal-server s1", "kill": "kill s1",
		"start": "start s1", "deaf": "partition-link-oneway s3-s1", "hears": "heal-link s3-s1",
		"mute": "partition-link-oneway s1-s3", "heard": "heal-link s1-s3",
	}
	for step := range strings.SplitSeq(text, ", ") {
		at, name, _ := strings.Cut(step, " ")
		command, known := commands[name]
		if !known {
			command = strings.TrimSuffix(name, "-c1") + " c1"
		}
		duration, err := time.ParseDuration(at)
		if err != nil {
			t.Fatal(err)
		}
		plan.add(duration, strings.Fields(command)...)
	}
	return plan
}

// A session can end although its server hears the client again and is connected to the leader: if
// the leader ends it before its next ping. The leader pings at 6 s here.
func TestContactTooLateForReport(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		phase     int // of the ends of sessions, in quarters of a tick: 5.5 s, or 6 s
		partition bool
		lives     bool
	}{{3, false, false}, {3, true, false}, {0, false, true}, {0, true, true}} {
		t.Run(fmt.Sprintf("%+v", tc), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newEnsembleHarness(t, 3)
				defer s.tearDown()
				s.join()
				s.cluster.ShiftExpiry(tc.phase, 4)
				var plan agenda
				plan.add(100*ms, "pause", "c1")
				if tc.partition {
					plan.add(5100*ms, "partition-server", "s1")
					plan.add(5300*ms, "heal-server", "s1")
				}
				plan.add(5200*ms, "resume", "c1")
				plan.add(5400*ms, "sessions")
				plan.run(t, s)
				if s.cluster.Sessions() != 1 {
					t.Fatal("the session has ended before 5.5 s")
				}
				s.run(t, "pass", "1s")
				if lives := s.cluster.Sessions() == 1; lives != tc.lives {
					t.Errorf("the session lives: %t, want %t", lives, tc.lives)
				}
			})
		})
	}
}
