// Package zktest gives a Go test a simulated ZooKeeper, for any client and without a JVM:
//
//	server := zktest.Start(t)
//	conn, _, err := zk.Connect(server.Addresses(), 10*time.Second)
//	// …
//	server.LoseReply(0) // the next request is executed, and its reply is lost
//	server.StallRequests(0) // sessions time out
//	server.Resume(0)
//
// The methods of [tcp.Server] inject further failures. They count servers from 0.
package zktest

import (
	"testing"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// Start starts a server on a free loopback port. It ends with the test, which fails if the server
// does not start.
func Start(tb testing.TB) *tcp.Server {
	tb.Helper()
	return StartEnsemble(tb, 1)
}

// StartEnsemble starts an ensemble with that number of servers, which ends as that of [Start] does.
func StartEnsemble(tb testing.TB, servers int) *tcp.Server {
	tb.Helper()
	addresses := make([]string, servers)
	for i := range addresses {
		addresses[i] = "127.0.0.1:0"
	}
	config := tcp.Config{Cluster: simzk.Config{Lag: true}}
	server, err := tcp.Start(config, addresses...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := server.Close(); err != nil {
			tb.Error(err)
		}
	})
	return server
}
