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

// lost checks that an error says that a server is lost.
func lost(t *testing.T, err error, address string) {
	t.Helper()
	var server *conform.ServerError
	if !errors.As(err, &server) || server.Address != address {
		t.Errorf("error %v, want that %s is lost", err, address)
	}
}

// TestServerEnds lets a server end amid the facts, and amid random operations, which is no
// difference.
func TestServerEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(address string, end func()) error
	}{
		{"facts", func(address string, end func()) error {
			return conform.Facts(t.Context(), address, func(fact string) {
				if fact == "## multi" {
					end()
				}
			})
		}},
		{"facts, at the end", func(address string, end func()) error {
			return conform.Facts(t.Context(), address, func(fact string) {
				if fact == "then -> 0" {
					end()
				}
			})
		}},
		{"operations", func(address string, end func()) error {
			o := options(address, startSimulation(t, simzk.V38))
			var frames atomic.Int32
			o.Address = startProxy(t, address, func() saboteur {
				return saboteur{frame: func(frame []byte, _ bool) [][]byte {
					if frames.Add(1) == 1000 {
						end()
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
				server.Address = address // The proxy answers no more than the server behind it.
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
			lost(t, test.run(address, sync.OnceFunc(func() { server.Close() })), address)
		})
	}
}

// TestSilentServer lets a server fall silent: at once, and amid random operations.
func TestSilentServer(t *testing.T) {
	defer conform.SetPatience(400 * time.Millisecond)()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // It accepts, as far as the kernel goes.
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	silent := listener.Addr().String()
	lost(t, conform.Facts(t.Context(), silent,
		func(fact string) { t.Error("a fact of a silent server:", fact) }), silent)
	_, _, err = conform.Differ(t.Context(), options(startSimulation(t, simzk.V38), silent))
	lost(t, err, silent)

	var frames atomic.Int32
	falling := startProxy(t, startSimulation(t, simzk.V38), func() saboteur {
		return saboteur{frame: func(frame []byte, _ bool) [][]byte {
			if frames.Add(1) > 300 {
				return nil
			}
			return [][]byte{frame}
		}, first: func() bool { return frames.Load() <= 300 }}
	})
	difference, _, err := conform.Differ(t.Context(),
		options(falling, startSimulation(t, simzk.V38)))
	if difference != nil {
		t.Error(difference)
	}
	lost(t, err, falling)
	frames.Store(0)
	lost(t, conform.Facts(t.Context(), falling, func(string) {}), falling)
}
