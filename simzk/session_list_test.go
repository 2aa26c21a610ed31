package simzk_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A door is a socket that keeps the last frame and notes that it was closed.
type door struct {
	mailbox
	closed bool
}

func (d *door) Close() { d.closed = true }

// enter connects to a server, requests a session, and returns the connection, also if the server
// closes it.
func enter(t *testing.T, c *simzk.Cluster, server int, session int64, password []byte) (*door,
	*simzk.Link,
) {
	t.Helper()
	d := new(door)
	l := c.Accept(server, "127.0.0.1", d)
	if err := c.Receive(l, wire.AppendConnectRequest(nil, &wire.ConnectRequest{
		TimeoutMillis: 4000, SessionID: session, Password: password,
	})); err != nil {
		t.Fatal(err)
	}
	c.Serve(l)
	replicate(c)
	c.Deliver(l)
	return d, l
}

// replicate makes every server apply everything.
func replicate(c *simzk.Cluster) {
	for server := range c.Servers() {
		for _, ok := c.Loggable(server); ok; _, ok = c.Loggable(server) {
			c.Log(server)
		}
	}
	for server := range c.Servers() {
		for _, ok := c.Applicable(server); ok; _, ok = c.Applicable(server) {
			c.Apply(server)
		}
	}
}

// A handshake for a session closes the connection that carries the session at the same server, even
// if the password is wrong, and none at another server.
func TestHandshakeClosesTheEarlierConnection(t *testing.T) {
	for _, tc := range []struct {
		name          string
		server        int
		wrongPassword bool
		closes        bool
	}{
		{"same server", 0, false, true},
		{"same server, wrong password", 0, true, true},
		{"another server", 1, false, false},
		{"another server, wrong password", 1, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := simzk.New(simzk.Config{Servers: 3}, nil)
			earlier, _ := enter(t, c, 0, 0, make([]byte, 16))
			var granted wire.ConnectResponse
			if err := wire.DecodeConnectResponse(earlier.frame[4:], &granted); err != nil {
				t.Fatal(err)
			}
			if tc.wrongPassword {
				granted.Password = make([]byte, 16)
			}
			enter(t, c, tc.server, granted.SessionID, granted.Password)
			if earlier.closed != tc.closes {
				t.Errorf("the earlier connection is closed: %v, want %v", earlier.closed,
					tc.closes)
			}
		})
	}
}

// Each session has a password of its own, without which it is not resumed.
func TestPasswordOfASession(t *testing.T) {
	c := simzk.New(simzk.Config{}, nil)
	first := handshake(t, c, 0, wire.ConnectResponse{})
	second := handshake(t, c, 0, wire.ConnectResponse{})
	for _, tc := range []struct {
		password []byte
		resumes  bool
	}{
		{first.Password, true}, {second.Password, false}, {make([]byte, 16), false},
	} {
		got := handshake(t, c, 0, wire.ConnectResponse{
			SessionID: first.SessionID, Password: tc.password,
		})
		if resumes := got.SessionID == first.SessionID; resumes != tc.resumes {
			t.Errorf("password %x resumes the session: %v, want %v", tc.password, resumes,
				tc.resumes)
		}
	}
}

// The leader rejects a write on a connection from which the session has moved, as a transaction,
// and the server closes the connection without a reply.
func TestWriteOfAMovedSession(t *testing.T) {
	c := simzk.New(simzk.Config{Servers: 3}, nil)
	earlier, link := enter(t, c, 0, 0, make([]byte, 16))
	var granted wire.ConnectResponse
	if err := wire.DecodeConnectResponse(earlier.frame[4:], &granted); err != nil {
		t.Fatal(err)
	}
	enter(t, c, 1, granted.SessionID, granted.Password)
	before := c.Zxid()
	if err := c.Receive(link, operation.AppendRequest(nil, &wire.Request{
		Op: wire.OpSetData, Path: "/", Version: -1,
	})); err != nil {
		t.Fatal(err)
	}
	c.Serve(link)
	if _, replies := link.Deliverable(); replies || !earlier.closed {
		t.Errorf("there is a reply: %v, the connection is closed: %v", replies, earlier.closed)
	}
	stat, _ := c.Tree().Stat("/")
	if c.Zxid() != before+1 || stat.Version != 0 {
		t.Errorf("zxid %d after %d, version %d", c.Zxid(), before, stat.Version)
	}
}

// The list of sessions says where each has its connection, if it has one.
func TestSessionList(t *testing.T) {
	for _, local := range []bool{false, true} {
		config, home := simzk.Config{Servers: 3}, -1
		if local {
			config.LocalSessions, home = simzk.FixedLocalSessions, 1
		}
		c := simzk.New(config, nil)
		_, link := enter(t, c, 1, 0, make([]byte, 16))
		want := simzk.SessionInfo{
			ID: c.SessionList()[0].ID, Timeout: 4 * time.Second, Expires: 6 * time.Second,
			Server: 1, Home: home,
		}
		if got := c.SessionList(); len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		c.Leave(link)
		want.Server = -1
		if got := c.SessionList(); len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(want) {
			t.Errorf("without a connection: %+v, want %+v", got, want)
		}
	}
}

// Only a leader can end a session that its client believes to have.
func TestCanCloseSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newEnsembleHarness(t, 3)
		defer s.tearDown()
		conn := s.join()
		for killed, want := range []bool{true, true, false} {
			if killed > 0 {
				s.cluster.KillServer(killed)
			}
			if got := conn.CanCloseSession(); got != want {
				t.Errorf("without %d servers the session can be closed: %v, want %v", killed, got,
					want)
			}
		}
	})
}
