package real_test

import (
	"crypto/rand"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// The key includes the time at which a server's death closes a connection, as with a model client.
func TestKeyTellsWhenConnectionBroke(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the real client: without it this " +
			"test runs")
	}
	defer real.Determinize()()
	keys := make(map[uint64]bool)
	for _, late := range []bool{false, true, true} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			cluster := simzk.New(simzk.Config{Settle: synctest.Wait, Servers: 3, Lag: true},
				new(history.Log))
			conn, err := real.Connect(cluster)
			if err != nil {
				t.Fatal(err)
			}
			link := conn.Link()
			defer time.Sleep(time.Minute)
			defer link.TearDown()
			pass := func() {
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				cluster.Advance(time.Since(began))
			}
			if late {
				pass()
			}
			cluster.KillServer(0)
			if !late {
				pass()
			}
			for link.Unserved()+link.Undelivered() > 0 {
				if link.Unserved() > 0 {
					cluster.Serve(link)
				} else {
					cluster.Deliver(link)
				}
				synctest.Wait()
				cluster.Collect()
			}
			if link.ServerIndex() == 0 || !link.HasSession() {
				t.Fatal("the client has not found another server")
			}
			keys[cluster.Key()] = true
		})
	}
	if len(keys) != 2 {
		t.Errorf("%d keys, want 2", len(keys))
	}
}

// The GUIDs of a process do not depend on the order in which processes draw theirs.
func TestGUIDsOfProcesses(t *testing.T) {
	draw := func(order ...int) map[int]string {
		defer real.Determinize()()
		drawn := make(map[int]string)
		synctest.Test(t, func(t *testing.T) {
			owner := 0
			cluster := simzk.New(simzk.Config{
				Settle: synctest.Wait, Servers: 1, Owner: func() int { return owner },
			}, new(history.Log))
			conn, err := real.Connect(cluster)
			if err != nil {
				t.Fatal(err)
			}
			defer time.Sleep(time.Minute)
			defer conn.Link().TearDown()
			for _, owner = range order {
				var guid [16]byte
				if _, err := rand.Reader.Read(guid[:]); err != nil {
					t.Fatal(err)
				}
				drawn[owner] += string(guid[:])
			}
		})
		return drawn
	}
	one, two := draw(1, 2, 1, 2), draw(2, 1, 1, 2)
	if !maps.Equal(one, two) {
		t.Errorf("%x and %x", one, two)
	}
	if one[1] == one[2] || one[1][:16] == one[1][16:] {
		t.Errorf("GUIDs repeat: %x", one)
	}
}
