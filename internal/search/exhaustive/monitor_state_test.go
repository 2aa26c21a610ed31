package exhaustive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
)

// A script determines the result of each attempt of a lock by process and attempt.
type script func(p *scenarios.Process, attempt int) (*scenarios.Hold, error)

func scripted(claim history.Property, s script) scenarios.Subject {
	scripted := locktest.Subject("scripted", func(p *scenarios.Process) scenarios.LockerFunc {
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

// create creates a node beside the lock's directory.
func create(p *scenarios.Process, name string, flags int32) error {
	_, err := p.Client.Create(p.Directory+"-"+name, nil, flags, zk.WorldACL(zk.PermAll))
	return err
}

func exists(p *scenarios.Process, name string) bool {
	there, _, err := p.Client.Exists(p.Directory + "-" + name)
	return err == nil && there
}

// firstComeFirstWrites is a lock whose first attempts can both write, with tokens 1 and 3, but only
// the first write succeeds. Afterwards the process that had token 1 writes with token 2. The
// resource is the znode that the first write creates, or is not declared as one.
func firstComeFirstWrites(znode string) func(twice int) scenarios.Subject {
	return func(twice int) scenarios.Subject {
		return scripted(history.Fencing, func(
			p *scenarios.Process, attempt int,
		) (*scenarios.Hold, error) {
			hold := &scenarios.Hold{Unlock: locktest.Free, Resource: &scenarios.Resource{
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

// grantsLate is a lock that grants one process token 5 by a node that the other process deletes
// before or after the grant. After that, it grants the other process token 4.
func grantsLate(deletes int) scenarios.Subject {
	return scripted(history.MonotonicToken,
		func(p *scenarios.Process, attempt int) (*scenarios.Hold, error) {
			switch {
			case p.Number == deletes && attempt == 1:
				return nil, errors.Join(p.Client.Delete(p.Directory+"-node", -1), errTaken)
			case attempt == 2 && exists(p, "over") && p.Number == deletes:
				return &scenarios.Hold{Token: 4, Unlock: locktest.Free}, nil
			case attempt == 2:
				return nil, errTaken
			}
			if err := create(p, "node", zk.FlagEphemeral); err != nil {
				return nil, err
			}
			exists(p, "node") // The node may be deleted during the request.
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

// The state key includes the monitor state of the token and fencing checkers about earlier holders.
func TestMonitorStatesAreDistinguished(t *testing.T) {
	for name, lock := range map[string]func(int) scenarios.Subject{
		"newest writer":            firstComeFirstWrites(""),
		"newest writer of a znode": firstComeFirstWrites("/lock-written"),
		"highest token":            grantsLate,
	} {
		for process := 1; process <= 2; process++ {
			t.Run(fmt.Sprintf("%s c%d", name, process), func(t *testing.T) {
				e := exhaustive.Search{
					Scenario:      locktest.Planned(t, lock(process), 2, 2, "none"),
					NoReplayCache: true, NoReduction: true,
				}
				want := completeVerdicts(t, e)
				if len(want) == 0 {
					t.Fatal("the search found nothing")
				}
				for _, e := range []exhaustive.Search{
					{},
					{NoReduction: true},
					{NoMerge: true},
					{NoReplayCache: true},
				} {
					e.Scenario = locktest.Planned(t, lock(process), 2, 2, "none")
					if got := completeVerdicts(t, e); !slices.Equal(got, want) {
						t.Errorf("no reduction %v, no merge %v, live %v: found %q, want %q",
							e.NoReduction, e.NoMerge, e.NoReplayCache, got, want)
					}
				}
			})
		}
	}
}

// answersTwice is a lock whose first process creates its node by a multi and reads the answer
// later. The second process creates a node by a multi or a create, and the first learns of it only
// then.
func answersTwice() scenarios.Subject {
	open := zk.WorldACL(zk.PermAll)
	return scripted(history.LossNotification, func(
		p *scenarios.Process, _ int,
	) (*scenarios.Hold, error) {
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

// The answer of a multi stays the same when code is run again, although its memory is reused for
// other answers.
func TestMultiAnswersPersist(t *testing.T) {
	e := exhaustive.Search{
		Scenario:    locktest.Planned(t, answersTwice(), 2, 1, "none"),
		NoReduction: true,
	}
	if found := completeVerdicts(t, *e.Rooted()); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}
