package exhaustive_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// completeVerdicts returns the signatures of all violations that a complete search finds.
func completeVerdicts(t *testing.T, e exhaustive.Search) []string {
	t.Helper()
	found := make(map[string]bool)
	e.Each = func(result *engine.Result) {
		for _, v := range result.Violations {
			found[v.Signature()] = true
		}
	}
	if r := e.Run(context.Background(), t); !r.Complete {
		t.Fatalf("%v: not complete after %d states, %v", &e.Scenario, r.States, r.Nondeterministic)
	}
	return slices.Sorted(maps.Keys(found))
}

// tellsTooSoon is a lock whose holder signals with its last unlock but one that the lock is free,
// before it starts the release.
func tellsTooSoon() scenarios.Subject {
	s := locktest.Subject("tells-too-soon", func(p *scenarios.Process) scenarios.LockerFunc {
		free := p.Directory + "-free"
		return func(ctx context.Context) (*scenarios.Hold, error) {
			node, err := p.Client.Create(p.Directory+"/n-", nil, zk.FlagEphemeral|zk.FlagSequence,
				zk.WorldACL(zk.PermAll))
			if err != nil {
				return nil, err
			}
			unlock := func(context.Context) error { return p.Client.Delete(node, -1) }
			if p.Number == 2 {
				if there, _, err := p.Client.Exists(free); err != nil || !there {
					return nil, errors.Join(err, errors.New("taken"), unlock(ctx))
				}
			}
			tell := func(context.Context) error {
				_, err := p.Client.Create(free, nil, 0, zk.WorldACL(zk.PermAll))
				return err
			}
			again := func(context.Context) (*scenarios.Hold, error) {
				return &scenarios.Hold{
					Node:   node,
					Unlock: tell,
				}, nil
			}
			return &scenarios.Hold{Node: node, Unlock: unlock, Reenter: again}, nil
		}
	})
	s.Claims = []history.Property{history.ServerMutualExclusion}
	return s
}

// The reduction does not prioritize a delivery after which a process unlocks.
func TestReductionKeepsLateUnlocks(t *testing.T) {
	e := exhaustive.Search{Scenario: locktest.Planned(t, tellsTooSoon(), 2, 1, "none")}
	got := completeVerdicts(t, e)
	e.NoReduction = true
	if want := completeVerdicts(t, e); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("found %q, without reduction %q", got, want)
	}
}

// cutShort is a lock whose holder sends a request before it unlocks. Its unlock succeeds only if
// the connection breaks during that request and the holder has not yet learned of the other
// process's action. The other process deletes the holder's node in the meantime.
func cutShort() scenarios.Subject {
	s := locktest.Subject("cut-short", func(p *scenarios.Process) scenarios.LockerFunc {
		node, heard, asked := p.Directory+"/held", p.Directory+"/heard", p.Directory+"/asked"
		create := func(path string, flags int32) error {
			_, err := p.Client.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
			return err
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			if p.Number == 2 {
				create(heard, 0)
				_, later, err := p.Client.Exists(asked)
				if _, sooner, none := p.Client.Exists(heard); err == nil && none == nil &&
					sooner.Czxid < later.Czxid {
					p.Client.Delete(node, -1)
				}
				return nil, errors.New("taken")
			}
			there, _, events, err := p.Client.ExistsW(heard)
			if err != nil || there {
				return nil, errors.Join(err, errors.New("too late"))
			}
			if err := create(node, zk.FlagEphemeral); err != nil {
				return nil, err
			}
			told := errors.New("lost, perhaps")
			ask := func(context.Context) error {
				err := create(asked, 0)
				if len(events) == 0 && err == zk.ErrConnectionClosed {
					told = nil
				}
				return err
			}
			again := func(context.Context) (*scenarios.Hold, error) {
				return &scenarios.Hold{
					Node:   node,
					Unlock: ask,
				}, nil
			}
			return &scenarios.Hold{
				Node: node, Unlock: func(context.Context) error { return told },
				Reenter: again,
			}, nil
		}
	})
	s.Claims = []history.Property{history.LossNotification}
	return s
}

