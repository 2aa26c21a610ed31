package main

import (
	"net"
	"sync"
)

// A relayListener is the listener of a launched server whose clients connect to interlock launch, which
// relays what they send: thus a client sees at once when that is killed, as it does with a real
// server.
type relayListener struct {
	address     net.Addr
	connections chan net.Conn
	closed      chan struct{}
	closing     sync.Once
}

func newRelayListener(address net.Addr) *relayListener {
	return &relayListener{address: address, connections: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (r *relayListener) Accept() (net.Conn, error) {
	select {
	case conn := <-r.connections:
		return conn, nil
	case <-r.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (r *relayListener) Close() error {
	r.closing.Do(func() { close(r.closed) })
	return nil
}

// Addr implements net.Listener.
func (r *relayListener) Addr() net.Addr { return r.address }

// connect hands over a client's connection, and reports whether somebody has accepted it.
func (r *relayListener) connect(conn net.Conn) bool {
	select {
	case r.connections <- conn:
		return true
	case <-r.closed:
		return false
	}
}

// A relayedConn is a connection of which the other end is a client of another program.
type relayedConn struct {
	net.Conn
	client net.Addr
}

// RemoteAddr implements net.Conn.
func (r relayedConn) RemoteAddr() net.Addr { return r.client }
