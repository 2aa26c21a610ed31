package faults_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
)

// A struck client has asked for a node when a fault strikes it.
type struck struct {
	cluster  *simzk.Cluster
	conn     *simzk.Conn
	began    time.Time
	err      error
	returned bool
}

// withStruck runs a test with a client whose request for the ephemeral node /n has reached the
// server, in a bubble.
func withStruck(t *testing.T, test func(t *testing.T, s *struck)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster := simzk.New(simzk.Config{Settle: synctest.Wait}, new(history.Log))
		s := &struck{cluster: cluster, conn: cluster.Connect(), began: time.Now()}
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

func (s *struck) collect() {
	synctest.Wait()
	s.cluster.Collect()
}

// flow lets every message through.
func (s *struck) flow() {
	for s.collect(); s.conn.Unserved()+s.conn.Undelivered() > 0; s.collect() {
		if s.conn.Unserved() > 0 {
			s.cluster.Serve(s.conn.Link)
		} else {
			s.cluster.Deliver(s.conn.Link)
		}
	}
}

// pass lets time pass, and every message through at every deadline on the way.
func (s *struck) pass(duration time.Duration) {
	for end := s.cluster.Now() + duration; s.cluster.Now() < end; s.flow() {
		next := end
		if deadline, ok := s.cluster.Deadline(); ok {
			next = min(next, deadline)
		}
		time.Sleep(next - s.cluster.Now())
		synctest.Wait()
		s.cluster.Advance(time.Since(s.began))
	}
}

func (s *struck) stands() bool {
	_, ok := s.cluster.Tree().Stat("/n")
	return ok
}

// possible returns the kinds that can strike the client now.
func (s *struck) possible() string {
	var names []string
	for k := range faults.Kinds {
		if faults.Possible(k, s.conn.Link) {
			names = append(names, k.String())
		}
	}
	return strings.Join(names, " ")
}

func (s *struck) wantPossible(t *testing.T, want string) {
	t.Helper()
	if got := s.possible(); got != want {
		t.Errorf("possible are %q, want %q", got, want)
	}
}

// A reply can be lost only where a request is under way.
func TestPossibleAtRest(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		s.wantPossible(t, "cut lose-reply expire crash cancel stall-requests stall-replies pause "+
			"slow-client fast-client restart close-session")
		s.flow()
		s.wantPossible(t, "cut expire crash cancel stall-requests stall-replies pause slow-client "+
			"fast-client restart close-session")
	})
}

func TestCut(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		faults.Apply(faults.Cut, faults.DefaultSeverity(), s.cluster, s.conn.Link)
		s.flow()
		if s.err != zk.ErrConnectionClosed || s.stands() {
			t.Errorf("error %v, the node stands: %v", s.err, s.stands())
		}
		s.wantPossible(t, "expire crash cancel pause slow-client fast-client restart close-session")
		s.cluster.Heal(s.conn.Link)
		s.pass(time.Second)
		s.wantPossible(t, "cut expire crash cancel stall-requests stall-replies pause slow-client "+
			"fast-client restart close-session")
	})
}

func TestLoseReply(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		faults.Apply(faults.LoseReply, faults.DefaultSeverity(), s.cluster, s.conn.Link)
		s.flow()
		if s.err != zk.ErrConnectionClosed || !s.stands() {
			t.Errorf("error %v, the node stands: %v", s.err, s.stands())
		}
		s.wantPossible(t, "expire crash cancel pause slow-client fast-client restart close-session")
	})
}

// The client stays cut off until its session has expired, and comes back with another without help.
func TestExpire(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		s.flow()
		before := s.conn.SessionID()
		faults.Apply(faults.Expire, faults.DefaultSeverity(), s.cluster, s.conn.Link)
		s.pass(5 * time.Second)
		if !s.stands() || s.cluster.Sessions() != 1 {
			t.Errorf("after 5s the node stands: %v, %d sessions live", s.stands(),
				s.cluster.Sessions())
		}
		s.wantPossible(t, "crash cancel pause slow-client fast-client restart close-session")
		s.pass(3 * time.Second)
		if s.stands() || s.conn.SessionID() == before || s.conn.State() != zk.StateHasSession {
			t.Errorf("after 8s the node stands: %v, session %#x in state %v", s.stands(),
				s.conn.SessionID(),
				s.conn.State())
		}
		s.wantPossible(t, "cut expire crash cancel stall-requests stall-replies pause slow-client "+
			"fast-client restart close-session")
	})
}

