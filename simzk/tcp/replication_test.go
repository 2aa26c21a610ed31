package tcp_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tcp"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// replicated starts an ensemble of three members with data of their own. The last one leads.
func replicated(t *testing.T, tick time.Duration) *tcp.Server {
	t.Helper()
	return start(t, 3, tcp.Config{Cluster: simzk.Config{Lag: true, TickTime: tick}})
}

// awaitState waits until a member has a state.
func awaitState(t *testing.T, s *tcp.Server, member int, want ...tcp.State) {
	t.Helper()
	deadline := time.Now().Add(testTimeout)
	for !slices.Contains(want, s.Status().Servers[member].State) {
		if time.Now().After(deadline) {
			t.Fatalf("member %d does not become %v: %+v", member, want, s.Status())
		}
		time.Sleep(time.Millisecond)
	}
}

// TestLag lets a follower answer reads with old data until it has applied a write.
func TestLag(t *testing.T) {
	s := replicated(t, 0)
	stale, _ := connect(t, 30*time.Second, s.Addresses()[0])
	current, _ := connect(t, 30*time.Second, s.Addresses()[1])
	if err := s.Lag(0, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := <-startCreate(current, "/n", 0); err != nil {
		t.Fatal(err)
	}
	if !exists(t, current, "/n") {
		t.Error("a follower without lag does not show the node")
	}
	if found, _, err := stale.Exists("/n"); err != nil || found {
		t.Errorf("the follower with lag shows the node: %v", err)
	}
	if status := s.Status(); !slices.Equal(status.Servers[0].Faults, []string{"lag 1h0m0s"}) ||
		status.Servers[0].Zxid == status.Servers[1].Zxid {
		t.Errorf("%+v", status)
	}
	if err := s.Lag(0, 0); err != nil {
		t.Fatal(err)
	}
	if found, _, err := stale.Exists("/n"); err != nil || !found {
		t.Errorf("the follower does not show the node: %v", err)
	}
	if s.Lag(0, -1) == nil {
		t.Error("a negative lag is accepted")
	}
}

// TestLagPasses lets a follower apply a write once its lag is over.
func TestLagPasses(t *testing.T) {
	s := replicated(t, 0)
	client, _ := connect(t, 30*time.Second, s.Addresses()[0])
	if err := s.Lag(0, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := <-startCreate(client, "/n", 0); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 20*time.Millisecond {
		t.Errorf("the reply came after %v, before the follower applied the write", took)
	}
}

// TestPauseLeader pauses the leader. The others elect another one. When the paused member continues,
// it answers the reads that have waited from its old state, and then finds that it was deposed.
func TestPauseLeader(t *testing.T) {
	s := replicated(t, 50*time.Millisecond)
	client, events := connect(t, 10*time.Second, s.Addresses()[2])
	reader, _ := connect(t, 10*time.Second, s.Addresses()[2])
	awaitState(t, s, 2, tcp.Leader)
	if err := s.Pause(2); err != nil {
		t.Fatal(err)
	}
	read := make(chan bool, 1)
	go func() {
		found, _, err := reader.Exists("/other")
		read <- found || err != nil
	}()
	done := startCreate(client, "/n", 0)
	awaitState(t, s, 1, tcp.Leader)
	other, _ := connect(t, time.Second, s.Addresses()[1])
	if exists(t, other, "/n") {
		t.Error("the paused leader has executed a request")
	}
	if err := <-startCreate(other, "/other", 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Resume(2); err != nil {
		t.Fatal(err)
	}
	if <-read {
		t.Error("the member that continues does not answer from its old state")
	}
	if err := <-done; err == nil {
		t.Error("a deposed leader has executed a write")
	}
	awaitState(t, s, 2, tcp.Follower)
	await(t, events, zk.StateHasSession)
}

// TestPauseStandalone pauses the only member: nobody gets an answer, a four-letter word included.
func TestPauseStandalone(t *testing.T) {
	s, address := single(t, simzk.Config{})
	client, _ := connect(t, 30*time.Second, address)
	if err := s.Pause(0); err != nil {
		t.Fatal(err)
	}
	done := startCreate(client, "/n", 0)
	word := dial(t, address)
	word.write([]byte("ruok"))
	word.conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := word.conn.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("a paused server answers")
	}
	select {
	case err := <-done:
		t.Errorf("the create has returned: %v", err)
	default:
	}
	if err := s.Resume(0); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestPauseAndExpire expires a session while its member is paused. The client learns of it when the
// member continues.
func TestPauseAndExpire(t *testing.T) {
	s, address := single(t, simzk.Config{})
	client, session := open(t, address, 30*time.Second)
	if err := s.Pause(0); err != nil {
		t.Fatal(err)
	}
	if !s.Expire(session.SessionID) {
		t.Fatal("no session")
	}
	client.conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := client.conn.Read(make([]byte, 1)); err == nil {
		t.Error("a paused server sends something")
	} else if timeout, ok := err.(interface{ Timeout() bool }); !ok || !timeout.Timeout() {
		t.Errorf("a paused server has closed a connection: %v", err)
	}
	client.conn.SetReadDeadline(time.Now().Add(testTimeout))
	if err := s.Resume(0); err != nil {
		t.Fatal(err)
	}
	client.awaitEnd()
}

// TestPauseAndClose ends members that are paused.
func TestPauseAndClose(t *testing.T) {
	s := replicated(t, 0)
	var clients []*rawClient
	for _, address := range s.Addresses() {
		client, _ := open(t, address, 30*time.Second)
		clients = append(clients, client)
	}
	for i, client := range clients {
		if err := s.Pause(i); err != nil {
			t.Fatal(err)
		}
		client.send(create("/n", nil, 0))
	}
	if err := s.Kill(0); err != nil {
		t.Fatal(err)
	}
	if s.Pause(0) == nil {
		t.Error("a member that does not run can be paused")
	}
	clients[0].awaitEnd()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clients[1].awaitEnd()
}

// TestCutLink keeps a follower from the leader. It gives up, and follows again when the link is
// healed.
func TestCutLink(t *testing.T) {
	s := replicated(t, 20*time.Millisecond)
	awaitState(t, s, 2, tcp.Leader)
	awaitState(t, s, 0, tcp.Follower)
	if err := s.CutLink(0, 2); err != nil {
		t.Fatal(err)
	}
	if faults := s.Status().Servers[0].Faults; !slices.Equal(faults, []string{"cut to 3"}) {
		t.Errorf("faults %q", faults)
	}
	awaitState(t, s, 0, tcp.Looking)
	if state := s.Status().Servers[1].State; state != tcp.Follower {
		t.Errorf("another follower is %s", state)
	}
	if err := s.HealLink(0, 2); err != nil {
		t.Fatal(err)
	}
	awaitState(t, s, 0, tcp.Follower)
	if s.CutLink(0, 0) == nil || s.CutLink(0, 3) == nil || s.CutLink(3, 0) == nil {
		t.Error("a link that does not exist can be cut")
	}
}

// TestFaultsOfReplicas rejects faults that need members with data of their own.
func TestFaultsOfReplicas(t *testing.T) {
	s := start(t, 3, tcp.Config{})
	if s.Lag(0, time.Second) == nil || s.Pause(0) == nil || s.CutLink(0, 1) == nil {
		t.Error("a member without data of its own can lag, be paused or lose a link")
	}
}

// TestClockRate makes the leader's clock run fast, so that a session ends early.
func TestClockRate(t *testing.T) {
	s, address := single(t, simzk.Config{})
	expires := func() time.Duration { return s.Sessions()[0].Expires }
	client, _ := open(t, address, 4*time.Second)
	before := expires()
	if err := s.SetClockRate(0, 1000); err != nil {
		t.Fatal(err)
	}
	if after := expires(); after >= before {
		t.Errorf("the session expires at %v, not before %v", after, before)
	}
	client.awaitEnd()
	if s.SetClockRate(0, 0) == nil || s.SetClockRate(1, 100) == nil {
		t.Error("a clock that stands still, or one of a member that does not exist, is accepted")
	}
}

// TestRequests reports each request with its result.
func TestRequests(t *testing.T) {
	var mu sync.Mutex
	var reported []tcp.Request
	s := start(t, 1, tcp.Config{Requests: func(r tcp.Request) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, r)
	}})
	client, session := open(t, s.Addresses()[0], 30*time.Second)
	client.call(create("/n", nil, 0))
	client.call(create("/n", nil, 0))
	client.send(wire.Request{Op: wire.OpPing})
	client.reply(wire.OpPing)
	if err := s.LoseReply(0); err != nil {
		t.Fatal(err)
	}
	client.send(create("/m", nil, 0))
	client.awaitEnd()
	mu.Lock()
	defer mu.Unlock()
	want := []tcp.Request{
		{Request: "connect"},
		{Request: "create /n", Zxid: 2},
		{Request: "create /n", Result: "node exists", Zxid: 3},
		{Request: "create /m", Result: tcp.NoReply},
	}
	if len(reported) != len(want) {
		t.Fatalf("%+v", reported)
	}
	for i, r := range reported {
		want[i].Server, want[i].Session = 1, session.SessionID
		want[i].At, want[i].Took = r.At, r.Took
		if r != want[i] || r.At.IsZero() || r.Took < 0 {
			t.Errorf("%+v, want %+v", r, want[i])
		}
	}
}
