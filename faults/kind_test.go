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

// withStruck runs a test with a client whose request for the ephemeral node /n has reached the server, in a bubble.
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
		s.wantPossible(t, "cut lose-reply expire crash cancel")
		s.flow()
		s.wantPossible(t, "cut expire crash cancel")
	})
}

func TestCut(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		faults.Apply(faults.Cut, s.cluster, s.conn.Link)
		s.flow()
		if s.err != zk.ErrConnectionClosed || s.stands() {
			t.Errorf("error %v, the node stands: %v", s.err, s.stands())
		}
		s.wantPossible(t, "expire crash cancel")
		s.cluster.Heal(s.conn.Link)
		s.pass(time.Second)
		s.wantPossible(t, "cut expire crash cancel")
	})
}

func TestLoseReply(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		faults.Apply(faults.LoseReply, s.cluster, s.conn.Link)
		s.flow()
		if s.err != zk.ErrConnectionClosed || !s.stands() {
			t.Errorf("error %v, the node stands: %v", s.err, s.stands())
		}
		s.wantPossible(t, "expire crash cancel")
	})
}

// The client stays cut off until its session has expired, and comes back with another without help.
func TestExpire(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		s.flow()
		before := s.conn.SessionID()
		faults.Apply(faults.Expire, s.cluster, s.conn.Link)
		s.pass(5 * time.Second)
		if !s.stands() || s.cluster.Sessions() != 1 {
			t.Errorf("after 5s the node stands: %v, %d sessions live", s.stands(), s.cluster.Sessions())
		}
		s.wantPossible(t, "crash cancel")
		s.pass(3 * time.Second)
		if s.stands() || s.conn.SessionID() == before || s.conn.State() != zk.StateHasSession {
			t.Errorf("after 8s the node stands: %v, session %#x in state %v", s.stands(), s.conn.SessionID(), s.conn.State())
		}
		s.wantPossible(t, "cut expire crash cancel")
	})
}

// A client that is cut off already can lose its session as well.
func TestExpireWhileCut(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		s.flow()
		faults.Apply(faults.Cut, s.cluster, s.conn.Link)
		faults.Apply(faults.Expire, s.cluster, s.conn.Link)
		s.pass(6 * time.Second)
		if s.stands() {
			t.Error("the node stands")
		}
	})
}

func TestCrash(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		faults.Apply(faults.Crash, s.cluster, s.conn.Link)
		s.wantPossible(t, "")
		s.flow()
		if s.returned || !s.stands() {
			t.Errorf("the call returned: %v, the node stands: %v", s.returned, s.stands())
		}
		s.pass(6 * time.Second)
		if s.stands() || s.cluster.Sessions() != 0 {
			t.Errorf("after 6s the node stands: %v, %d sessions live", s.stands(), s.cluster.Sessions())
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
		faults.Apply(faults.Kinds, s.cluster, s.conn.Link)
	})
}

// To the cluster it is nothing that a process gives up.
func TestCancel(t *testing.T) {
	withStruck(t, func(t *testing.T, s *struck) {
		before := s.cluster.Key()
		faults.Apply(faults.Cancel, s.cluster, s.conn.Link)
		if s.cluster.Key() != before {
			t.Error("the cluster has changed")
		}
	})
}