// The session and its nodes go at once; the client loses its connection, and is told when it
// connects again.
func TestCloseSession(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		s.flow()
		before := s.conn.SessionID()
		faults.Apply(faults.CloseSession, faults.DefaultSeverity(), s.cluster, s.conn.Link)
		if s.stands() || s.cluster.Sessions() != 0 || s.conn.SessionID() != before {
			t.Errorf("at once the node stands: %v, %d sessions live, the client's is %#x",
				s.stands(),
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

// A client that is cut off until its session has expired can connect again as soon as somebody else
// closes it.
func TestCloseSessionOfIsolated(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		s.flow()
		faults.Apply(faults.Expire, faults.DefaultSeverity(), s.cluster, s.conn.Link)
		faults.Apply(faults.CloseSession, faults.DefaultSeverity(), s.cluster, s.conn.Link)
		s.pass(3 * time.Second)
		if s.conn.State() != zk.StateHasSession {
			t.Errorf("after 3s the client is in state %v", s.conn.State())
		}
	})
}

// A client that is cut off already can lose its session as well.
func TestExpireWhileCut(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		s.flow()
		faults.Apply(faults.Cut, faults.DefaultSeverity(), s.cluster, s.conn.Link)
		faults.Apply(faults.Expire, faults.DefaultSeverity(), s.cluster, s.conn.Link)
		s.pass(6 * time.Second)
		if s.stands() {
			t.Error("the node stands")
		}
	})
}

func TestCrash(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		faults.Apply(faults.Crash, faults.DefaultSeverity(), s.cluster, s.conn.Link)
		s.wantPossible(t, "")
		s.flow()
		if s.returned || !s.stands() {
			t.Errorf("the call returned: %v, the node stands: %v", s.returned, s.stands())
		}
		s.pass(6 * time.Second)
		if s.stands() || s.cluster.Sessions() != 0 {
			t.Errorf("after 6s the node stands: %v, %d sessions live", s.stands(),
				s.cluster.Sessions())
		}
	})
}

// Every kind has a name that a plan can hold, and a meaning.
func TestKinds(t *testing.T) {
	var seen []string
	for k := range faults.Kinds {
		name := k.String()
		if name == "" || k.Meaning() == "" || slices.Contains(seen, name) {
			t.Errorf("kind %d is called %q and means %q", k, name, k.Meaning())
		}
		seen = append(seen, name)
		if plan, err := faults.Parse(name + "=1"); err != nil || !plan.Allows(k) {
			t.Errorf("%s=1 is parsed as %v, error %v", name, plan, err)
		}
	}
}

func TestUnknownKind(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		if faults.Possible(faults.Kinds, s.conn.Link) {
			t.Error("a kind that there is not is possible")
		}
		defer func() {
			if recover() == nil {
				t.Error("no panic for a kind that there is not")
			}
		}()
		faults.Apply(faults.Kinds, faults.DefaultSeverity(), s.cluster, s.conn.Link)
	})
}

// To the cluster it is nothing that a process gives up.
func TestCancel(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		before := s.cluster.Key()
		faults.Apply(faults.Cancel, faults.DefaultSeverity(), s.cluster, s.conn.Link)
		if s.cluster.Key() != before {
			t.Error("the cluster has changed")
		}
	})
}

// What is held is only late, in either direction, if the link is healed in time.
func TestHold(t *testing.T) {
	for _, kind := range []faults.Kind{faults.StallRequests, faults.StallReplies} {
		withStruck(t, func(t *testing.T, s *struck) {
			faults.Apply(kind, faults.DefaultSeverity(), s.cluster, s.conn.Link)
			s.hold()
			if _, servable := s.conn.Servable(); servable == (kind == faults.StallRequests) ||
				s.returned {
				t.Errorf("%v: the request can be served: %v, the call has returned: %v", kind,
					servable,
					s.returned)
			}
			if faults.Possible(kind, s.conn.Link) {
				t.Errorf("%v can strike again", kind)
			}
			s.cluster.Heal(s.conn.Link)
			s.flow()
			if !s.returned || s.err != nil || !s.stands() {
				t.Errorf("%v: healed, the call returned: %v, error %v", kind, s.returned, s.err)
			}
		})
	}
}

