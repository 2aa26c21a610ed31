package zookeeper_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/zookeeper"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// A faultyClient is a client that a fault strikes after it has sent a request for a node.
type faultyClient struct {
	cluster  *simzk.Cluster
	conn     *model.Conn
	began    time.Time
	err      error
	returned bool
}

// withClient runs a test with a client whose request for the ephemeral node /n has reached the
// server, in a bubble.
func withClient(t *testing.T, test func(t *testing.T, s *faultyClient)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster := simzk.New(simzk.Config{Settle: synctest.Wait}, new(history.Log))
		s := &faultyClient{cluster: cluster, conn: model.Connect(cluster), began: time.Now()}
		defer s.conn.TearDown()
		go func() {
			_, s.err = s.conn.Create("/n", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			s.returned = true
		}()
		s.collect()
		test(t, s)
		synctest.Wait()
	})
}

func (s *faultyClient) collect() {
	synctest.Wait()
	s.cluster.Collect()
}

// flow serves and delivers messages until none is in flight.
func (s *faultyClient) flow() {
	for s.collect(); s.conn.Unserved()+s.conn.Undelivered() > 0; s.collect() {
		if s.conn.Unserved() > 0 {
			s.cluster.Serve(s.conn.Link)
		} else {
			s.cluster.Deliver(s.conn.Link)
		}
	}
}

// pass lets time pass, and lets messages flow at every deadline on the way.
func (s *faultyClient) pass(duration time.Duration) { s.advance(duration, s.flow) }

// advance lets time pass, and calls a function at every deadline on the way.
func (s *faultyClient) advance(duration time.Duration, at func()) {
	for end := s.cluster.Now() + duration; s.cluster.Now() < end; at() {
		next := end
		if deadline, ok := s.cluster.Deadline(); ok {
			next = min(next, deadline)
		}
		time.Sleep(next - s.cluster.Now()) // Virtual time: the client is in a bubble.
		synctest.Wait()
		s.cluster.Advance(time.Since(s.began))
	}
}

// exists reports whether the node exists.
func (s *faultyClient) exists() bool {
	_, ok := s.cluster.Tree().Stat("/n")
	return ok
}

// kinds are the faults of clients whose conditions these tests know.
var kinds = []faults.Kind{
	faults.Cut, faults.LoseReply, faults.Expire, faults.Crash, faults.Cancel, faults.Reset,
	faults.StallRequests, faults.StallReplies, faults.Pause, faults.SlowClient, faults.FastClient,
	faults.Restart, faults.DelayRewatch, faults.CloseSession,
}

// possible returns the names of those of the kinds that can strike the client now.
func (s *faultyClient) possible() string {
	var names []string
	for _, k := range kinds {
		if zookeeper.AtClient(nil, s.conn.Link).Possible(k) {
			names = append(names, k.String())
		}
	}
	return strings.Join(names, " ")
}

func (s *faultyClient) wantPossible(t *testing.T, want string) {
	t.Helper()
	if got := s.possible(); got != want {
		t.Errorf("possible are %q, want %q", got, want)
	}
}

// A reply can be lost only while a request is in flight.
func TestPossibleAtRest(t *testing.T) {
	withClient(t, func(t *testing.T, s *faultyClient) {
		s.wantPossible(t, "cut lose-reply expire crash cancel stall-requests stall-replies pause "+
			"slow-client fast-client restart close-session")
		s.flow()
		s.wantPossible(t, "cut expire crash cancel stall-requests stall-replies pause slow-client "+
			"fast-client restart close-session")
	})
}

func TestCut(t *testing.T) {
	withClient(t, func(t *testing.T, s *faultyClient) {
		zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.Cut, faults.DefaultSeverity())
		s.flow()
		if s.err != zk.ErrConnectionClosed || s.exists() {
			t.Errorf("error %v, the node exists: %v", s.err, s.exists())
		}
		s.wantPossible(t, "expire crash cancel pause slow-client fast-client restart close-session")
		s.cluster.Heal(s.conn.Link)
		s.pass(time.Second)
		s.wantPossible(t, "cut expire crash cancel stall-requests stall-replies pause slow-client "+
			"fast-client restart close-session")
	})
}

