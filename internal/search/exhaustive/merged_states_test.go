package exhaustive_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// leaksWhereSecond is the textbook lock with a goroutine that waits for the end of its process. If
// another contender is in the queue at the call of Lock, it leaks a second goroutine.
func leaksWhereSecond() scenarios.Subject {
	return locktest.Subject("leaks-where-second", func(p *scenarios.Process) scenarios.LockerFunc {
		locker, err := subjects.Textbook().Open(p)
		if err != nil {
			panic(err)
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			go func() { <-ctx.Done() }()
			children, _, err := p.Client.Children(p.Directory)
			if err != nil {
				return nil, err
			}
			if len(children) == 1 {
				go func() { select {} }()
			}
			return locker.Lock(ctx)
		}
	})
}

// epochs grants the lock to every process at once. Its token is the sequence number of the
// process's node.
func epochs() scenarios.Subject {
	s := locktest.Subject("epochs", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			path, err := p.Client.Create(p.Directory+"/n-", nil, zk.FlagEphemeral|zk.FlagSequence,
				zk.WorldACL(zk.PermAll))
			if err != nil {
				return nil, err
			}
			number := int64(path[len(path)-1] - '0' + 1)
			return &scenarios.Hold{
				Node: path, Token: number,
				Unlock: func(context.Context) error { return p.Client.Delete(path, -1) },
			}, nil
		}
	})
	s.Claims = []history.Property{history.MonotonicToken}
	return s
}

// tooSoonWhereSecond releases the lock before its last unlock if another contender was in the queue
// at the call of Lock.
func tooSoonWhereSecond() scenarios.Subject {
	s := locktest.Subject("too-soon-where-second", func(p *scenarios.Process) scenarios.LockerFunc {
		locker, err := subjects.Textbook().Open(p)
		if err != nil {
			panic(err)
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			children, _, err := p.Client.Children(p.Directory)
			if err != nil {
				return nil, err
			}
			hold, err := locker.Lock(ctx)
			if err != nil {
				return nil, err
			}
			unlock := hold.Unlock
			gone := false
			hold.Reenter = func(context.Context) (*scenarios.Hold, error) {
				return &scenarios.Hold{Unlock: func(ctx context.Context) error {
					if gone = len(children) > 0; gone {
						return unlock(ctx)
					}
					return nil
				}}, nil
			}
			hold.Unlock = func(ctx context.Context) error {
				if !gone {
					return unlock(ctx)
				}
				return nil
			}
			return hold, nil
		}
	})
	return s
}

// tooSoonBefore releases the lock before its last unlock if its node was the first and the queue
// has the given number of contenders.
func tooSoonBefore(contenders int) scenarios.Subject {
	s := locktest.Subject("too-soon-before", func(p *scenarios.Process) scenarios.LockerFunc {
		locker, err := subjects.Textbook().Open(p)
		if err != nil {
			panic(err)
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			hold, err := locker.Lock(ctx)
			if err != nil {
				return nil, err
			}
			unlock := hold.Unlock
			gone := false
			hold.Reenter = func(context.Context) (*scenarios.Hold, error) {
				return &scenarios.Hold{Unlock: func(ctx context.Context) error {
					children, _, err := p.Client.Children(p.Directory)
					if gone = len(children) == contenders &&
						strings.HasSuffix(hold.Node, "0"); err != nil ||
						!gone {
						return err
					}
					return unlock(ctx)
				}}, nil
			}
			hold.Unlock = func(ctx context.Context) error {
				if gone {
					return nil
				}
				return unlock(ctx)
			}
			return hold, nil
		}
	})
	s.Claims = []history.Property{history.Reentrancy}
	return s
}

// asksWhenLate exceeds its limit of requests if time passed before its wake-up.
func asksWhenLate() scenarios.Subject {
	s := locktest.Subject("asks-when-late", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			began := time.Now()
			path, err := p.Client.Create(p.Directory+"/n-", nil, zk.FlagEphemeral|zk.FlagSequence,
				zk.WorldACL(zk.PermAll))
			if err != nil {
				return nil, err
			}
			hold := &scenarios.Hold{
				Node:   path,
				Unlock: func(context.Context) error { return p.Client.Delete(path, -1) },
			}
			if strings.HasSuffix(path, "0") {
				return hold, nil
			}
			there, _, events, err := p.Client.ExistsW(path[:len(path)-1] + "0")
			if err != nil || !there {
				return hold, err
			}
			<-events
			for range 4 {
				if time.Since(began) > 0 {
					p.Client.Exists(p.Directory)
				}
			}
			return hold, nil
		}
	})
	s.Claims = []history.Property{history.NoHerd}
	s.Limits = history.Limits{
		WakeUps: 1, Requests: 4, RequestsPerChange: 1, Overtakings: 0,
		RequestsPerSecond: 30,
	}
	return s
}

// A merged state loses nothing of a local history that a later violation depends on.
func TestMergedHistoriesAreIrrelevant(t *testing.T) {
	for _, tc := range []struct {
		subject         scenarios.Subject
		clients, cycles int
		idleTicks       int
		want            string
	}{
		{leaksWhereSecond(), 2, 1, 0, "no-goroutine-leak"},
		{tooSoonWhereSecond(), 2, 1, 0, "reentrancy"},
		{tooSoonBefore(1), 2, 1, 0, "reentrancy"},
		{tooSoonBefore(2), 2, 1, 0, "reentrancy"},
		{epochs(), 2, 1, 0, "monotonic-token"},
		{asksWhenLate(), 2, 1, 1, "no-herd"},
	} {
		t.Run(tc.subject.Name, func(t *testing.T) {
			e := exhaustive.Search{
				Scenario:  locktest.Planned(t, tc.subject, tc.clients, tc.cycles, "none"),
				IdleTicks: tc.idleTicks,
			}
			merged := e
			e.NoMerge = true
			unmerged := e
			e.NoReplayCache = true
			e.NoReduction = tc.want != "reentrancy" && tc.idleTicks == 0
			for how, e := range map[string]exhaustive.Search{
				"merged": merged, "apart": unmerged, "live": e,
			} {
				found := false
				ctx, end := context.WithCancel(t.Context())
				e.Each = func(r *engine.Result) {
					if slices.ContainsFunc(r.Violations, func(v *history.Violation) bool {
						return string(v.Property) == tc.want
					}) {
						found = true
						end()
					}
				}
				if e.Run(ctx, t); !found {
					t.Errorf("%s: no %s", how, tc.want)
				}
				end()
			}
		})
	}
}
