package simzk_test

import (
	"testing"
	"time"
)

// The next instant is the first of the next end of a tick, when sessions can end, a client's next
// ping, and the next deadline of the cluster, as when a client connects again.
func TestNextInstant(t *testing.T) {
	withHarness(t, 1, func(s *harness) {
		want := func(after, want time.Duration) {
			t.Helper()
			if got := s.cluster.NextInstant(after); got != want {
				t.Errorf("the next instant after %v is %v, want %v", after, got, want)
			}
		}
		ping := 4 * time.Second / 3
		want(0, ping)
		want(ping, 2*time.Second)
		s.run(t, "pass", "100ms")
		s.run(t, "cut", "c1")
		connects, ok := s.cluster.Deadline()
		if !ok || connects >= 2*time.Second {
			t.Fatalf("the client connects again at %v (%v)", connects, ok)
		}
		want(100*time.Millisecond, connects)
		want(connects, 2*time.Second)
	})
}

// Sessions end at multiples of the tick of 2 s, plus a phase.
func TestNextExpiry(t *testing.T) {
	withHarness(t, 1, func(s *harness) {
		s.cluster.ShiftExpiry(1, 4)
		for after, want := range map[time.Duration]time.Duration{
			0:                       500 * time.Millisecond,
			499 * time.Millisecond:  500 * time.Millisecond,
			500 * time.Millisecond:  2500 * time.Millisecond,
			2400 * time.Millisecond: 2500 * time.Millisecond,
		} {
			if got := s.cluster.NextExpiry(after); got != want {
				t.Errorf("the first end after %v is %v, want %v", after, got, want)
			}
		}
	})
}
