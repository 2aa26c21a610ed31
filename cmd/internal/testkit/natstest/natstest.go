// Package natstest runs NATS servers with JetStream inside tests.
package natstest

import (
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A Server is a NATS server on a port of the loopback interface. It stores its streams on disk.
type Server struct {
	options server.Options
	running *server.Server
}

// Start starts a server that ends with the test.
func Start(t *testing.T) *Server {
	t.Helper()
	s := &Server{options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		NoSigs: true, NoLog: true,
	}}
	s.start(t)
	t.Cleanup(s.Stop)
	return s
}

func (s *Server) start(t *testing.T) {
	t.Helper()
	options := s.options
	running, err := server.NewServer(&options)
	if err != nil {
		t.Fatal(err)
	}
	running.Start()
	if s.running = running; !running.ReadyForConnections(readyWithin) {
		t.Fatal(errors.New("the NATS server does not start"))
	}
	s.options.Port = running.Addr().(*net.TCPAddr).Port
}

// readyWithin bounds the start of a server. Only a failing test waits that long.
const readyWithin = 30 * time.Second

// URL returns the address for clients. It stays the same when the server is restarted.
func (s *Server) URL() string {
	return "nats://" + net.JoinHostPort(s.options.Host, strconv.Itoa(s.options.Port))
}

// Stop stops the server.
func (s *Server) Stop() {
	s.running.Shutdown()
	s.running.WaitForShutdown()
}

// Restart stops the server and starts another on the same port, with the same streams.
func (s *Server) Restart(t *testing.T) {
	t.Helper()
	s.Stop()
	s.start(t)
}
