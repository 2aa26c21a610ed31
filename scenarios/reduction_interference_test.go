package scenarios_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// What can interfere with the step that a reduced search puts first: each test has a lock that
// breaks only where that step is not the first.

// compareVerdicts compares what a search finds with what one does that leaves nothing out.
func compareVerdicts(t *testing.T, e scenarios.Exhaustive) {
	t.Helper()
	got := completeVerdicts(t, e)
	if want := completeVerdicts(t, *e.LeapsOnly()); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%v: found %q, and %q with nothing left out", &e.Scenario, got, want)
	}
}

// trusting is a lock of which one process takes it that a node was not made if the connection broke
// before it was told so, and panics if it was. The others close their clients.
func trusting(made int) scenarios.Subject {
	s := subject("trusting", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			if p.Number != made {
				p.Client.Close()
				return nil, errTaken
			}
			node := p.Directory + "/made"
			if _, err := p.Client.Create(node, nil, 0, zk.WorldACL(zk.PermAll)); !errors.Is(err,
				zk.ErrConnectionClosed) {
				return nil, errors.Join(err, errTaken)
			}
			if there, _, err := p.Client.Exists(node); err == nil && there {
				panic("made after all")
			}
			return nil, errTaken
		}
	})
	s.Claims = []history.Property{history.ServerMutualExclusion}
	return s
}

// Where time may pass at will, a client whose pings are not answered can give its connection up
// before a message reaches it that the server has sent.
func TestReductionKeepsRepliesThatAreLostInTime(t *testing.T) {
	compareVerdicts(t, scenarios.Exhaustive{
		Scenario:  planned(t, trusting(1), 1, 1, "stall-requests=1"),
		IdleTicks: 1,
	})
}

// So can a leader that is cut off: in time it finds that out, and drops what it has sent to its
// clients.
func TestReductionKeepsRepliesThatAreLostWithALeader(t *testing.T) {
	e := scenarios.Exhaustive{
		Scenario:  planned(t, trusting(3), 3, 1, "partition-server:s3=1"),
		IdleTicks: 1,
	}
	e.Scenario.Servers = 3
	if r := e.Run(context.Background(), t); r.Failure == nil {
		t.Errorf("nothing found: complete %v after %d states", r.Complete, r.States)
	}
}

// partlyTold is a lock whose last process makes two nodes at once, and panics if it learns of the
// first just when a cut-off leader is replaced, and then loses the connection, but not its session,
// before it learns of the second.
func partlyTold() scenarios.Subject {
	s := subject("partly-told", func(p *scenarios.Process) scenarios.LockerFunc {
		create := func(name string) error {
			_, err := p.Client.Create(p.Directory+name, nil, 0, zk.WorldACL(zk.PermAll))
			return err
		}
		return func(context.Context) (*scenarios.Hold, error) {
			if p.Number != 3 {
				p.Client.Close()
				return nil, errTaken
			}
			began, session, second := time.Now(), p.Client.SessionID(), make(chan error, 1)
			go func() { second <- create("/second") }()
			if err := create("/first"); err != nil || time.Since(began) != 10*time.Second {
				return nil, errTaken
			}
			if err := <-second; !errors.Is(err, zk.ErrConnectionClosed) {
				return nil, errTaken
			}
			if there, _, err := p.Client.Exists(p.Directory + "/second"); err == nil && there &&
				p.Client.SessionID() == session {
				panic("made after all")
			}
			return nil, errTaken
		}
	})
	s.Claims = []history.Property{history.ServerMutualExclusion}
	s.Severity = faults.Severity{Pause: 15 * time.Second, Drift: 5}
	return s
}

// A leader that has been replaced and does not know it drops what it has sent as soon as it is
// healed.
func TestReductionKeepsRepliesThatAreLostByHealing(t *testing.T) {
	e := scenarios.Exhaustive{Scenario: planned(t, partlyTold(), 3, 1,
		"pause:c3=1,partition-server:s3=1")}
	e.Scenario.Servers, e.Scenario.Severity = 3, e.Scenario.Subject.Severity
	if r := e.Run(context.Background(), t); r.Failure == nil {
		t.Errorf("nothing found: complete %v after %d states", r.Complete, r.States)
	}
}

// looksBack is a lock whose holder looks, when it gives the lock back, whether its node still
// stands, and says that all is well if so. The other process takes the node away at the same
// instant. If asked to, the holder looks only where it has no connection.
func looksBack(unconnected bool) scenarios.Subject {
	s := subject("looks-back", func(p *scenarios.Process) scenarios.LockerFunc {
		node := p.Directory + "/held"
		unlock := func(context.Context) error {
			if unconnected && p.Client.State() == zk.StateHasSession {
				return errors.New("lost, perhaps")
			}
			there, _, err := p.Client.Exists(node)
			if err == nil && !there {
				return errors.New("lost")
			}
			return err
		}
		return func(context.Context) (*scenarios.Hold, error) {
			if p.Number == 2 {
				time.Sleep(time.Second)
				return nil, errors.Join(p.Client.Delete(node, -1), errTaken)
			}
			if _, err := p.Client.Create(node, nil, zk.FlagEphemeral,
				zk.WorldACL(zk.PermAll)); err != nil {
				return nil, err
			}
			exit := func(context.Context) error {
				time.Sleep(time.Second)
				return nil
			}
			again := func(context.Context) (*scenarios.Hold, error) {
				return &scenarios.Hold{
					Node:   node,
					Unlock: exit,
				}, nil
			}
			return &scenarios.Hold{Node: node, Unlock: unlock, Reenter: again}, nil
		}
	})
	s.Claims = []history.Property{history.LossNotification}
	s.Severity = faults.Severity{Pause: 3 * time.Second, Drift: 5}
	return s
}