func TestLoseReply(t *testing.T) {
	withClient(t, func(t *testing.T, s *faultyClient) {
		zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.LoseReply,
			faults.DefaultSeverity())
		s.flow()
		if s.err != zk.ErrConnectionClosed || !s.exists() {
			t.Errorf("error %v, the node exists: %v", s.err, s.exists())
		}
		s.wantPossible(t, "expire crash cancel pause slow-client fast-client restart close-session")
	})
}

// The client stays disconnected until its session has expired, then connects with a new session.
func TestExpire(t *testing.T) {
	withClient(t, func(t *testing.T, s *faultyClient) {
		s.flow()
		before := s.conn.SessionID()
		zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.Expire, faults.DefaultSeverity())
		s.pass(5 * time.Second)
		if !s.exists() || s.cluster.Sessions() != 1 {
			t.Errorf("after 5s the node exists: %v, %d sessions live", s.exists(),
				s.cluster.Sessions())
		}
		s.wantPossible(t, "crash cancel pause slow-client fast-client restart close-session")
		s.pass(3 * time.Second)
		if s.exists() || s.conn.SessionID() == before || s.conn.State() != zk.StateHasSession {
			t.Errorf("after 8s the node exists: %v, session %#x in state %v", s.exists(),
				s.conn.SessionID(),
				s.conn.State())
		}
		s.wantPossible(t, "cut expire crash cancel stall-requests stall-replies pause slow-client "+
			"fast-client restart close-session")
	})
}

// The session and its nodes end at once. The client loses its connection and learns of the end when
// it reconnects.
func TestCloseSession(t *testing.T) {
	withClient(t, func(t *testing.T, s *faultyClient) {
		s.flow()
		before := s.conn.SessionID()
		zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.CloseSession,
			faults.DefaultSeverity())
		if s.exists() || s.cluster.Sessions() != 0 || s.conn.SessionID() != before {
			t.Errorf("at once the node exists: %v, %d sessions live, the client's is %#x",
				s.exists(),
				s.cluster.Sessions(), s.conn.SessionID())
		}
		s.wantPossible(t, "crash cancel pause slow-client fast-client restart")
		s.pass(3 * time.Second)
		if s.conn.SessionID() == before || s.conn.State() != zk.StateHasSession ||
			s.cluster.Sessions() != 1 {
			t.Errorf("after 3s session %#x in state %v, %d sessions live", s.conn.SessionID(),
				s.conn.State(), s.cluster.Sessions())
		}
	})
}

// A client that is disconnected until its session expires can reconnect as soon as another
// connection closes the session.
func TestCloseSessionOfIsolated(t *testing.T) {
	withClient(t, func(t *testing.T, s *faultyClient) {
		s.flow()
		zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.Expire, faults.DefaultSeverity())
		zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.CloseSession,
			faults.DefaultSeverity())
		s.pass(3 * time.Second)
		if s.conn.State() != zk.StateHasSession {
			t.Errorf("after 3s the client is in state %v", s.conn.State())
		}
	})
}

// The session of a client that is disconnected already can expire.
func TestExpireWhileCut(t *testing.T) {
	withClient(t, func(t *testing.T, s *faultyClient) {
		s.flow()
		zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.Cut, faults.DefaultSeverity())
		zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.Expire, faults.DefaultSeverity())
		s.pass(6 * time.Second)
		if s.exists() {
			t.Error("the node exists")
		}
	})
}

// Stalled requests of a client that crashes are gone: nothing would end the stall, and a run would
// wait for them.
func TestCrashWhileStalled(t *testing.T) {
	withClient(t, func(t *testing.T, s *faultyClient) {
		client := zookeeper.AtClient(s.cluster, s.conn.Link)
		client.Inject(faults.StallRequests, faults.DefaultSeverity())
		if s.conn.Unserved() != 1 {
			t.Fatalf("%d requests are in flight before the crash, want 1", s.conn.Unserved())
		}
		client.Inject(faults.Crash, faults.DefaultSeverity())
		if s.conn.Unserved() > 0 {
			t.Errorf("%d requests are in flight", s.conn.Unserved())
		}
	})
}

