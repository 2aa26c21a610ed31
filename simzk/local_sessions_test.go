package simzk_test

import (
	"testing"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A mailbox is a socket that keeps the last frame.
type mailbox struct{ frame []byte }

func (m *mailbox) Send(frame []byte) { m.frame = append(m.frame[:0], frame...) }
func (m *mailbox) Close()            {}

// handshake connects to a server, requests a session, and returns the one that the server grants, or
// nil if it does not answer.
func handshake(t *testing.T, c *simzk.Cluster, server int,
	requested wire.ConnectResponse,
) *wire.ConnectResponse {
	t.Helper()
	m := new(mailbox)
	l := c.Accept(server, "127.0.0.1", m)
	request := &wire.ConnectRequest{
		TimeoutMillis: 40000, SessionID: requested.SessionID, Password: requested.Password,
	}
	if request.Password == nil {
		request.Password = make([]byte, 16)
	}
	if err := c.Receive(l, wire.AppendConnectRequest(nil, request)); err != nil {
		t.Fatal(err)
	}
	if _, ok := l.Servable(); !ok {
		return nil
	}
	c.Serve(l)
	c.Deliver(l)
	response := new(wire.ConnectResponse)
	if err := wire.DecodeConnectResponse(m.frame[4:], response); err != nil {
		t.Fatal(err)
	}
	return response
}

// TestLocalSessionsOfDeposedLeader deposes a leader that does not notice yet. It opens and resumes
// local sessions, which no other server knows, until it stops serving.
func TestLocalSessionsOfDeposedLeader(t *testing.T) {
	c := simzk.New(simzk.Config{
		Servers: 3, Lag: true, LocalSessions: simzk.FixedLocalSessions,
	}, nil)
	const deposed = 2
	earlier := handshake(t, c, deposed, wire.ConnectResponse{})
	c.PartitionServer(deposed, true, true)
	for c.Leader(deposed) || !c.HasLeader() {
		at, ok := c.Deadline()
		if !ok {
			t.Fatal("the partition is not noticed")
		}
		c.Advance(at)
	}
	if !c.Serving(deposed) {
		t.Fatal("the old leader has noticed")
	}
	later := handshake(t, c, deposed, wire.ConnectResponse{})
	for _, session := range []*wire.ConnectResponse{earlier, later} {
		if session == nil || session.SessionID == 0 {
			t.Fatalf("session %+v", session)
		}
		if r := handshake(t, c, deposed, *session); r == nil || r.SessionID != session.SessionID {
			t.Errorf("the old leader resumes %+v", r)
		}
		if r := handshake(t, c, 0, *session); r == nil || r.SessionID != 0 {
			t.Errorf("another server resumes %+v", r)
		}
	}
	for c.Serving(deposed) {
		at, _ := c.Deadline()
		c.Advance(at)
	}
	if n := c.Sessions(); n != 0 {
		t.Errorf("%d sessions after the end of their server", n)
	}
}