// A process that is paused can come to its server with a request as soon as it goes on, or connect
// to it, before the server applies what it is about to.
func TestReductionKeepsWhatComesAfterAPause(t *testing.T) {
	for plan, unconnected := range map[string]bool{
		"pause:c1=1":          false,
		"pause:c1=1,cut:c1=1": true,
	} {
		e := scenarios.Exhaustive{Scenario: planned(t, looksBack(unconnected), 2, 1, plan)}
		e.Scenario.Servers, e.Scenario.Severity = 2, e.Scenario.Subject.Severity
		compareVerdicts(t, e)
	}
}

// hasty is a lock that lets in whoever finds no node. The second process makes one, and is let in
// too if that took no time. The first looks for it later; the number that it is given is lower
// then.
func hasty() scenarios.Subject {
	s := subject("hasty", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			began, node := time.Now(), p.Directory+"/made"
			if p.Number == 2 {
				_, err := p.Client.Create(node, nil, 0, zk.WorldACL(zk.PermAll))
				if err != nil || time.Since(began) > 0 {
					return nil, errors.Join(err, errTaken)
				}
				return &scenarios.Hold{Token: 2, Unlock: free}, nil
			}
			time.Sleep(time.Second)
			if there, _, err := p.Client.Exists(node); err != nil || there {
				return nil, errors.Join(err, errTaken)
			}
			return &scenarios.Hold{Token: 1, Unlock: free}, nil
		}
	})
	s.Claims = []history.Property{history.MonotonicToken}
	return s
}

// Where time may pass at will, a server can lag behind for so long that somebody asks it who did
// not before.
func TestReductionKeepsServersThatLagInTime(t *testing.T) {
	e := scenarios.Exhaustive{Scenario: planned(t, hasty(), 2, 1, "none"), IdleTicks: 1}
	e.Scenario.Servers = 2
	compareVerdicts(t, e)
}

// writesAtLength is a lock whose holder says in its critical section that it writes, and waits
// then: for a second, while it learns of its loss as soon as its node is gone; or for just that,
// and for a second more before it gives the lock back. The other process deletes the node once the
// holder writes, and has the lock then.
func writesAtLength(tellsLoss bool) scenarios.Subject {
	s := subject("writes-at-length", func(p *scenarios.Process) scenarios.LockerFunc {
		node, writes := p.Directory+"/held", p.Directory+"/writes"
		second := func(context.Context) error {
			time.Sleep(time.Second)
			return nil
		}
		again := func(context.Context) (*scenarios.Hold, error) {
			return &scenarios.Hold{Unlock: second},
				nil
		}
		read := func(context.Context) (int64, error) { return 1, nil }
		return func(ctx context.Context) (*scenarios.Hold, error) {
			if p.Number == 2 {
				there, _, err := p.Client.Exists(writes)
				if err != nil || !there {
					return nil, errors.Join(err, errTaken)
				}
				return &scenarios.Hold{Unlock: free}, p.Client.Delete(node, -1)
			}
			if _, err := p.Client.Create(node, nil, zk.FlagEphemeral,
				zk.WorldACL(zk.PermAll)); err != nil {
				return nil, err
			}
			_, _, events, err := p.Client.ExistsW(node)
			if err != nil {
				return nil, err
			}
			gone := make(chan struct{})
			go func() {
				<-events
				close(gone)
			}()
			hold := &scenarios.Hold{
				Unlock: free, Reenter: again,
				Resource: &scenarios.Resource{Read: read},
			}
			if tellsLoss {
				hold.Done = gone
			}
			hold.Resource.Write = func(context.Context) (int64, error) {
				_, err := p.Client.Create(writes, nil, 0, zk.WorldACL(zk.PermAll))
				if tellsLoss {
					return 0, errors.Join(err, second(ctx))
				}
				<-gone
				return 0, err
			}
			return hold, nil
		}
	})
	s.Claims = []history.Property{history.ClientMutualExclusion}
	return s
}

// A delivery upon which a process is told of its loss, or leaves its critical section, is not put
// before what others do alone.
func TestReductionKeepsLateLossesAndLeavings(t *testing.T) {
	for _, tellsLoss := range []bool{true, false} {
		compareVerdicts(t, scenarios.Exhaustive{Scenario: planned(t, writesAtLength(tellsLoss), 2,
			1,
			"none")})
	}
}