// The effect of a fault on a process with a message in flight depends on earlier steps of other
// processes, although only that process sees the message.
func TestReductionKeepsLateFaults(t *testing.T) {
	e := exhaustive.Search{Scenario: locktest.Planned(t, cutShort(), 2, 1, "cut:c1=1")}
	got := completeVerdicts(t, e)
	e.NoReduction = true
	if want := completeVerdicts(t, e); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("found %q, without reduction %q", got, want)
	}
}

// asksIfSlow is a lock in which one process sends many requests if another process was delayed at
// its start.
func asksIfSlow(busy int) scenarios.Subject {
	s := locktest.Subject("asks-if-slow", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(ctx context.Context) (*scenarios.Hold, error) {
			began := time.Now()
			if _, _, err := p.Client.Exists(p.Directory); err != nil {
				return nil, err
			}
			name := "/quick-"
			if time.Since(began) > 0 {
				name = "/slow-"
			}
			if _, err := p.Client.Create(p.Directory+name, nil, zk.FlagSequence,
				zk.WorldACL(zk.PermAll)); err != nil {
				return nil, err
			}
			time.Sleep(8*time.Second - time.Since(began))
			children, _, err := p.Client.Children(p.Directory)
			if err != nil {
				return nil, err
			}
			slices.Sort(children)
			slow := len(children) == 2 && children[0][:1] != children[1][:1]
			for range 10 {
				if p.Number == busy && slow {
					p.Client.Exists(p.Directory)
				}
			}
			return &scenarios.Hold{Unlock: locktest.Free}, nil
		}
	})
	s.Claims = []history.Property{history.NoHerd}
	return s
}

// The state key includes whether an attempt was disturbed, because its cost is then not checked.
func TestDisturbedAttemptsAreDistinguished(t *testing.T) {
	for _, busy := range []int{1, 2} {
		e := exhaustive.Search{
			Scenario:    locktest.Planned(t, asksIfSlow(busy), 2, 1, "stall-replies=1"),
			NoReduction: true,
		}
		got := completeVerdicts(t, e)
		e.NoMerge = true
		if want := completeVerdicts(t, e); !slices.Equal(got, want) {
			t.Errorf("c%d: found %q, without merging %q", busy, got, want)
		}
	}
}

// takesAway is a lock whose second process deletes the node of the first after that has begun to
// leave. The first process does not notice.
func takesAway() scenarios.Subject {
	s := locktest.Subject("takes-away", func(p *scenarios.Process) scenarios.LockerFunc {
		node, leaves := p.Directory+"/held", p.Directory+"/leaves"
		create := func(path string, flags int32) error {
			_, err := p.Client.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
			return err
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			if p.Number == 2 {
				if there, _, err := p.Client.Exists(leaves); err == nil && there {
					p.Client.Delete(node, -1)
				}
				return nil, errors.New("taken")
			}
			if err := create(node, zk.FlagEphemeral); err != nil {
				return nil, err
			}
			unlock := func(context.Context) error {
				if err := p.Client.Delete(node, -1); !errors.Is(err, zk.ErrNoNode) {
					return err
				}
				return nil
			}
			again := func(context.Context) (*scenarios.Hold, error) {
				return &scenarios.Hold{Node: node, Unlock: func(context.Context) error {
					return create(leaves,
						0)
				}}, nil
			}
			return &scenarios.Hold{Node: node, Unlock: unlock, Reenter: again}, nil
		}
	})
	s.Claims = []history.Property{history.LossNotification}
	return s
}

// The state key includes whether a node was deleted before or after the start of its release.
func TestEarlyLossIsDistinguished(t *testing.T) {
	for _, e := range []exhaustive.Search{
		{},
		{NoReduction: true},
		{NoMerge: true},
		{NoReplayCache: true},
	} {
		e.Scenario = locktest.Planned(t, takesAway(), 2, 1, "none")
		if found := completeVerdicts(t, e); len(found) == 0 {
			t.Errorf("nothing was found: no reduction %v, no merge %v, live %v", e.NoReduction,
				e.NoMerge, e.NoReplayCache)
		}
	}
}

