package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// completeVerdicts returns what a whole search finds.
func completeVerdicts(t *testing.T, e scenarios.Exhaustive) []string {
	t.Helper()
	found := make(map[string]bool)
	e.Each = func(result *scenarios.Result) {
		for _, v := range result.Violations {
			found[v.Signature()] = true
		}
	}
	if r := e.Run(context.Background(), t); !r.Complete {
		t.Fatalf("%v: not complete after %d states, %v", &e.Scenario, r.States, r.Nondeterministic)
	}
	return slices.Sorted(maps.Keys(found))
}

// tellsTooSoon is a lock whose holder tells the next one that the lock is free before it begins to
// give it back: with the last unlock but one.
func tellsTooSoon() scenarios.Subject {
	s := subject("tells-too-soon", func(p *scenarios.Process) scenarios.LockerFunc {
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

// A delivery by which a process comes to give its lock back is not put before what others do alone.
func TestReductionKeepsLateUnlocks(t *testing.T) {
	e := scenarios.Exhaustive{Scenario: planned(t, tellsTooSoon(), 2, 1, "none")}
	got := completeVerdicts(t, e)
	e.NoReduction = true
	if want := completeVerdicts(t, e); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("found %q, and %q with nothing left out", got, want)
	}
}

// cutShort is a lock whose holder asks for something before it unlocks, and says that all is well
// only if its connection breaks then and it has not yet heard what the other process has done. That
// one takes its node away meanwhile.
func cutShort() scenarios.Subject {
	s := subject("cut-short", func(p *scenarios.Process) scenarios.LockerFunc {
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

// What comes of a fault that strikes a process while a message to it is under way depends on what
// others do before, though nobody but the process takes notice of the message.
func TestReductionKeepsLateFaults(t *testing.T) {
	e := scenarios.Exhaustive{Scenario: planned(t, cutShort(), 2, 1, "cut:c1=1")}
	got := completeVerdicts(t, e)
	e.NoReduction = true
	if want := completeVerdicts(t, e); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("found %q, and %q with nothing left out", got, want)
	}
}

// asksIfSlow is a lock of which one process sends many requests if somebody was held up when it
// began.
func asksIfSlow(busy int) scenarios.Subject {
	s := subject("asks-if-slow", func(p *scenarios.Process) scenarios.LockerFunc {
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
			return &scenarios.Hold{Unlock: free}, nil
		}
	})
	s.Claims = []history.Property{history.NoHerd}
	return s
}

// Whether something has disturbed an attempt, so that its cost is not judged, tells states apart.
func TestDisturbedAttemptsAreToldApart(t *testing.T) {
	for _, busy := range []int{1, 2} {
		e := scenarios.Exhaustive{
			Scenario:    planned(t, asksIfSlow(busy), 2, 1, "stall-replies=1"),
			NoReduction: true,
		}
		got := completeVerdicts(t, e)
		e.NoMerge = true
		if want := completeVerdicts(t, e); !slices.Equal(got, want) {
			t.Errorf("c%d: found %q, and %q where all pasts are told apart", busy, got, want)
		}
	}
}

// takesAway is a lock whose second process deletes the node of the first once that has begun to
// leave. The first notices nothing.
func takesAway() scenarios.Subject {
	s := subject("takes-away", func(p *scenarios.Process) scenarios.LockerFunc {
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

// Whether a node went before or after its holder began to give the lock back tells states apart.
func TestEarlyLossIsToldApart(t *testing.T) {
	for _, e := range []scenarios.Exhaustive{
		{},
		{NoReduction: true},
		{NoMerge: true},
		{NoReplayCache: true},
	} {
		e.Scenario = planned(t, takesAway(), 2, 1, "none")
		if found := completeVerdicts(t, e); len(found) == 0 {
			t.Errorf("nothing was found, unreduced %v, apart %v, live %v", e.NoReduction, e.NoMerge,
				e.NoReplayCache)
		}
	}
}

// On several servers a search comes to all that can happen to a process, and when, though it leaves
// out orders of steps that commute.
func TestReductionOnSeveralServers(t *testing.T) {
	for _, tc := range []struct {
		subject         scenarios.Subject
		clients, cycles int
		plan            string
	}{
		{subjects.Mutex(), 2, 1, "none"},
		{subjects.ExistsThenWait(), 2, 1, "none"},
		{subjects.NameOrder(), 2, 1, "none"},
		{subjects.NoRecheck(), 2, 1, "none"},
		{subjects.Mutex(), 1, 1, "kill-server=1"},
		{subjects.Mutex(), 1, 1, "partition-server=1"},
		{subjects.Mutex(), 1, 1, "partition-outbound=1"},
		{subjects.Textbook(), 1, 1, "partition-link=1"},
		{subjects.Mutex(), 1, 2, "reset=1"},
		{subjects.Textbook(), 2, 1, "cancel=1"},
		{subjects.NoGUID(), 1, 1, "lose-reply=1"},
	} {
		t.Run(fmt.Sprintf("%s %d×%d %s", tc.subject.Name, tc.clients, tc.cycles, tc.plan),
			func(t *testing.T) {
				e := scenarios.Exhaustive{
					Scenario: planned(t, tc.subject, tc.clients, tc.cycles, tc.plan),
					NoMerge:  true,
				}
				e.Scenario.Servers = 3
				got, verdicts, r := processPrefixes(t, e)
				want, wantVerdicts, unreduced := processPrefixes(t, *e.LeapsOnly())
				maps.DeleteFunc(got, continuesAfterFinish)
				maps.DeleteFunc(want, continuesAfterFinish)
				if !maps.Equal(got, want) {
					t.Errorf("%d lives, want %d", len(got), len(want))
				}
				if !maps.Equal(verdicts, wantVerdicts) {
					t.Errorf("verdicts %v, want %v", slices.Sorted(maps.Keys(verdicts)),
						slices.Sorted(maps.Keys(wantVerdicts)))
				}
				if 2*r.States > unreduced.States {
					t.Errorf("%d states, and %d with nothing left out", r.States, unreduced.States)
				}
			})
	}
}

// asksForLong is a lock of which the first process watches for a node that the second one makes and
// then asks for a write, which waits for as long as its server is cut off from the others: in the
// end until its session is over.
func asksForLong() scenarios.Subject {
	s := subject("asks-for-long", func(p *scenarios.Process) scenarios.LockerFunc {
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

// A server that is about to apply the end of a session drops what is under way to its client, so
// what the client does before is not left out, though it waits for an answer.
func TestReductionKeepsWhatComesBeforeTheEndOfASession(t *testing.T) {
	e := scenarios.Exhaustive{
		Scenario: planned(t, asksForLong(), 2, 1, "partition-server=1"),
		NoMerge:  true,
	}
	e.Scenario.Servers = 3
	got, _, _ := processPrefixes(t, e)
	want, _, _ := processPrefixes(t, *e.LeapsOnly())
	for _, prefixes := range []map[string]bool{got, want} {
		maps.DeleteFunc(prefixes, continuesAfterFinish)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d lives of processes, want %d", len(got), len(want))
	}
}

// continuesAfterFinish tells whether something is in a life of a process after it has finished,
// which nobody takes note of.
func continuesAfterFinish(life string, _ bool) bool {
	_, after, finished := strings.Cut(life, history.Finished.String())
	return finished && strings.Count(after, ";") > 1
}
