package simzk_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A client sends the same request twice a second, and nothing else. A session of 4 s lives on by
// every request except auth and sasl. A ZooKeeper 3.8 that got only auth ended it after 6.2 s.
func TestRequestsThatKeepTheSession(t *testing.T) {
	for _, tc := range []struct {
		name    string
		request wire.Request
		lives   bool
	}{
		{"ping", wire.Request{Op: wire.OpPing}, true},
		{"exists", wire.Request{Op: wire.OpExists, Path: "/"}, true},
		{"auth", wire.Request{Op: wire.OpAuth, Scheme: "digest", Data: []byte("a:b")}, false},
		{"sasl", wire.Request{Op: wire.OpSASL, Data: []byte("x")}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := new(history.Log)
			cluster := simzk.New(simzk.Config{}, log)
			link := cluster.Accept(0, "127.0.0.1", discardSocket{})
			exchange := func(frame []byte) {
				if err := cluster.Receive(link, frame); err != nil {
					t.Fatal(err)
				}
				cluster.Serve(link)
				cluster.Deliver(link)
			}
			exchange(wire.AppendConnectRequest(nil, &wire.ConnectRequest{
				TimeoutMillis: 4000, Password: make([]byte, 16),
			}))
			expired := time.Duration(0)
			for now := time.Duration(0); now < 20*time.Second; now += 500 * time.Millisecond {
				cluster.Advance(now)
				if expired = expiry(log); expired > 0 {
					break
				}
				exchange(operation.AppendRequest(nil, &tc.request))
			}
			if tc.lives != (expired == 0) {
				t.Errorf("the session expired at %v, want that it lives: %v", expired, tc.lives)
			}
			if !tc.lives && expired != 6*time.Second {
				t.Errorf("the session expired at %v, want 6s", expired)
			}
		})
	}
}

// A request keeps a local session alive although its server is cut off from the leader. The client
// sends no pings.
func TestRequestKeepsLocalSession(t *testing.T) {
	cluster := simzk.New(simzk.Config{
		Servers: 3, Lag: true, LocalSessions: simzk.FixedLocalSessions,
	}, nil)
	link := cluster.Accept(0, "127.0.0.1", discardSocket{})
	send := func(frame []byte) {
		if err := cluster.Receive(link, frame); err != nil {
			t.Fatal(err)
		}
		cluster.Serve(link)
	}
	send(wire.AppendConnectRequest(nil, &wire.ConnectRequest{
		TimeoutMillis: 4000, Password: make([]byte, 16),
	}))
	cluster.PartitionServer(0, true, true)
	const last = 9 * time.Second // The server gives up after 10 s.
	for now := time.Duration(0); now <= last; now += time.Second {
		cluster.Advance(now)
		if cluster.Sessions() != 1 {
			t.Fatalf("the session has ended at %v", now)
		}
		send(operation.AppendRequest(nil, &wire.Request{Op: wire.OpExists, Path: "/"}))
	}
	if got, want := cluster.SessionList()[0].Expires, last+5*time.Second; got != want {
		t.Errorf("the session ends at %v, want %v", got, want)
	}
}

// expiry returns when a session has expired, or 0.
func expiry(log *history.Log) time.Duration {
	for _, e := range log.Events() {
		if e.Kind == history.SessionExpired {
			return e.At
		}
	}
	return 0
}
