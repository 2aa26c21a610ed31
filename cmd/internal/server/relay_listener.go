package server

import (
	"net"
	"sync"
)

// A relayListener is the listener of a launched server whose clients connect to interlock launch,
// which relays their traffic. If launch is killed, a client sees its connection break at once, as
// with a real server.
type relayListener struct {
	address     net.Addr
	connections chan net.Conn
	closed      chan struct{}
	closing     sync.Once
}

func newRelayListener(address net.Addr) *relayListener {
	return &relayListener{
		address: address, connections: make(chan net.Conn), closed: make(chan struct{}),
	}
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

// connect offers a client connection to Accept, and reports whether it was accepted.
func (r *relayListener) connect(conn net.Conn) bool {
	select {
	case r.connections <- conn:
		return true
	case <-r.closed:
		return false
	}
}

// A relayedConn is a connection to launch whose remote address is that of the client.
type relayedConn struct {
	net.Conn
	client net.Addr
}

// CloseWrite shuts down the writing side.
func (r relayedConn) CloseWrite() error { return r.Conn.(*net.UnixConn).CloseWrite() }

// RemoteAddr implements net.Conn.
func (r relayedConn) RemoteAddr() net.Addr { return r.client }
