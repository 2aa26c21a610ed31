package tcp_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// startCreate creates a node in another goroutine, and returns the channel of its error.
func startCreate(conn *zk.Conn, path string, flags int32) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := conn.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
		done <- err
	}()
	return done
}

// exists reports whether a node exists once the client's server has caught up.
func exists(t *testing.T, conn *zk.Conn, path string) bool {
	t.Helper()
	if _, err := conn.Sync("/"); err != nil {
		t.Fatal(err)
	}
	found, _, err := conn.Exists(path)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestLoseReply loses the reply to a create, which the server has executed.
func TestLoseReply(t *testing.T) {
	s, address := single(t, simzk.Config{})
	client, events := connect(t, 10*time.Second, address)
	if err := s.LoseReply(0); err != nil {
		t.Fatal(err)
	}
	if err := <-startCreate(client, "/n", 0); !errors.Is(err, zk.ErrConnectionClosed) {
		t.Errorf("create: %v, want a lost connection", err)
	}
	await(t, events, zk.StateHasSession)
	if !exists(t, client, "/n") {
		t.Error("the create was not executed")
	}
}

// TestStall holds messages of one direction back. The other member is not affected.
func TestStall(t *testing.T) {
	for _, tc := range []struct {
		name     string
		stall    func(*tcp.Server, int) error
		executed bool
	}{
		{"replies", (*tcp.Server).StallReplies, true},
		{"requests", (*tcp.Server).StallRequests, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := start(t, 3, tcp.Config{})
			client, _ := connect(t, 30*time.Second, s.Addresses()[0])
			other, _ := connect(t, 30*time.Second, s.Addresses()[1])
			if err := tc.stall(s, 0); err != nil {
				t.Fatal(err)
			}
			done := startCreate(client, "/n", 0)
			for tc.executed && !exists(t, other, "/n") {
			}
			if !tc.executed && exists(t, other, "/n") {
				t.Error("the create was executed")
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
		})
	}
}

// TestStallAndKill ends a connection whose messages are held back.
func TestStallAndKill(t *testing.T) {
	s, address := single(t, simzk.Config{})
	client, _ := connect(t, 10*time.Second, address)
	if err := errors.Join(s.StallRequests(0), s.StallReplies(0)); err != nil {
		t.Fatal(err)
	}
	done := startCreate(client, "/n", 0)
	if err := s.Kill(0); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("the create has succeeded")
	}
}

// TestStallAndExpire ends a session whose replies are held back: they never arrive.
func TestStallAndExpire(t *testing.T) {
	s, address := single(t, simzk.Config{})
	client, _ := connect(t, 10*time.Second, address)
	if err := s.StallReplies(0); err != nil {
		t.Fatal(err)
	}
	done := startCreate(client, "/n", zk.FlagEphemeral)
	for !s.ExpireOwner("/n") {
	}
	if err := <-done; err == nil {
		t.Error("the reply was delivered")
	}
}

// TestDelay delays every reply, and keeps their order.
func TestDelay(t *testing.T) {
	const delay = 30 * time.Millisecond
	s, address := single(t, simzk.Config{})
	client, _ := connect(t, 10*time.Second, address)
	if err := s.Delay(0, delay); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, done := range []<-chan error{startCreate(client, "/a", 0), startCreate(client, "/b", 0)} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took < delay {
		t.Errorf("the replies took %v, less than %v", took, delay)
	}
	if err := s.Delay(0, 0); err != nil {
		t.Fatal(err)
	}
	if !exists(t, client, "/a") || !exists(t, client, "/b") {
		t.Error("a node is missing")
	}
	if s.Delay(0, -1) == nil || s.Delay(1, 1) == nil {
		t.Error("a negative delay, or one of a member that does not exist, is accepted")
	}
}

// TestExpireOwner expires the session that owns a node.
func TestExpireOwner(t *testing.T) {
	s, address := single(t, simzk.Config{})
	client, events := connect(t, 10*time.Second, address)
	for path, flags := range map[string]int32{"/owned": zk.FlagEphemeral, "/free": 0} {
		if err := <-startCreate(client, path, flags); err != nil {
			t.Fatal(err)
		}
	}
	if s.ExpireOwner("/free") || s.ExpireOwner("/missing") {
		t.Error("a node without an owner has one")
	}
	if !s.ExpireOwner("/owned") {
		t.Fatal("the node has no owner")
	}
	await(t, events, zk.StateExpired)
	await(t, events, zk.StateHasSession)
	if exists(t, client, "/owned") {
		t.Error("the node is still there")
	}
}
