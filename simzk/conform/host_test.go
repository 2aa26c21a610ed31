package conform_test

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/conform"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// wantServerError checks that an error is a ServerError of the server at the address.
func wantServerError(t *testing.T, err error, address string) {
	t.Helper()
	var server *conform.ServerError
	if !errors.As(err, &server) || server.Address != address {
		t.Errorf("error %v, want a ServerError of %s", err, address)
	}
}

// TestServerEnds stops a server during the facts and during random operations. That is not a
// difference.
func TestServerEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(address string, stop func()) error
	}{
		{"facts", func(address string, stop func()) error {
			return conform.Facts(t.Context(), address, func(fact string) {
				if fact == "## multi" {
					stop()
				}
			})
		}},
		{"facts, at the end", func(address string, stop func()) error {
			return conform.Facts(t.Context(), address, func(fact string) {
				if fact == "then -> 0" {
					stop()
				}
			})
		}},
		{"operations", func(address string, stop func()) error {
			o := options(address, startSimulation(t, simzk.V38))
			var frames atomic.Int32
			o.Address = startProxy(t, address, func() mutator {
				return mutator{frame: func(frame []byte, _ bool) [][]byte {
					if frames.Add(1) == 1000 {
						stop()
					}
					return [][]byte{frame}
				}}
			})
			difference, _, err := conform.Differ(t.Context(), o)
			if difference != nil {
				t.Error(difference)
			}
			var server *conform.ServerError
			if errors.As(err, &server) && server.Address == o.Address {
				server.Address = address // The proxy stops responding with its server.
			}
			return err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, err := tcp.Start(tcp.Config{Cluster: simzk.Config{
				ExtendedTypes: true,
				SuperDigest:   "super:D/InIHSb7yEEbrWz8b9l71RjZJU=",
			}}, "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := server.Addresses()[0]
			wantServerError(t, test.run(address, sync.OnceFunc(func() { server.Close() })), address)
		})
	}
}

// TestSilentServer uses a server that never responds and one that stops responding during random
// operations.
func TestSilentServer(t *testing.T) {
	defer conform.SetResponseTimeout(400 * time.Millisecond)()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // The kernel accepts connections.
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	silent := listener.Addr().String()
	wantServerError(t, conform.Facts(t.Context(), silent,
		func(fact string) { t.Error("fact of a silent server:", fact) }), silent)
	_, _, err = conform.Differ(t.Context(), options(startSimulation(t, simzk.V38), silent))
	wantServerError(t, err, silent)

	var frames atomic.Int32
	stopping := startProxy(t, startSimulation(t, simzk.V38), func() mutator {
		return mutator{frame: func(frame []byte, _ bool) [][]byte {
			if frames.Add(1) > 300 {
				return nil
			}
			return [][]byte{frame}
		}, first: func() bool { return frames.Load() <= 300 }}
	})
	difference, _, err := conform.Differ(t.Context(),
		options(stopping, startSimulation(t, simzk.V38)))
	if difference != nil {
		t.Error(difference)
	}
	wantServerError(t, err, stopping)
	frames.Store(0)
	wantServerError(t, conform.Facts(t.Context(), stopping, func(string) {}), stopping)
}
