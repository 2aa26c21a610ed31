package simzk_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// No goroutine of a client wakes after an operation for which Woken returns false.
func TestWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cluster *simzk.Cluster
		var wakeups atomic.Int64
		var closed [2]atomic.Bool
		var before int64
		wakes, quiet := 0, 0
		settle := func() {
			mayWake := cluster.Woken()
			synctest.Wait()
			switch now := wakeups.Load(); {
			case now != before && !mayWake:
				t.Error("a goroutine woke although Woken returned false")
			case now != before:
				wakes++
			case !mayWake:
				quiet++
			}
			before = wakeups.Load()
		}
		cluster = simzk.New(simzk.Config{Settle: settle}, nil)
		conns, began := [...]*model.Conn{model.Connect(cluster), model.Connect(cluster)}, time.Now()
		for i, conn := range conns {
			keepBusy(conn, &wakeups, &closed[i])
		}
		go drainEvents(conns[1], &wakeups)
		random := rand.New(rand.NewPCG(1, 1))
		for step := range 3000 {
			if step == 2000 {
				closed[1].Store(true)
				go conns[1].Close()
			}
			cluster.Collect()
			tick := random.IntN(4) == 0
			if tick {
				time.Sleep(500 * time.Millisecond)
			}
			synctest.Wait()
			before = wakeups.Load()
			if tick {
				cluster.Advance(time.Since(began))
			} else {
				randomStep(cluster, conns[random.IntN(len(conns))].Link, random)
			}
			settle()
		}
		if wakes < 500 || quiet < 500 {
			t.Errorf("a goroutine woke %d times, Woken returned false %d times", wakes, quiet)
		}
		for _, conn := range conns {
			conn.TearDown()
		}
	})
}

// drainEvents reads the client's event channel until it is closed.
func drainEvents(conn *model.Conn, wakeups *atomic.Int64) {
	defer wakeups.Add(1)
	for range conn.Events() {
		wakeups.Add(1)
	}
}

// keepBusy starts goroutines that use the client until it is closed.
func keepBusy(conn *model.Conn, wakeups *atomic.Int64, closed *atomic.Bool) {
	use := func(call func()) {
		for !closed.Load() {
			call()
			wakeups.Add(1)
		}
	}
	go use(func() {
		if _, _, events, err := conn.ExistsW("/a"); err == nil {
			wakeups.Add(1)
			<-events
		}
	})
	go use(func() {
		conn.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
		wakeups.Add(1)
		conn.Delete("/a", -1)
	})
}

// randomStep performs a random possible operation on a client's link.
func randomStep(cluster *simzk.Cluster, link *simzk.Link, random *rand.Rand) {
	_, servable := link.Servable()
	_, deliverable := link.Deliverable()
	switch n := random.IntN(20); {
	case n == 0 && link.Connected():
		cluster.Cut(link)
	case n == 1:
		cluster.Heal(link)
	case n < 12 && servable:
		cluster.Serve(link)
	case deliverable:
		cluster.Deliver(link)
	}
}
