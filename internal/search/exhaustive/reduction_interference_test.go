package exhaustive_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
)

// Steps that interfere with the step that the reduction puts first. Each test has a lock that fails
// only if that step is not the first.

// compareVerdicts compares the violations that a search finds with and without reduction.
func compareVerdicts(t *testing.T, e exhaustive.Search) {
	t.Helper()
	got := completeVerdicts(t, e)
	if want := completeVerdicts(t, *e.JumpsOnly()); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%v: found %q, without reduction %q", &e.Scenario, got, want)
	}
}

// trusting is a lock in which one process concludes from a lost connection that its create failed,
// and panics if it succeeded. The other processes close their clients.
func trusting(made int) scenarios.Subject {
	s := locktest.Subject("trusting", func(p *scenarios.Process) scenarios.LockerFunc {
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

// With idle ticks, a client without answers to its pings can drop its connection before it receives
// a message that the server has sent.
func TestReductionKeepsRepliesThatAreLostInTime(t *testing.T) {
	compareVerdicts(t, exhaustive.Search{
		Scenario:  locktest.Planned(t, trusting(1), 1, 1, "stall-requests=1"),
		IdleTicks: 1,
	})
}

// A partitioned leader eventually notices the partition and drops the messages to its clients.
func TestReductionKeepsRepliesThatAreLostWithALeader(t *testing.T) {
	e := exhaustive.Search{
		Scenario:  locktest.Planned(t, trusting(3), 3, 1, "partition-server:s3=1"),
		IdleTicks: 1,
	}
	e.Scenario.Servers = 3
	if r := e.Run(context.Background(), t); r.Failure == nil {
		t.Errorf("nothing was found: complete %v after %d states", r.Complete, r.States)
	}
}

// partlyTold is a lock whose last process creates two nodes at once. It panics if it learns of the
// first create at the moment a partitioned leader is replaced, and then loses its connection, but
// not its session, before it learns of the second.
func partlyTold() scenarios.Subject {
	s := locktest.Subject("partly-told", func(p *scenarios.Process) scenarios.LockerFunc {
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

// A replaced leader that does not know of its replacement drops its sent messages as soon as it is
// healed.
func TestReductionKeepsRepliesThatAreLostByHealing(t *testing.T) {
	e := exhaustive.Search{Scenario: locktest.Planned(t, partlyTold(), 3, 1,
		"pause:c3=1,partition-server:s3=1")}
	e.Scenario.Servers, e.Scenario.Severity = 3, e.Scenario.Subject.Severity
	if r := e.Run(context.Background(), t); r.Failure == nil {
		t.Errorf("nothing was found: complete %v after %d states", r.Complete, r.States)
	}
}

// looksBack is a lock whose holder checks at the unlock that its node exists, and then reports
// success. The other process deletes the node at the same instant. With unconnected, the holder
// checks only without a connection.
func looksBack(unconnected bool) scenarios.Subject {
	s := locktest.Subject("looks-back", func(p *scenarios.Process) scenarios.LockerFunc {
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

// A resumed process can send a request or connect to its server before the server applies its next
// transaction.
func TestReductionKeepsWhatComesAfterAPause(t *testing.T) {
	for plan, unconnected := range map[string]bool{
		"pause:c1=1":          false,
		"pause:c1=1,cut:c1=1": true,
	} {
		e := exhaustive.Search{Scenario: locktest.Planned(t, looksBack(unconnected), 2, 1, plan)}
		e.Scenario.Servers, e.Scenario.Severity = 2, e.Scenario.Subject.Severity
		compareVerdicts(t, e)
	}
}

// hasty is a lock that grants every process that finds no node. The second process creates a node,
// and is granted the lock with token 2 if that took no time. The first process checks for the node
// later and gets token 1.
func hasty() scenarios.Subject {
	s := locktest.Subject("hasty", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			began, node := time.Now(), p.Directory+"/made"
			if p.Number == 2 {
				_, err := p.Client.Create(node, nil, 0, zk.WorldACL(zk.PermAll))
				if err != nil || time.Since(began) > 0 {
					return nil, errors.Join(err, errTaken)
				}
				return &scenarios.Hold{Token: 2, Unlock: locktest.Free}, nil
			}
			time.Sleep(time.Second)
			if there, _, err := p.Client.Exists(node); err != nil || there {
				return nil, errors.Join(err, errTaken)
			}
			return &scenarios.Hold{Token: 1, Unlock: locktest.Free}, nil
		}
	})
	s.Claims = []history.Property{history.MonotonicToken}
	return s
}

// With idle ticks, a server can lag for so long that a process queries it that did not before.
func TestReductionKeepsServersThatLagInTime(t *testing.T) {
	e := exhaustive.Search{Scenario: locktest.Planned(t, hasty(), 2, 1, "none"), IdleTicks: 1}
	e.Scenario.Servers = 2
	compareVerdicts(t, e)
}

// writesAtLength is a lock whose holder announces its write in the critical section and then waits:
// either for a second, with a loss notification when its node is deleted, or for the deletion, and
// then for a second before it unlocks. The other process deletes the node after the announcement
// and then has the lock.
func writesAtLength(tellsLoss bool) scenarios.Subject {
	s := locktest.Subject("writes-at-length", func(p *scenarios.Process) scenarios.LockerFunc {
		node, writes := p.Directory+"/held", p.Directory+"/writes"
		second := func(context.Context) error {
			time.Sleep(time.Second)
			return nil
		}
		again := func(context.Context) (*scenarios.Hold, error) {
			return &scenarios.Hold{Unlock: second}, nil
		}
		read := func(context.Context) (int64, error) { return 1, nil }
		return func(ctx context.Context) (*scenarios.Hold, error) {
			if p.Number == 2 {
				there, _, err := p.Client.Exists(writes)
				if err != nil || !there {
					return nil, errors.Join(err, errTaken)
				}
				return &scenarios.Hold{Unlock: locktest.Free}, p.Client.Delete(node, -1)
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
				Unlock: locktest.Free, Reenter: again,
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

// The reduction does not prioritize a delivery after which a process is notified of its loss or
// leaves its critical section.
func TestReductionKeepsLateLossesAndLeavings(t *testing.T) {
	for _, tellsLoss := range []bool{true, false} {
		compareVerdicts(t, exhaustive.Search{
			Scenario: locktest.Planned(t, writesAtLength(tellsLoss), 2, 1, "none"),
		})
	}
}
