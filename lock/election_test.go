package lock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

func (w *world) election(client int) *lock.Election {
	return must(lock.NewElection(w.client(client), "/lock", sessionTimeout))
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

// sightings collects what an observer sees.
func (w *world) sightings(e *lock.Election) (seen func() []string, failed *error) {
	var leaders []string
	failed = new(error)
	ctx, cancel := context.WithCancel(background)
	w.cancels = append(w.cancels, cancel)
	go func() {
		for leader, err := range e.Observe(ctx) {
			if *failed = err; err == nil {
				leaders = append(leaders, leader.Data)
			}
		}
	}()
	return func() []string { synctest.Wait(); return leaders }, failed
}

func wantSeen(t *testing.T, seen func() []string, want ...string) {
	t.Helper()
	if got := seen(); !slices.Equal(got, want) {
		t.Errorf("the observer has seen %q, want %q", got, want)
	}
}

// Candidates lead in the order in which they campaign, with tokens that rise, and observers see
// each proclamation once.
func TestElection(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		w.wantLeader(w.election(3), "")
		seen, _ := w.sightings(w.election(4))
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
		wantSeen(t, seen, "one", "one\nagain", "two")
		w.unlock(second.lease)
		w.wantLeader(w.election(3), "")
		late, _ := w.sightings(w.election(3))
		w.flow()
		wantSeen(t, late)
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
		seen, _ := w.sightings(w.election(3))
		w.flow()
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(2 * sessionTimeout)
		w.wantGranted(second.call)
		if err := context.Cause(ctx); !errors.Is(err, lock.ErrLost) {
			t.Errorf("the leader's context ends with %v", err)
		}
		w.wantLeader(w.election(3), "two")
		wantSeen(t, seen, "one", "two")
	})
}

// If the reply to a proclamation is lost, the leader proclaims it once.
func TestProclaimWithLostReply(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		leader := w.campaign(background, w.election(1), "one")
		w.flow()
		w.wantGranted(leader.call)
		seen, _ := w.sightings(w.election(2))
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
		wantSeen(t, seen, "one", "changed")
	})
}

// A candidate that gives up leaves no node, and is never seen as the leader.
func TestElectionCandidateGivesUp(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		seen, _ := w.sightings(w.election(3))
		first := w.campaign(background, w.election(1), "one")
		w.flow()
		ctx, cancel := context.WithCancel(background)
		second := w.campaign(ctx, w.election(2), "two")
		w.flow()
		cancel()
		w.wantError(second.call, context.Canceled)
		w.unlock(first.lease)
		w.wantNodes(1) // the proclamation
		wantSeen(t, seen, "one")
	})
}

// An observer of an election on a closed session learns of it.
func TestObserveClosedSession(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		s := w.session(1)
		seen, failed := w.sightings(must(s.NewElection("/lock")))
		w.flow()
		s.Close()
		w.pass(sessionTimeout)
		if wantSeen(t, seen); *failed == nil {
			t.Error("the observation of a closed session goes on")
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
