package lock_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

// A contender whose connection was lost retries after the delay, and not before.
func TestRetryDelay(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		c := w.start(background, w.mutex(1, lock.WithRetryDelay(3*time.Second)))
		w.send()
		w.cluster.Cut(w.client(1).Link)
		w.cluster.Heal(w.client(1).Link)
		w.pass(2 * time.Second)
		w.wantWaiting(c)
		w.pass(4 * time.Second)
		w.wantGranted(c)
	})
}

func TestRetryDelayMustBePositive(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		for _, delay := range []time.Duration{0, -time.Second} {
			m, err := lock.NewMutex(w.session(1), "/lock",
				lock.WithRetryDelay(delay))
			if err == nil {
				t.Errorf("a retry delay of %v makes %v", delay, m)
			}
		}
	})
}
