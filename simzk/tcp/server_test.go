package tcp_test

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tcp"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// TestKillAndUp restarts a server: the client reconnects and keeps its session and its nodes.
func TestKillAndUp(t *testing.T) {
	s, address := single(t, simzk.Config{})
	client, events := connect(t, 10*time.Second, address)
	if _, err := client.Create("/e", []byte("data"), zk.FlagEphemeral,
		zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	session := client.SessionID()
	for range 3 {
		if err := s.Kill(0); err != nil {
			t.Fatal(err)
		}
		await(t, events, zk.StateDisconnected)
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Fatal("a killed server accepts connections")
		}
		if state := s.Status().Servers[0]; state.State != tcp.Down || state.Connections != 0 {
			t.Fatalf("status %+v", state)
		}
		if err := s.Up(0, ""); err != nil {
			t.Fatal(err)
		}
		await(t, events, zk.StateHasSession)
		data, stat, err := client.Get("/e")
		if err != nil || string(data) != "data" || stat.EphemeralOwner != session ||
			client.SessionID() != session {
			t.Fatalf("%q %+v %v of session %#x, want %#x", data, stat, err, client.SessionID(),
				session)
		}
	}
}

// TestUpAndKillTwice starts a running server and kills a stopped one.
func TestUpAndKillTwice(t *testing.T) {
	s, _ := single(t, simzk.Config{})
	if err := s.Up(0, ""); err == nil || err.Error() != "server 1 runs already" {
		t.Error(err)
	}
	if err := s.Wipe(0); err == nil || err.Error() != "server 1 runs; kill it first" {
		t.Error(err)
	}
	for range 2 {
		if err := s.Kill(0); err != nil {
			t.Error(err)
		}
	}
	if err := s.Kill(1); err == nil {
		t.Error("Kill accepts a missing server")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Up(0, ""); err == nil {
		t.Error("Up succeeds after Close")
	}
}

// TestExpire expires a connected client's session: the client is notified and gets a new session.
func TestExpire(t *testing.T) {
	s, address := single(t, simzk.Config{})
	client, events := connect(t, 10*time.Second, address)
	other, _ := connect(t, 10*time.Second, address)
	if _, err := client.Create("/e", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	_, _, watch, err := other.GetW("/e")
	if err != nil {
		t.Fatal(err)
	}
	session := client.SessionID()
	if !s.Expire(session) || s.Expire(session) {
		t.Error("Expire does not return true exactly once")
	}
	if e := awaitEvent(t, watch); e.Type != zk.EventNodeDeleted || e.Path != "/e" {
		t.Errorf("event %+v", e)
	}
	await(t, events, zk.StateExpired)
	await(t, events, zk.StateHasSession)
	if client.SessionID() == session {
		t.Error("the session is the same")
	}
}

// TestSilence keeps a client silent until its session expires, which also closes the connection.
func TestSilence(t *testing.T) {
	_, address := single(t, simzk.Config{TickTime: 20 * time.Millisecond})
	watcher, _ := open(t, address, time.Second)
	began := time.Now()
	silent, response := open(t, address, 0)
	if response.TimeoutMillis != 40 {
		t.Errorf("timeout %d", response.TimeoutMillis)
	}
	silent.call(create("/e", nil, wire.Ephemeral))
	watcher.call(wire.Request{Op: wire.OpExists, Path: "/e", Watch: true})
	if rest := silent.awaitEnd(); len(rest) > 0 {
		t.Errorf("the client receives %q", rest)
	}
	if after := time.Since(began); after < 40*time.Millisecond {
		t.Errorf("the session expired after only %v", after)
	}
	if e := watcher.event(); e.Type != wire.EventDeleted || e.Path != "/e" {
		t.Errorf("event %+v", e)
	}
}

func (c *rawClient) event() *wire.Event {
	c.t.Helper()
	event := new(wire.Event)
	if err := wire.DecodeEvent(c.read(), event); err != nil {
		c.t.Fatal(err)
	}
	return event
}

// TestHandshakeTimeout connects without completing a handshake.
func TestHandshakeTimeout(t *testing.T) {
	s := start(t, 1, tcp.Config{Handshake: 20 * time.Millisecond})
	for _, begin := range []string{"", "\x00\x00", "\x00\x00\x00\x2c\x00\x00"} {
		c := dial(t, s.Addresses()[0])
		c.write([]byte(begin))
		if rest := c.awaitEnd(); len(rest) > 0 {
			t.Errorf("after %q the client receives %q", begin, rest)
		}
	}
}

// TestMovedSession resumes a session on a second connection. On the same server the first
// connection is closed; on another server it lives until its client writes.
func TestMovedSession(t *testing.T) {
	s := start(t, 3, tcp.Config{})
	addresses := s.Addresses()
	first, session := open(t, addresses[0], 10*time.Second)
	resume := func(server int) *rawClient {
		c := dial(t, addresses[server])
		frame, at := wire.BeginFrame(nil)
		c.write(wire.EndFrame(wire.AppendConnectRequest(frame, &wire.ConnectRequest{
			TimeoutMillis: 10000,
			SessionID:     session.SessionID, Password: session.Password,
		}), at))
		var response wire.ConnectResponse
		if err := wire.DecodeConnectResponse(c.read(), &response); err != nil ||
			response.SessionID != session.SessionID {
			t.Fatalf("%+v %v", response, err)
		}
		return c
	}
	second := resume(0)
	first.awaitEnd()
	third := resume(1)
	if reply := second.call(wire.Request{Op: wire.OpExists, Path: "/"}); reply.Code != wire.OK {
		t.Errorf("a read through the abandoned connection: %v", reply.Code)
	}
	second.send(create("/a", nil, wire.Persistent))
	if rest := second.awaitEnd(); len(rest) > 0 {
		t.Errorf("the write is answered with %q", rest)
	}
	if reply := third.call(create("/a", nil, wire.Persistent)); reply.Code != wire.OK {
		t.Errorf("a write through the new connection: %v", reply.Code)
	}
}

// TestWatchesAcrossServers changes nodes through one server and watches them through all.
func TestWatchesAcrossServers(t *testing.T) {
	s := start(t, 3, tcp.Config{})
	addresses := s.Addresses()
	clients := make([]*zk.Conn, 3)
	for i, address := range addresses {
		clients[i], _ = connect(t, 10*time.Second, address)
	}
	for round := range 20 {
		path := fmt.Sprintf("/n%d", round)
		var watches []<-chan zk.Event
		for _, client := range clients {
			_, _, watch, err := client.ExistsW(path)
			if err != nil {
				t.Fatal(err)
			}
			watches = append(watches, watch)
		}
		if _, err := clients[round%3].Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		for _, watch := range watches {
			if e := awaitEvent(t, watch); e.Type != zk.EventNodeCreated || e.Path != path {
				t.Fatalf("event %+v", e)
			}
		}
	}
}

// TestQuorum stops servers until none has a majority, and restarts one.
func TestQuorum(t *testing.T) {
	s := start(t, 3, tcp.Config{})
	client, events := connect(t, 20*time.Second, s.Addresses()...)
	if _, err := client.Create("/a", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	session := client.SessionID()
	s.Kill(2) // the leader
	await(t, events, zk.StateDisconnected)
	await(t, events, zk.StateHasSession)
	s.Cut(1)
	await(t, events, zk.StateDisconnected)
	if states := states(s); states != [3]tcp.State{tcp.Looking, tcp.Looking, tcp.Down} {
		t.Errorf("states %v", states)
	}
	c := dial(t, s.Addresses()[0])
	c.write(handshake(time.Second))
	if rest := c.awaitEnd(); len(rest) > 0 {
		t.Errorf("a server without a leader responds %q", rest)
	}
	if err := s.Up(2, ""); err != nil {
		t.Fatal(err)
	}
	await(t, events, zk.StateHasSession)
	if _, _, err := client.Get("/a"); err != nil || client.SessionID() != session {
		t.Errorf("%v of session %#x, want %#x", err, client.SessionID(), session)
	}
	s.Heal(1)
	if states := states(s); states != [3]tcp.State{tcp.Follower, tcp.Follower, tcp.Leader} {
		t.Errorf("states %v", states)
	}
}

func states(s *tcp.Server) (states [3]tcp.State) {
	for i, m := range s.Status().Servers {
		states[i] = m.State
	}
	return states
}

// TestWipe wipes one server, which recovers its data from the others, and then all.
func TestWipe(t *testing.T) {
	s := start(t, 3, tcp.Config{})
	client, events := connect(t, 20*time.Second, s.Addresses()...)
	if _, err := client.Create("/a", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	s.Kill(2)
	s.Wipe(2)
	await(t, events, zk.StateDisconnected)
	s.Up(2, "")
	await(t, events, zk.StateHasSession)
	if _, _, err := client.Get("/a"); err != nil {
		t.Error(err)
	}
	for i := range 3 {
		s.Kill(i)
		s.Wipe(i)
	}
	if status := s.Status(); status.Nodes != 4 || status.Sessions != 0 {
		t.Errorf("status %+v", status)
	}
	for i := range 3 {
		s.Up(i, "")
	}
	// The old client has seen a higher zxid than the servers have now, so none accepts it.
	other, _ := connect(t, 10*time.Second, s.Addresses()...)
	if _, _, err := other.Get("/a"); err != zk.ErrNoNode {
		t.Error(err)
	}
	config, _, err := other.Get("/zookeeper/config")
	if err != nil || len(config) == 0 {
		t.Errorf("configuration %q %v", config, err)
	}
}

// TestWipeOfMajority wipes two of three servers. If the wiped servers elect a leader while the
// third is down, the third loses its data when it joins. If the third takes part in the election,
// it leads and the data survive.
func TestWipeOfMajority(t *testing.T) {
	for _, test := range []struct {
		name  string
		first []int
		want  error
	}{
		{"without the data", []int{0, 1, 2}, zk.ErrNoNode},
		{"with the data", []int{2, 1, 0}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, 3, tcp.Config{})
			client, _ := connect(t, 10*time.Second, s.Addresses()[0])
			if _, err := client.Create("/a", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				s.Kill(i)
			}
			s.Wipe(0)
			s.Wipe(1)
			for _, i := range test.first {
				if err := s.Up(i, ""); err != nil {
					t.Fatal(err)
				}
			}
			other, _ := connect(t, 10*time.Second, s.Addresses()[2])
			if _, _, err := other.Get("/a"); err != test.want {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

// TestConfiguration reads the members' addresses from /zookeeper/config.
func TestConfiguration(t *testing.T) {
	s := start(t, 2, tcp.Config{})
	addresses := s.Addresses()
	c, _ := open(t, addresses[0], time.Second)
	reply := c.call(wire.Request{Op: wire.OpGetData, Path: "/zookeeper/config"})
	want := fmt.Sprintf("server.1=127.0.0.1:2888:3888:participant;%s\n"+
		"server.2=127.0.0.1:2889:3889:participant;%s\nversion=100000000",
		addresses[0], addresses[1])
	if string(reply.Data) != want || reply.Stat.Version != -1 || reply.Stat.Mzxid != 0x100000000 {
		t.Errorf("%q %+v", reply.Data, reply.Stat)
	}
}

// TestManyClients checks that concurrent clients lose no write or event and do not disturb each
// other.
func TestManyClients(t *testing.T) {
	const clients, creates = 40, 25
	s := start(t, 3, tcp.Config{})
	addresses := s.Addresses()
	root, _ := connect(t, 10*time.Second, addresses[0])
	if _, err := root.Create("/all", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range clients {
		client, _ := connect(t, 10*time.Second, addresses[i%3])
		group.Go(func() {
			for n := range creates {
				path, err := client.Create("/all/n", []byte{byte(i)},
					zk.FlagSequence|zk.FlagEphemeral,
					zk.WorldACL(zk.PermAll))
				if err != nil {
					t.Error(err)
					return
				}
				data, _, watch, err := client.GetW(path)
				if err != nil || len(data) != 1 || data[0] != byte(i) {
					t.Errorf("%s holds %v, %v", path, data, err)
					return
				}
				if n%2 == 0 {
					continue
				}
				if err := client.Delete(path, 0); err != nil {
					t.Error(err)
				}
				if e := <-watch; e.Type != zk.EventNodeDeleted {
					t.Errorf("event %+v", e)
				}
			}
		})
	}
	group.Wait()
	children, stat, err := root.Children("/all")
	if err != nil || len(children) != clients*(creates+1)/2 ||
		stat.Cversion != clients*(creates+creates/2) {
		t.Errorf("%d children, %+v, %v", len(children), stat, err)
	}
	if status := s.Status(); status.Sessions != clients+1 {
		t.Errorf("status %+v", status)
	}
}
