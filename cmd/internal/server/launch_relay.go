package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// A launcher relays the connections of clients to the program that runs their server.
type launcher struct {
	listener net.Listener
	token    string // the name of the server in that program
}

// serve accepts clients until the context ends.
func (l *launcher) serve(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { l.listener.Close() })
	defer stop()
	for {
		conn, err := l.listener.Accept()
		switch {
		case err == nil:
			go l.relay(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(acceptRetryDelay)
		}
	}
}

// relay copies data between a client and its server, until the server closes the connection.
func (l *launcher) relay(client net.Conn) {
	defer client.Close()
	server, err := dialControl("")
	if err != nil {
		return
	}
	defer server.Close()
	// The answer is one line. The server sends nothing else before the client does, so the scanner
	// buffers nothing of its traffic.
	if _, err := sendCommand(server, bufio.NewScanner(server), fmt.Sprintf("connect %s %s", l.token,
		client.RemoteAddr())); err != nil {
		return
	}
	go func() {
		io.Copy(server, client)
		server.(*net.UnixConn).CloseWrite()
	}()
	io.Copy(client, server)
	// Closing alone resets the connection if the client has sent bytes that were not read.
	client.(*net.TCPConn).CloseWrite()
}
