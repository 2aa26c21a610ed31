package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// A script is a lock whose attempts do each what the test says, by process and attempt.
type script func(p *scenarios.Process, attempt int) (*scenarios.Hold, error)

func scripted(claim history.Property, s script) scenarios.Subject {
	scripted := subject("scripted", func(p *scenarios.Process) scenarios.LockerFunc {
		attempt := 0
		return func(context.Context) (*scenarios.Hold, error) {
			attempt++
			return s(p, attempt)
		}
	})
	scripted.Claims = []history.Property{claim}
	return scripted
}

var errTaken = errors.New("taken")

// create makes a node beside the lock's directory.
func create(p *scenarios.Process, name string, flags int32) error {
	_, err := p.Client.Create(p.Directory+"-"+name, nil, flags, zk.WorldACL(zk.PermAll))
	return err
}

func exists(p *scenarios.Process, name string) bool {
	there, _, err := p.Client.Exists(p.Directory + "-" + name)
	return err == nil && there
}

// firstComeFirstWrites is a lock whose first attempts can all write, with tokens 1 and 3, but only
// the first write is accepted. When both are over, the process that had token 1 writes with token
// 2. What they write to is the znode that the first makes, or is not said to be one.
func firstComeFirstWrites(znode string) func(twice int) scenarios.Subject {
	return func(twice int) scenarios.Subject {
		return scripted(history.Fencing, func(p *scenarios.Process, attempt int) (*scenarios.Hold,
			error,
		) {
			hold := &scenarios.Hold{Unlock: free, Resource: &scenarios.Resource{
				Path: znode,
				Read: func(context.Context) (int64, error) { return 0, nil },
				Write: func(context.Context) (int64, error) {
					return 1, create(p, "written", 0)
				},
			}}
			switch {
			case attempt == 2 && (!exists(p, "over") || p.Number != twice):
				return nil, errTaken
			case attempt == 2:
				hold.Token = 2
				hold.Resource.Write = func(context.Context) (int64, error) {
					_, err := p.Client.Set(p.Directory+"-written", nil, -1)
					return 2, err
				}
			case p.Number == twice:
				hold.Token, hold.Unlock = 1,
					func(context.Context) error { return create(p, "tried", 0) }
			default:
				hold.Token, hold.Unlock = 3, func(context.Context) error {
					if !exists(p, "tried") {
						return errTaken
					}
					return create(p, "over", 0)
				}
			}
			return hold, nil
		})
	}
}

// grantsLate is a lock of which one process is granted the lock with token 5 by a node that the
// other one deletes, before the grant or after it. When that is over the other one is granted the
// lock with token 4.
func grantsLate(deletes int) scenarios.Subject {
	return scripted(history.MonotonicToken,
		func(p *scenarios.Process, attempt int) (*scenarios.Hold,
			error,
		) {
			switch {
			case p.Number == deletes && attempt == 1:
				return nil, errors.Join(p.Client.Delete(p.Directory+"-node", -1), errTaken)
			case attempt == 2 && exists(p, "over") && p.Number == deletes:
				return &scenarios.Hold{Token: 4, Unlock: free}, nil
			case attempt == 2:
				return nil, errTaken
			}
			if err := create(p, "node", zk.FlagEphemeral); err != nil {
				return nil, err
			}
			exists(p, "node") // While it asks the node may go.
			return &scenarios.Hold{
				Node: p.Directory + "-node", Token: 5,
				Unlock: func(context.Context) error {
					if exists(p, "node") {
						return errTaken
					}
					return create(p, "over", 0)
				},
			}, nil
		})
}

// What the checkers of tokens and of fencing remember of processes that have gone on tells states
// apart.
func TestWhatCheckersRememberIsToldApart(t *testing.T) {
	for name, lock := range map[string]func(int) scenarios.Subject{
		"newest writer":            firstComeFirstWrites(""),
		"newest writer of a znode": firstComeFirstWrites("/lock-written"),
		"highest token":            grantsLate,
	} {
		for process := 1; process <= 2; process++ {
			t.Run(fmt.Sprintf("%s c%d", name, process), func(t *testing.T) {
				e := scenarios.Exhaustive{
					Scenario:      planned(t, lock(process), 2, 2, "none"),
					NoReplayCache: true, NoReduction: true,
				}
				want := completeVerdicts(t, e)
				if len(want) == 0 {
					t.Fatal("nothing can be found")
				}
				for _, e := range []scenarios.Exhaustive{
					{},
					{NoReduction: true},
					{NoMerge: true},
					{NoReplayCache: true},
				} {
					e.Scenario = planned(t, lock(process), 2, 2, "none")
					if got := completeVerdicts(t, e); !slices.Equal(got, want) {
						t.Errorf("unreduced %v, apart %v, live %v: found %q, want %q",
							e.NoReduction, e.NoMerge,
							e.NoReplayCache, got, want)
					}
				}
			})
		}
	}
}

// answersTwice is a lock whose first process makes its node by a multi and looks at the answer
// later. The second process makes a node by a multi or without one, of which the first learns only
// then.
func answersTwice() scenarios.Subject {
	open := zk.WorldACL(zk.PermAll)
	return scripted(history.LossNotification, func(p *scenarios.Process, _ int) (*scenarios.Hold,
		error,
	) {
		multi := func(name string) string {
			answers, err := p.Client.(interface {
				Multi(...any) ([]zk.MultiResponse, error)
			}).Multi(&zk.CreateRequest{
				Path: p.Directory + "/" + name, Flags: zk.FlagEphemeral,
				Acl: open,
			})
			if err != nil {
				return ""
			}
			return answers[0].String
		}
		if p.Number == 2 {
			if exists(p, "begun") {
				multi("by-multi")
			} else {
				p.Client.Create(p.Directory+"/alone", nil, zk.FlagEphemeral, open)
			}
			return nil, errTaken
		}
		if err := create(p, "begun", 0); err != nil {
			return nil, err
		}
		node := multi("first")
		if _, _, err := p.Client.Children(p.Directory); err != nil {
			return nil, err
		}
		if node != p.Directory+"/first" {
			panic("answered " + node)
		}
		return &scenarios.Hold{
			Node:   node,
			Unlock: func(context.Context) error { return p.Client.Delete(node, -1) },
		}, nil
	})
}

// What a multi was answered stays what it was for code that is run again, though the memory of the
// answer is used for others.
func TestAnswersOfMultisStay(t *testing.T) {
	e := scenarios.Exhaustive{Scenario: planned(t, answersTwice(), 2, 1, "none"), NoReduction: true}
	if found := completeVerdicts(t, *e.Rooted()); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}
