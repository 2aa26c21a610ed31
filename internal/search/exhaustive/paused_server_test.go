package exhaustive_test

import (
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/everylock"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
)

// Time passes while a server is paused, until the client that it leaves without an answer gives up
// the connection.
func TestTimePassesWhileAServerIsPaused(t *testing.T) {
	for name, fails := range map[string]bool{"gives-up": true, "careful": false} {
		s := locktest.Planned(t, locktest.Named(t, name), 1, 1, "pause-server:s1=1")
		s.Servers = 3
		r := everylock.ByDefault(s).Run(t.Context(), t)
		if fails != (r.Failure != nil) || !fails && !r.Complete {
			t.Errorf("%s: complete %v, failure %v", name, r.Complete, r.Failure)
		}
	}
}

// A follower that its leader has given up, as its disk stalls, keeps nobody waiting.
func TestStalledDiskCompletes(t *testing.T) {
	s := locktest.Planned(t, locktest.Named(t, "careful"), 1, 1, "stall-disk:s1=1")
	s.Servers = 3
	if r := everylock.ByDefault(s).Run(t.Context(), t); !r.Complete || r.Failure != nil {
		t.Errorf("complete %v, failure %v", r.Complete, r.Failure)
	}
}
