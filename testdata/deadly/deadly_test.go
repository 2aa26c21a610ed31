// Package deadly has locks that end the program.
package deadly

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// A lock creates its node. If another process has it, or the connection breaks, it calls contended
// in a goroutine of its own.
type lock struct {
	p         *scenarios.Process
	contended func()
}

func (l *lock) Lock(context.Context) (*scenarios.Hold, error) {
	for {
		path := l.p.Directory + "/node"
		_, err := l.p.Client.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if err == nil {
			return &scenarios.Hold{Unlock: func(context.Context) error {
				return l.p.Client.Delete(path, -1)
			}}, nil
		}
		if err != zk.ErrNodeExists {
			return nil, err
		}
		exists, _, events, err := l.p.Client.ExistsW(path)
		if err != nil {
			return nil, err
		}
		if exists {
			go l.onDeletion(events)
			<-events
		}
	}
}

// onDeletion waits for the deletion of the node.
func (l *lock) onDeletion(events <-chan zk.Event) {
	if e, ok := <-events; !ok || e.Type == zk.EventNodeDeleted {
		l.contended()
	}
}

var sink [][]byte

func grow() {
	for {
		sink = append(sink, make([]byte, 1<<20)) // line: memory
	}
}

func scenario(name string, contended func(*scenarios.Process)) scenarios.Scenario {
	return scenarios.Scenario{
		Clients: 2, Cycles: 1, Faults: faults.Plan{},
		Subject: scenarios.Subject{
			Name: name, Claims: history.SpinLock(),
			Open: func(p *scenarios.Process) (scenarios.Locker, error) {
				return &lock{p, func() { contended(p) }}, nil
			},
		},
	}
}

func check(t *testing.T, name string, contended func(*scenarios.Process)) {
	t.Helper()
	interlock.Check(t, scenario(name, contended))
}

func TestRapid(t *testing.T) {
	interlock.CheckRapid(t, scenario("rapid", func(*scenarios.Process) {
		panic("in rapid") // line: rapid
	}))
}

// A hasty lock is now and then granted without a node, in one of eight calls.
type hasty struct{ scenarios.Locker }

func (h hasty) Lock(ctx context.Context) (*scenarios.Hold, error) {
	if coin() && coin() && coin() {
		return &scenarios.Hold{Unlock: func(context.Context) error { return nil }}, nil
	}
	return h.Locker.Lock(ctx)
}

// coin returns true in half of the calls: a select with two ready cases is random.
func coin() bool {
	heads, tails := make(chan struct{}, 1), make(chan struct{}, 1)
	heads <- struct{}{}
	tails <- struct{}{}
	select {
	case <-heads:
		return true
	case <-tails:
		return false
	}
}

func TestHasty(t *testing.T) {
	s := scenario("hasty", func(*scenarios.Process) {})
	open := s.Subject.Open
	s.Subject.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		locker, err := open(p)
		return hasty{locker}, err
	}
	s.Subject.Claims = []history.Property{history.ClientMutualExclusion}
	interlock.CheckRapid(t, s)
}

func FuzzPanic(f *testing.F) {
	interlock.Fuzz(f, scenario("fuzz", func(*scenarios.Process) {
		panic("in a fuzzer") // line: fuzz
	}))
}

func FuzzWorker(f *testing.F) {
	interlock.Fuzz(f, scenario("worker", func(*scenarios.Process) {
		panic("in a worker") // line: worker
	}))
}

func TestPanic(t *testing.T) {
	check(t, "panic", func(p *scenarios.Process) {
		panic(fmt.Sprint("no watch for ", p.Number)) // line: panic
	})
}

func TestOpen(t *testing.T) {
	s := scenario("open", func(*scenarios.Process) {})
	s.Subject.Open = func(*scenarios.Process) (scenarios.Locker, error) {
		panic("before the first request") // line: open
	}
	interlock.Check(t, s)
}

func TestCondition(t *testing.T) {
	s := scenario("condition", func(*scenarios.Process) {})
	s.Subject.Sometimes = []history.Sometimes{{
		Name: "a condition that panics", Clients: 1,
		Reached: func([]history.Event) bool { panic("in a condition") },
	}}
	interlock.Check(t, s)
}

func TestExit(t *testing.T) {
	check(t, "exit", func(*scenarios.Process) {
		os.Exit(3) // line: exit
	})
}

func TestFatal(t *testing.T) {
	check(t, "fatal", func(*scenarios.Process) {
		new(sync.Mutex).Unlock() // line: fatal
	})
}

// free is never set.
var free atomic.Bool

// spin is not inlined: the instructions of its loop belong to several lines, and its call has one.
//
//go:noinline
func spin() {
	for !free.Load() {
	}
}

func TestSpin(t *testing.T) {
	check(t, "spin", func(*scenarios.Process) {
		spin() // line: spin
	})
}

// A goroutine waits for a mutex whose owner waits for ZooKeeper.
func TestMutex(t *testing.T) {
	check(t, "mutex", func(p *scenarios.Process) {
		var mu sync.Mutex
		mu.Lock()
		go func() {
			mu.Lock() // line: mutex
			mu.Unlock()
		}()
		_, _, _ = p.Client.Exists(p.Directory)
		mu.Unlock()
	})
}

func TestMemory(t *testing.T) {
	check(t, "memory", func(*scenarios.Process) { grow() })
}

// The lock dies when the run ends, after its last decision.
func TestLate(t *testing.T) {
	s := scenario("late", func(*scenarios.Process) {})
	open := s.Subject.Open
	s.Subject.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		context.AfterFunc(p.Context(), func() {
			panic("at the end") // line: late
		})
		return open(p)
	}
	interlock.Check(t, s)
}
