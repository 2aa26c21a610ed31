package costs_test

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk/conform"
)

// operationsTimed is how many reads and writes the benchmark times on each ensemble.
const operationsTimed = 1000

// What [TestReadsAndWrites] says, by the counters of real servers: the proposals and commits that
// followers receive. Servers do not count the acknowledgements.
func BenchmarkZooKeeper(b *testing.B) {
	for _, servers := range ensembles {
		b.Run(fmt.Sprintf("%d-servers", servers), func(b *testing.B) {
			addresses, stop, err := conform.StartRealEnsemble(b.Context(), b.TempDir(), servers)
			if err != nil {
				b.Fatal(err)
			}
			defer stop()
			conn, _, err := zk.Connect(addresses[:1], 10*time.Second, zk.WithLogInfo(false))
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Create("/n", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
				b.Fatal(err)
			}
			report(b, "read", addresses, func() error {
				_, _, err := conn.Get("/n")
				return err
			})
			report(b, "write", addresses, func() error {
				_, err := conn.Set("/n", nil, -1)
				return err
			})
		})
	}
}

// report performs an operation many times and reports what the followers received for one.
func report(b *testing.B, name string, addresses []string, operate func() error) {
	b.Helper()
	before := received(b, addresses)
	start := time.Now()
	for range operationsTimed {
		if err := operate(); err != nil {
			b.Fatal(err)
		}
	}
	elapsed := time.Since(start)
	b.ReportMetric(float64(received(b, addresses)-before)/operationsTimed, "messages/"+name)
	b.ReportMetric(float64(elapsed.Microseconds())/operationsTimed, "µs/"+name)
}

// received returns how many proposals and commits all servers have received from leaders.
func received(b *testing.B, addresses []string) (messages int) {
	b.Helper()
	for _, address := range addresses {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		defer connection.Close()
		if _, err := io.WriteString(connection, "mntr"); err != nil {
			b.Fatal(err)
		}
		metrics, err := io.ReadAll(connection)
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(string(metrics)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
			switch name {
			case "zk_learner_proposal_received_count", "zk_learner_commit_received_count":
				n, err := strconv.Atoi(value)
				if err != nil {
					b.Fatal(err)
				}
				messages += n
			}
		}
	}
	return messages
}
