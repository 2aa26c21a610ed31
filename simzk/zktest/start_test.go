package zktest_test

import (
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk/zktest"
)

// use creates a node at a server by a client of its own.
func use(tb testing.TB, addresses []string) {
	conn, _, err := zk.Connect(addresses, 20*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		tb.Error(err)
		return
	}
	defer conn.Close()
	if _, err := conn.Create("/n", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		tb.Error(err)
	}
}

// A hundred servers run at the same time, each with data of its own.
func TestHundredServers(t *testing.T) {
	var clients sync.WaitGroup
	for range 100 {
		server := zktest.Start(t)
		clients.Go(func() { use(t, server.Addresses()) })
	}
	clients.Wait()
}

// The servers of the benchmark end with it, so it needs a limit such as -benchtime=100x.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		zktest.Start(b)
	}
}
