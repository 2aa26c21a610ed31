package lock_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// A delayedChunk is what was read at once, and when it is due at the other end.
type delayedChunk struct {
	data []byte
	due  time.Time
}

// startDelayedLink returns an address that leads to the server, with a delay in each direction.
func startDelayedLink(tb testing.TB, server string, delay time.Duration) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			conn, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			go forwardDelayed(conn, client, delay)
			go forwardDelayed(client, conn, delay)
		}
	}()
	return listener.Addr().String()
}

// forwardDelayed forwards one direction until it ends, and closes both connections.
func forwardDelayed(to io.WriteCloser, from io.ReadCloser, delay time.Duration) {
	chunks := make(chan delayedChunk, 1024)
	go func() {
		defer to.Close()
		defer from.Close()
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			if _, err := to.Write(c.data); err != nil {
				break
			}
		}
		for range chunks { // until the reader learns of the end
		}
	}()
	defer close(chunks)
	for {
		data := make([]byte, 16<<10)
		n, err := from.Read(data)
		if n > 0 {
			chunks <- delayedChunk{data[:n], time.Now().Add(delay)}
		}
		if err != nil {
			return
		}
	}
}

// linkDelay is the delay in each direction.
const linkDelay = 5 * time.Millisecond

// BenchmarkZooKeeperLink measures an uncontended lock on a link with a latency of 5 ms, in round
// trips of the link: those of a lock with its release, and those of Lock alone for the locks of this
// process. The round trip is that of a read on the same link.
func BenchmarkZooKeeperLink(b *testing.B) {
	server := startZooKeeper(b)
	address := startDelayedLink(b, server, linkDelay)
	competitors := newCompetitors(b, address, 1)
	ping := openSession(b, address, benchmarkTimeout, net.DialTimeout).Client.(*zk.Conn)
	var trips []float64
	locking := make(map[string][]float64)
	for _, r := range competitors {
		r.run(b, 20)
		r.reset()
	}
	const turns = 10
	b.ResetTimer()
	n := max(1, b.N/turns)
	takeTurns(competitors, turns, func(r *competitor, _ int) {
		r.run(b, n)
		began := time.Now()
		for range n {
			if _, _, err := ping.Exists("/"); err != nil {
				b.Fatal(err)
			}
		}
		trips = append(trips, time.Since(began).Seconds()/float64(n))
		if locks, ok := r.performer.(*goLocks); ok {
			locking[r.name] = append(locking[r.name], locks.timeToLock(b, n).Seconds()/float64(n))
		}
	})
	b.StopTimer()
	trip := median(trips)
	for _, r := range competitors {
		b.ReportMetric(r.pace()/trip, r.name+"-trips")
		if paces := locking[r.name]; paces != nil {
			b.ReportMetric(median(paces)/trip, r.name+"-trips-to-lock")
		}
	}
	b.ReportMetric(trip*1e3, "ms/trip")
	b.ReportMetric(0, "ns/op")
}

// timeToLock returns how long the first contender takes to take the lock n times.
func (g *goLocks) timeToLock(b *testing.B, n int) (elapsed time.Duration) {
	for range n {
		began := time.Now()
		release, err := g.takes[0]()
		elapsed += time.Since(began)
		if err != nil {
			b.Fatal(err)
		}
		if err := release(); err != nil {
			b.Fatal(err)
		}
	}
	return elapsed
}
