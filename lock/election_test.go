package lock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
)

func (w *world) election(client int) *lock.Election {
	return must(lock.NewElection(w.session(client), "/lock"))
}

// A campaign is a call of Campaign in progress.
type campaign struct {
	*call
	leadership *lock.Leadership
}

func (w *world) campaign(ctx context.Context, e *lock.Election, data string) *campaign {
	c := new(campaign)
	c.call = w.begin(ctx, func(ctx context.Context) (*lock.Lease, error) {
		l, err := e.Campaign(ctx, data)
		if err != nil {
			return nil, err
		}
		c.leadership = l
		return l.Lease, nil
	})
	return c
}

// wantLeader verifies the data of the present leader, "" for none.
func (w *world) wantLeader(e *lock.Election, want string) {
	w.t.Helper()
	var leader lock.Leader
	err := w.do(func() (err error) { leader, err = e.Leader(background); return err })
	if leader.Data != want && want != "" || (want == "") != errors.Is(err, lock.ErrNoLeader) {
		w.t.Fatalf("leader %q, error %v, want %q", leader.Data, err, want)
	}
}

// Sightings are what an observer has seen, and the error that ended it.
type sightings struct {
	leaders []string
	err     error
}

func (w *world) observe(e *lock.Election) *sightings {
	s := new(sightings)
	ctx, cancel := context.WithCancel(background)
	w.cancels = append(w.cancels, cancel)
	go func() {
		for leader, err := range e.Observe(ctx) {
			if s.err = err; err == nil {
				s.leaders = append(s.leaders, leader.Data)
			}
		}
	}()
	return s
}

func (s *sightings) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(s.leaders, want) {
		t.Errorf("the observer has seen %q, want %q", s.leaders, want)
	}
}

// Candidates lead in the order in which they campaign, with tokens that rise, and observers see
// each proclamation once.
func TestElection(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		w.wantLeader(w.election(3), "")
		seen := w.observe(w.election(4))
		w.flow()
		first := w.campaign(background, w.election(1), "one")
		w.flow()
		second := w.campaign(background, w.election(2), "two")
		w.flow()
		w.wantGranted(first.call)
		w.wantWaiting(second.call)
		w.wantLeader(w.election(3), "one")
		if err := w.do(func() error {
			return first.leadership.Proclaim(background, "one\nagain")
		}); err != nil {
			t.Fatal(err)
		}
		w.wantLeader(w.election(3), "one\nagain")
		if err := w.do(func() error { return first.leadership.Resign(background) }); err != nil {
			t.Fatal(err)
		}
		w.wantGranted(second.call)
		if a, b := first.lease.Token(), second.lease.Token(); a >= b {
			t.Errorf("tokens %d and %d, want them to rise", a, b)
		}
		if err := w.do(func() error {
			return first.leadership.Proclaim(background, "late")
		}); !errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("a former leader proclaims with error %v", err)
		}
		w.wantLeader(w.election(3), "two")
		seen.want(t, "one", "one\nagain", "two")
		w.unlock(second.lease)
		w.wantLeader(w.election(3), "")
		late := w.observe(w.election(3))
		w.flow()
		late.want(t)
	})
}

// Losing the session ends the lead, and the next candidate leads.
func TestElectionLostWithSession(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		first := w.campaign(background, w.election(1), "one")
		w.flow()
		w.wantGranted(first.call)
		ctx := first.leadership.Context(background)
		second := w.campaign(background, w.election(2), "two")
		seen := w.observe(w.election(3))
		w.flow()
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(2 * sessionTimeout)
		w.wantGranted(second.call)
		if err := context.Cause(ctx); !errors.Is(err, lock.ErrLost) {
			t.Errorf("the leader's context ends with %v", err)
		}
		w.wantLeader(w.election(3), "two")
		seen.want(t, "one", "two")
	})
}

// If the reply to a proclamation is lost, the leader proclaims it once.
func TestProclaimWithLostReply(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		leader := w.campaign(background, w.election(1), "one")
		w.flow()
		w.wantGranted(leader.call)
		seen := w.observe(w.election(2))
		w.flow()
		proclaimed := make(chan error, 1)
		go func() { proclaimed <- leader.leadership.Proclaim(background, "changed") }()
		w.serve(1)
		w.cluster.Cut(w.client(1).Link)
		w.reconnect(1)
		w.pass(time.Second)
		select {
		case err := <-proclaimed:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("Proclaim has not returned")
		}
		seen.want(t, "one", "changed")
	})
}

// A candidate that gives up leaves no node, and is never seen as the leader.
func TestElectionCandidateGivesUp(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		seen := w.observe(w.election(3))
		first := w.campaign(background, w.election(1), "one")
		w.flow()
		ctx, cancel := context.WithCancel(background)
		second := w.campaign(ctx, w.election(2), "two")
		w.flow()
		cancel()
		w.wantError(second.call, context.Canceled)
		w.unlock(first.lease)
		w.wantNodes(1) // the proclamation
		seen.want(t, "one")
	})
}

// Closing the client ends each observation.
func TestObserveClosedClient(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		session := w.session(1)
		onSession := w.observe(must(lock.NewElection(session, "/lock")))
		waiting := w.observe(w.election(2))
		w.flow()
		session.Close()
		go w.client(2).Close()
		w.flow()
		for i, o := range []*sightings{onSession, waiting} {
			if !errors.Is(o.err, zk.ErrClosing) {
				t.Errorf("observer %d ends with error %v, want ErrClosing", i, o.err)
			}
		}
		late := w.observe(w.election(2))
		w.pass(3 * sessionTimeout)
		if late.want(t); !errors.Is(late.err, zk.ErrClosing) {
			t.Errorf("an observer that starts late ends with error %v, want ErrClosing", late.err)
		}
	})
}

// Do leads while the function runs.
func TestElectionDo(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		e := w.election(1)
		err := w.do(func() error {
			return e.Do(background, "one", func(ctx context.Context) error {
				leader, err := e.Leader(ctx)
				if leader.Data != "one" || leader.Token != lock.LeaseFrom(ctx).Token() {
					t.Errorf("the leader is %v", leader)
				}
				return err
			})
		})
		if err != nil {
			t.Error(err)
		}
		w.wantLeader(e, "")
	})
}
