package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// A launcher relays the connections of a server's clients to the program that runs the server.
type launcher struct {
	listener net.Listener
	token    string // by which that program knows the server
}

// serve relays until the context ends.
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

// relay passes on what a client and its server send each other, until the server ends the
// connection.
func (l *launcher) relay(client net.Conn) {
	defer client.Close()
	server, err := dialControl("")
	if err != nil {
		return
	}
	defer server.Close()
	// The answer is a line, and nothing follows it before the client has sent something.
	if _, err := sendCommand(server, bufio.NewScanner(server), fmt.Sprintf("connect %s %s", l.token,
		client.RemoteAddr())); err != nil {
		return
	}
	go func() {
		io.Copy(server, client)
		server.(*net.UnixConn).CloseWrite()
	}()
	io.Copy(client, server)
}