func TestCrash(t *testing.T) {
	withClient(t, func(t *testing.T, s *faultyClient) {
		zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.Crash, faults.DefaultSeverity())
		s.wantPossible(t, "")
		s.flow()
		if s.returned || !s.exists() {
			t.Errorf("the call returned: %v, the node exists: %v", s.returned, s.exists())
		}
		s.pass(6 * time.Second)
		if s.exists() || s.cluster.Sessions() != 0 {
			t.Errorf("after 6s the node exists: %v, %d sessions live", s.exists(),
				s.cluster.Sessions())
		}
	})
}

func TestUnknownKind(t *testing.T) {
	withClient(t, func(t *testing.T, s *faultyClient) {
		if zookeeper.AtClient(nil, s.conn.Link).Possible(faults.Kinds) {
			t.Error("an unknown kind is possible")
		}
		defer func() {
			if recover() == nil {
				t.Error("no panic for an unknown kind")
			}
		}()
		zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.Kinds, faults.DefaultSeverity())
	})
}

// Cancel does not change the cluster.
func TestCancel(t *testing.T) {
	withClient(t, func(t *testing.T, s *faultyClient) {
		before := s.cluster.Key()
		zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.Cancel, faults.DefaultSeverity())
		if s.cluster.Key() != before {
			t.Error("the cluster has changed")
		}
	})
}

// Stalled messages arrive late, in either direction, if the link is healed in time.
func TestStall(t *testing.T) {
	for _, kind := range []faults.Kind{faults.StallRequests, faults.StallReplies} {
		withClient(t, func(t *testing.T, s *faultyClient) {
			zookeeper.AtClient(s.cluster, s.conn.Link).Inject(kind, faults.DefaultSeverity())
			s.idle()
			if _, servable := s.conn.Servable(); servable == (kind == faults.StallRequests) ||
				s.returned {
				t.Errorf("%v: the request can be served: %v, the call has returned: %v", kind,
					servable,
					s.returned)
			}
			if zookeeper.AtClient(nil, s.conn.Link).Possible(kind) {
				t.Errorf("%v can strike again", kind)
			}
			s.cluster.Heal(s.conn.Link)
			s.flow()
			if !s.returned || s.err != nil || !s.exists() {
				t.Errorf("%v: healed, the call returned: %v, error %v", kind, s.returned, s.err)
			}
		})
	}
}

// idle lets two seconds pass without a message.
func (s *faultyClient) idle() {
	time.Sleep(2 * time.Second)
	synctest.Wait()
	s.cluster.Advance(time.Since(s.began))
}

// A pause ends by itself.
func TestPause(t *testing.T) {
	withClient(t, func(t *testing.T, s *faultyClient) {
		severity := faults.Severity{Pause: time.Second}
		zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.Pause, severity)
		if zookeeper.AtClient(nil, s.conn.Link).Possible(faults.Pause) || !s.conn.Paused() {
			t.Error("a paused process can be paused again")
		}
		s.cluster.Serve(s.conn.Link)
		if _, ok := s.conn.Deliverable(); ok || s.returned {
			t.Error("a paused process gets its reply")
		}
		s.pass(time.Second)
		if s.conn.Paused() || !s.returned || s.err != nil {
			t.Errorf("after 1s the process is paused: %v, its call returned: %v, error %v",
				s.conn.Paused(),
				s.returned, s.err)
		}
	})
}

// By a slow clock of a client its session ends sooner, and by a fast one later.
func TestClientClocks(t *testing.T) {
	for kind, end := range map[faults.Kind]time.Duration{
		faults.SlowClient: 4 * time.Second,
		faults.FastClient: 8 * time.Second,
	} {
		withClient(t, func(t *testing.T, s *faultyClient) {
			zookeeper.AtClient(s.cluster, s.conn.Link).Inject(kind, faults.Severity{Drift: 50})
			s.flow()
			zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.Expire,
				faults.DefaultSeverity())
			s.pass(end - time.Millisecond)
			early := s.exists()
			s.pass(time.Millisecond)
			if !early || s.exists() {
				t.Errorf("%v: the session lives right before %v: %v, and then: %v", kind, end,
					early,
					s.exists())
			}
		})
	}
}