// hold lets two seconds pass while nothing moves.
func (s *struck) hold() {
	time.Sleep(2 * time.Second)
	synctest.Wait()
	s.cluster.Advance(time.Since(s.began))
}

// A pause ends by itself.
func TestPause(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		bounds := faults.Severity{Pause: time.Second}
		faults.Apply(faults.Pause, bounds, s.cluster, s.conn.Link)
		if faults.Possible(faults.Pause, s.conn.Link) || !s.conn.Paused() {
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

// A session ends sooner by the clock of a client that is slow, and later by that of one that is
// fast.
func TestClientClocks(t *testing.T) {
	for kind, end := range map[faults.Kind]time.Duration{
		faults.SlowClient: 4 * time.Second,
		faults.FastClient: 8 * time.Second,
	} {
		withStruck(t, func(t *testing.T, s *struck) {
			faults.Apply(kind, faults.Severity{Drift: 50}, s.cluster, s.conn.Link)
			s.flow()
			faults.Apply(faults.Expire, faults.DefaultSeverity(), s.cluster, s.conn.Link)
			s.pass(end - time.Millisecond)
			early := s.stands()
			s.pass(time.Millisecond)
			if !early || s.stands() {
				t.Errorf("%v: the session lives right before %v: %v, and then: %v", kind, end,
					early,
					s.stands())
			}
		})
	}
}

// The bounds of pauses and clocks are themselves bounded.
func TestBounds(t *testing.T) {
	for _, b := range []faults.Severity{
		{},
		{Pause: -1},
		{Pause: time.Hour},
		{Pause: time.Second, Drift: -1},
		{Pause: time.Second, Drift: 91},
	} {
		if b.Validate() == nil {
			t.Errorf("%v is valid", b)
		}
	}
	usual := faults.DefaultSeverity()
	if err := usual.Validate(); err != nil || !usual.Within(usual) ||
		(faults.Severity{Pause: time.Minute, Drift: 1}).Within(usual) {
		t.Errorf("the default bounds: error %v, within themselves: %v", err, usual.Within(usual))
	}
}

// What a watch would have told of is lost if it is set again only after the answer to a call that
// has waited for the connection.
func TestLateWatches(t *testing.T) {
	for _, late := range []bool{false, true} {
		withStruck(t, func(t *testing.T, s *struck) {
			s.flow()
			var events <-chan zk.Event
			go func() { _, _, events, _ = s.conn.GetW("/n") }()
			s.flow()
			faults.Apply(faults.Cut, faults.DefaultSeverity(), s.cluster, s.conn.Link)
			other := s.cluster.Connect()
			defer other.TearDown()
			go other.Set("/n", []byte("changed"), -1)
			s.collect()
			for s.cluster.Serve(other.Link); other.Undelivered() > 0; {
				s.cluster.Deliver(other.Link)
			}
			if faults.Possible(faults.DelayRewatch, s.conn.Link) {
				t.Error("possible while no call waits")
			}
			var read []byte
			go func() { read, _, _ = s.conn.Get("/n") }()
			s.collect()
			s.wantPossible(t, "expire crash cancel pause slow-client fast-client restart "+
				"delay-rewatch "+
				"close-session")
			if late {
				key := s.cluster.Key()
				faults.Apply(faults.DelayRewatch, faults.DefaultSeverity(), s.cluster, s.conn.Link)
				if s.cluster.Key() == key {
					t.Error("the cluster's key is the same")
				}
				s.wantPossible(t, "expire crash cancel pause slow-client fast-client restart "+
					"close-session")
			}
			s.cluster.Heal(s.conn.Link)
			s.pass(time.Second)
			if string(read) != "changed" || (len(events) == 0) != late {
				t.Errorf("late %v: read %q, told of %d changes", late, read, len(events))
			}
		})
	}
}
