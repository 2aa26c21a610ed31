package main

import (
	"net"
	"sync"
)

// A relay is the listener of a launched server whose clients connect to interlock launch, which
// relays what they send: thus a client sees at once when that is killed, as it does with a real
// server.
type relay struct {
	address     net.Addr
	connections chan net.Conn
	closed      chan struct{}
	closing     sync.Once
}

func newRelay(address net.Addr) *relay {
	return &relay{address: address, connections: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (r *relay) Accept() (net.Conn, error) {
	select {
	case conn := <-r.connections:
		return conn, nil
	case <-r.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (r *relay) Close() error {
	r.closing.Do(func() { close(r.closed) })
	return nil
}

// Addr implements net.Listener.
func (r *relay) Addr() net.Addr { return r.address }

// connect hands over a client's connection, and reports whether somebody has accepted it.
func (r *relay) connect(conn net.Conn) bool {
	select {
	case r.connections <- conn:
		return true
	case <-r.closed:
		return false
	}
}

// A relayed is a connection of which the other end is a client of another program.
type relayed struct {
	net.Conn
	client net.Addr
}

// RemoteAddr implements net.Conn.
func (r relayed) RemoteAddr() net.Addr { return r.client }
