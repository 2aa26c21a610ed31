package simzk_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk"
)

// Whatever is done to a cluster, no goroutine of a client goes on after something by which it says
// that it has stirred nothing.
func TestStirred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cluster *simzk.Cluster
		var woken atomic.Int64
		var closed [2]atomic.Bool
		var before int64
		woke, quiet := 0, 0
		settle := func() {
			stirred := cluster.Woken()
			synctest.Wait()
			switch now := woken.Load(); {
			case now != before && !stirred:
				t.Error("somebody was woken by what has stirred nothing")
			case now != before:
				woke++
			case !stirred:
				quiet++
			}
			before = woken.Load()
		}
		cluster = simzk.New(simzk.Config{Settle: settle}, nil)
		conns, began := [...]*simzk.Conn{cluster.Connect(), cluster.Connect()}, time.Now()
		for i, conn := range conns {
			keepBusy(conn, &woken, &closed[i])
		}
		go listen(conns[1], &woken)
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
			before = woken.Load()
			if tick {
				cluster.Advance(time.Since(began))
			} else {
				disturb(cluster, conns[random.IntN(len(conns))].Link, random)
			}
			settle()
		}
		if woke < 500 || quiet < 500 {
			t.Errorf("%d times somebody was woken, %d times nothing stirred", woke, quiet)
		}
		for _, conn := range conns {
			conn.TearDown()
		}
	})
}

// listen reads the client's channel of events until that is closed.
func listen(conn *simzk.Conn, woken *atomic.Int64) {
	defer woken.Add(1)
	for range conn.Events() {
		woken.Add(1)
	}
}

// keepBusy starts goroutines that use the client until it is closed.
func keepBusy(conn *simzk.Conn, woken *atomic.Int64, closed *atomic.Bool) {
	use := func(call func()) {
		for !closed.Load() {
			call()
			woken.Add(1)
		}
	}
	go use(func() {
		if _, _, events, err := conn.ExistsW("/a"); err == nil {
			woken.Add(1)
			<-events
		}
	})
	go use(func() {
		conn.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
		woken.Add(1)
		conn.Delete("/a", -1)
	})
}

// disturb does something to a client's link that can be done.
func disturb(cluster *simzk.Cluster, link *simzk.Link, random *rand.Rand) {
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