// In a slow direction of a link a message arrives late. Nothing heals that.
func TestSlowLink(t *testing.T) {
	const d = 100 * time.Millisecond
	for kind, want := range map[faults.Kind][2]time.Duration{
		faults.SlowLink: {d, d}, faults.SlowRequests: {d, 0}, faults.SlowReplies: {0, d},
	} {
		withClient(t, func(t *testing.T, s *faultyClient) {
			s.flow()
			client := zookeeper.AtClient(s.cluster, s.conn.Link)
			client.Inject(kind, faults.Severity{Latency: d})
			if client.Possible(kind) {
				t.Errorf("%v can strike again", kind)
			}
			s.cluster.Heal(s.conn.Link)
			go s.conn.Get("/n")
			s.collect()
			request := s.until(s.conn.Servable)
			s.cluster.Serve(s.conn.Link)
			if reply := s.until(s.conn.Deliverable); [...]time.Duration{request, reply} != want {
				t.Errorf("%v: the request takes %v and the reply %v, want %v", kind, request, reply,
					want)
			}
			s.flow()
		})
	}
}

// until lets time pass until a message has arrived, and returns how long that took.
func (s *faultyClient) until(arrived func() (uint64, bool)) time.Duration {
	began := time.Now()
	for {
		if _, ok := arrived(); ok {
			return time.Since(began)
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		s.cluster.Advance(time.Since(s.began))
	}
}

// The answer to a handshake that is held back comes when the link is healed. Only then does the
// client ping, so that its session can end before.
func TestSlowOpen(t *testing.T) {
	for held, lives := range map[time.Duration]bool{
		0: true, 2 * time.Second: true, 4 * time.Second: false, 6 * time.Second: false,
	} {
		withClient(t, func(t *testing.T, s *faultyClient) {
			s.flow()
			client := zookeeper.AtClient(s.cluster, s.conn.Link)
			if client.Possible(faults.SlowOpen) {
				t.Error("possible without a handshake")
			}
			s.cluster.ResetConnection(s.conn.Link)
			s.pauseFor(time.Second)
			if !client.Possible(faults.SlowOpen) {
				t.Error("impossible during a handshake")
			}
			client.Inject(faults.SlowOpen, faults.DefaultSeverity())
			s.cluster.Serve(s.conn.Link)
			s.pauseFor(held)
			if _, ok := s.conn.Deliverable(); ok {
				t.Errorf("the answer can be delivered after %v", held)
			}
			s.cluster.Heal(s.conn.Link)
			if _, ok := s.conn.Deliverable(); ok {
				s.cluster.Deliver(s.conn.Link)
			}
			s.pauseFor(5 * time.Second)
			if s.exists() != lives {
				t.Errorf("after an answer of %v the session lives: %v", held, s.exists())
			}
		})
	}
}

// pauseFor lets time pass, and delivers no message.
func (s *faultyClient) pauseFor(duration time.Duration) { s.advance(duration, func() {}) }

// The event of a watch is lost if the watch is set again only after the reply to a call that waited
// for the connection.
func TestDelayRewatch(t *testing.T) {
	for _, late := range []bool{false, true} {
		withClient(t, func(t *testing.T, s *faultyClient) {
			s.flow()
			var events <-chan zk.Event
			go func() { _, _, events, _ = s.conn.GetW("/n") }()
			s.flow()
			zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.Cut, faults.DefaultSeverity())
			other := model.Connect(s.cluster)
			defer other.TearDown()
			go other.Set("/n", []byte("changed"), -1)
			s.collect()
			for s.cluster.Serve(other.Link); other.Undelivered() > 0; {
				s.cluster.Deliver(other.Link)
			}
			if zookeeper.AtClient(nil, s.conn.Link).Possible(faults.DelayRewatch) {
				t.Error("possible while no call waits")
			}
			var read []byte
			go func() { read, _, _ = s.conn.Get("/n") }()
			s.collect()
			s.wantPossible(t, "expire crash cancel pause slow-client fast-client restart "+
				"delay-rewatch close-session")
			if late {
				key := s.cluster.Key()
				zookeeper.AtClient(s.cluster, s.conn.Link).Inject(faults.DelayRewatch,
					faults.DefaultSeverity())
				if s.cluster.Key() == key {
					t.Error("the cluster's key is the same")
				}
				s.wantPossible(t, "expire crash cancel pause slow-client fast-client restart "+
					"close-session")
			}
			s.cluster.Heal(s.conn.Link)
			s.pass(time.Second)
			if string(read) != "changed" || (len(events) == 0) != late {
				t.Errorf("late %v: read %q, notified of %d changes", late, read, len(events))
			}
		})
	}
}