// With several servers, a reduced search has the same timed histories of each process, although it
// omits orders of independent steps. So has one of live processes, whose states have other keys.
func TestReductionOnSeveralServers(t *testing.T) {
	for _, tc := range long.Sample([]struct {
		subject         scenarios.Subject
		clients, cycles int
		plan            string
		live            bool // compare live searches with the cached one as well
	}{
		{subjects.Mutex(), 2, 1, "none", false},
		{subjects.ExistsThenWait(), 2, 1, "none", false},
		{subjects.NameOrder(), 2, 1, "none", false},
		{subjects.NoRecheck(), 2, 1, "none", false},
		{subjects.Mutex(), 1, 1, "kill-server=1", false},
		{subjects.Mutex(), 1, 1, "partition-server=1", false},
		{subjects.Mutex(), 1, 1, "partition-outbound=1", false},
		{subjects.NoGUID(), 1, 1, "lose-reply=1", true},
		{subjects.Mutex(), 1, 2, "reset=1", false},
		{subjects.Textbook(), 2, 1, "cancel=1", false},
		{subjects.Textbook(), 1, 1, "partition-link=1", true},
	}, 3) {
		t.Run(fmt.Sprintf("%s %d×%d %s", tc.subject.Name, tc.clients, tc.cycles, tc.plan),
			func(t *testing.T) {
				e := exhaustive.Search{
					Scenario: locktest.Planned(t, tc.subject, tc.clients, tc.cycles, tc.plan),
					NoMerge:  true,
				}
				e.Scenario.Servers = 3
				got, verdicts, r := processPrefixes(t, e)
				want, wantVerdicts, unreduced := processPrefixes(t, *e.JumpsOnly())
				maps.DeleteFunc(got, continuesAfterFinish)
				maps.DeleteFunc(want, continuesAfterFinish)
				if !maps.Equal(got, want) {
					t.Errorf("%d process histories, want %d", len(got), len(want))
				}
				if !maps.Equal(verdicts, wantVerdicts) {
					t.Errorf("verdicts %v, want %v", slices.Sorted(maps.Keys(verdicts)),
						slices.Sorted(maps.Keys(wantVerdicts)))
				}
				if 2*r.States > unreduced.States {
					t.Errorf("%d states, without reduction %d", r.States, unreduced.States)
				}
				if !tc.live {
					return
				}
				e.NoReplayCache = true
				live, liveVerdicts, _ := processPrefixes(t, e)
				maps.DeleteFunc(live, continuesAfterFinish)
				if !maps.Equal(live, want) || !maps.Equal(liveVerdicts, wantVerdicts) {
					t.Errorf("live: %d process histories, want %d; verdicts %v", len(live),
						len(want), slices.Sorted(maps.Keys(liveVerdicts)))
				}
			})
	}
}

// asksForLong is a lock whose first process watches for a node that the second creates, and then
// sends a write. While the server is partitioned, the write waits until the session ends.
func asksForLong() scenarios.Subject {
	s := locktest.Subject("asks-for-long", func(p *scenarios.Process) scenarios.LockerFunc {
		create := func(path string) error {
			_, err := p.Client.Create(p.Directory+path, nil, 0, zk.WorldACL(zk.PermAll))
			return err
		}
		return func(context.Context) (*scenarios.Hold, error) {
			if p.Number == 2 {
				time.Sleep(2 * time.Second)
				err := create("/watched")
				time.Sleep(7 * time.Second)
				return nil, errors.Join(err, errors.New("taken"))
			}
			_, _, _, err := p.Client.ExistsW(p.Directory + "/watched")
			time.Sleep(time.Second)
			return nil, errors.Join(err, create("/asked"), errors.New("taken"))
		}
	})
	s.Claims = []history.Property{history.LossNotification}
	return s
}

// A server that applies the end of a session drops the messages in flight to its client. The
// reduction therefore keeps the client's earlier steps, even while it waits for an answer.
func TestReductionKeepsWhatComesBeforeTheEndOfASession(t *testing.T) {
	e := exhaustive.Search{
		Scenario: locktest.Planned(t, asksForLong(), 2, 1, "partition-server=1"),
		NoMerge:  true,
	}
	e.Scenario.Servers = 3
	got, _, _ := processPrefixes(t, e)
	want, _, _ := processPrefixes(t, *e.JumpsOnly())
	for _, prefixes := range []map[processPrefix]bool{got, want} {
		maps.DeleteFunc(prefixes, continuesAfterFinish)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d process histories, want %d", len(got), len(want))
	}
}

// continuesAfterFinish reports whether a process history has events after its end.
func continuesAfterFinish(_ processPrefix, continues bool) bool { return continues }
