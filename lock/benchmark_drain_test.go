package lock_test

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// drainContenders is the number of contenders: a holder and its waiters.
const drainContenders = 1001

// BenchmarkZooKeeperDrain measures how long 1,000 waiters, each with a session of its own, take to
// have the lock once each after its holder releases it. N is the number of turns. Requests and
// megabytes are those of one such drain.
func BenchmarkZooKeeperDrain(b *testing.B) {
	address := startZooKeeper(b)
	competitors := newCompetitors(b, address, drainContenders)
	observer := openSession(b, address, benchmarkTimeout, net.DialTimeout).Client.(*zk.Conn)
	requests, bytes := make(map[string]int64), make(map[string]int64)
	for _, r := range competitors {
		r.warmUp(b, drainContenders)
	}
	b.ResetTimer()
	takeTurns(competitors, b.N, func(r *competitor, _ int) {
		watches := countWatches(b, address)
		if err := r.queueUp(); err != nil {
			b.Fatal(r.name, ": ", err)
		}
		for {
			names, _, err := observer.Children(r.directory)
			if err != nil {
				b.Fatal(err)
			}
			if len(names) >= drainContenders &&
				countWatches(b, address) >= watches+drainContenders-1 {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		r.traffic.reset()
		elapsed, err := r.drain()
		if err != nil {
			b.Fatal(r.name, ": ", err)
		}
		if r.traffic != nil {
			requests[r.name] += r.traffic.requests.Load()
			bytes[r.name] += r.traffic.bytes.Load()
		}
		r.add(elapsed, 1)
	})
	b.StopTimer()
	for _, r := range competitors {
		b.ReportMetric(r.pace(), r.name+"-s")
		if r.traffic != nil {
			b.ReportMetric(float64(requests[r.name])/float64(r.taken), r.name+"-requests")
			b.ReportMetric(float64(bytes[r.name])/float64(r.taken)/1e6, r.name+"-MB")
		}
	}
	reportPaces(b, competitors)
}

var totalWatches = regexp.MustCompile(`Total watches:(\d+)`)

// countWatches asks the server how many watches are set.
func countWatches(b *testing.B, address string) int {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "wchs")
	answer, err := io.ReadAll(conn)
	if err != nil {
		b.Fatal(err)
	}
	found := totalWatches.FindSubmatch(answer)
	if found == nil {
		b.Fatalf("wchs: %s", answer)
	}
	count, err := strconv.Atoi(string(found[1]))
	if err != nil {
		b.Fatal(err)
	}
	return count
}
