package main

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"
)

// A link forwards the connections of one client to the servers.
type link struct {
	mu        sync.Mutex
	changed   *sync.Cond // broadcast when isCut or stalled changes
	isCut     bool
	stalled   [2]bool // requests, replies
	latency   time.Duration
	opening   time.Duration // more latency of the first reply on a connection
	conns     map[net.Conn]bool
	session   sessionIdentity
	listeners []net.Listener
}

// A sessionIdentity is what resumes a session: its id and its password.
type sessionIdentity struct {
	id       int64
	password [16]byte
}

const (
	requests = iota
	replies
)

func newLink() *link {
	l := &link{conns: make(map[net.Conn]bool)}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// listen returns a loopback address that leads to a server until the link is closed.
func (l *link) listen(server string) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	l.listeners = append(l.listeners, listener)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go l.forward(conn, server)
		}
	}()
	return listener.Addr().String(), nil
}

// forward connects to the server and copies both directions until one of them ends.
func (l *link) forward(client net.Conn, address string) {
	defer client.Close()
	if !l.add(client) {
		return
	}
	defer l.remove(client)
	server, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return
	}
	defer server.Close()
	if !l.add(server) {
		return
	}
	defer l.remove(server)
	ended := make(chan struct{}, 2)
	go func() {
		l.copy(server, client, requests)
		ended <- struct{}{}
	}()
	go func() {
		l.copy(client, server, replies)
		ended <- struct{}{}
	}()
	<-ended
}

func (l *link) copy(to io.Writer, from io.Reader, direction int) {
	buffer := make([]byte, 32<<10)
	for first := true; ; first = false {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		answersOpening := first && direction == replies
		time.Sleep(l.delay(answersOpening))
		l.await(direction)
		if answersOpening {
			l.learn(buffer[:n])
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// learn reads a ConnectResponse, the first reply on a connection: length, protocol version and
// timeout, 4 bytes each, then the id of the session, and its password after a length.
func (l *link) learn(frame []byte) {
	if len(frame) < 40 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session.id = int64(binary.BigEndian.Uint64(frame[12:]))
	copy(l.session.password[:], frame[24:])
}

// await blocks while a direction is stalled.
func (l *link) await(direction int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.stalled[direction] && !l.isCut {
		l.changed.Wait()
	}
}

func (l *link) add(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isCut {
		l.conns[conn] = true
	}
	return !l.isCut
}

func (l *link) remove(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
}

// cut ends all connections, and refuses new ones until it is called with false.
func (l *link) cut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut = cut; cut {
		for conn := range l.conns {
			conn.Close()
		}
	}
	l.changed.Broadcast()
}

// stall holds back the bytes of some directions, or forwards them again.
func (l *link) stall(stalled bool, directions ...int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range directions {
		l.stalled[d] = stalled
	}
	l.changed.Broadcast()
}

// slow sets the latency of each direction, and that of the answer to the opening of a connection.
func (l *link) slow(latency, opening time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latency, l.opening = latency, opening
}

// delay returns how long to hold back what was read.
func (l *link) delay(answersOpening bool) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if answersOpening {
		return l.latency + l.opening
	}
	return l.latency
}

// latest returns the identity of the client's latest session.
func (l *link) latest() sessionIdentity {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

func (l *link) close() {
	for _, listener := range l.listeners {
		listener.Close()
	}
	l.cut(true)
}
