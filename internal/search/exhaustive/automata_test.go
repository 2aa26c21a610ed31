package exhaustive_test

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
	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
)

// An automaton is a lock by ZooKeeper's recipe with hidden state that persists over its attempts.
// Each observation of the queue is an input of its state machine. In one state and at one place,
// the lock applies its defect.
type automaton struct {
	Next    [states][inputs]int // by state and input
	State   int                 // of the defect
	Place   place
	Defect  defect
	Attempt int  // the first with the defect
	Looks   bool // lists the queue before it creates its node, too
	Watches bool // all children
	Token   int  // source of fencing tokens: none, the czxid of the node, its sequence number
	Idle    bool // runs a goroutine until the context ends
	Silent  bool // the hold does not name its node
	Clock   bool // inputs depend on the time, too
	Sleeps  bool // after its first input
}

const (
	states = 3
	inputs = 4
)

type place int

const (
	beforeNode place = iota
	afterList
	beforeGrant
	inUnlock
	afterUnlock
	places
)

type defect int

const (
	grantsEarly defect = iota
	asksOften
	makesTwo
	keepsNode
	panicsThen
	leaksThen
	refuses
	dropsNode
	lowToken
	asksOnce
	defects
)

var errOnPurpose = errors.New("on purpose")

func (a *automaton) subject() scenarios.Subject {
	return locktest.Subject("automaton", func(p *scenarios.Process) scenarios.LockerFunc {
		l := &automatonLock{automaton: a, p: p, began: time.Now()}
		if a.Idle {
			return func(ctx context.Context) (*scenarios.Hold, error) {
				if l.attempt == 0 {
					go func() { <-ctx.Done() }()
				}
				return l.lock(ctx)
			}
		}
		return l.lock
	})
}

type automatonLock struct {
	*automaton
	p       *scenarios.Process
	began   time.Time
	state   int
	attempt int
	path    string
	early   bool
}

func (l *automatonLock) observe(what int) {
	if l.Clock && time.Since(l.began) > time.Millisecond {
		what++
	}
	l.state = l.Next[l.state][min(what, inputs-1)]
}

func (l *automatonLock) create() error {
	path, err := l.p.Client.Create(l.p.Directory+"/n-", nil, zk.FlagEphemeral|zk.FlagSequence,
		zk.WorldACL(zk.PermAll))
	l.path = path
	return err
}

// applyDefect applies the defect if this is its place, state and attempt.
func (l *automatonLock) applyDefect(at place) error {
	if at != l.Place || l.state != l.State || l.attempt < l.Attempt {
		return nil
	}
	switch l.Defect {
	case grantsEarly:
		l.early = true
	case asksOften:
		for range 5 {
			l.p.Client.Exists(l.p.Directory)
		}
	case asksOnce:
		l.p.Client.Exists(l.p.Directory)
	case makesTwo:
		return l.create()
	case panicsThen:
		panic("on purpose")
	case leaksThen:
		go func() { select {} }()
	case refuses:
		return errOnPurpose
	case dropsNode:
		if l.path != "" {
			l.p.Client.Delete(l.path, -1)
		}
	}
	return nil
}

func (l *automatonLock) hasDefect(at place, which defect) bool {
	return at == l.Place && l.state == l.State && l.attempt >= l.Attempt && l.Defect == which
}

func (l *automatonLock) lock(ctx context.Context) (*scenarios.Hold, error) {
	l.attempt++
	l.path, l.early = "", false
	if l.Looks {
		children, _, err := l.p.Client.Children(l.p.Directory)
		if err != nil {
			return nil, err
		}
		l.observe(len(children))
		if l.Sleeps {
			time.Sleep(time.Duration(l.state) * time.Second)
		}
	}
	if err := l.applyDefect(beforeNode); err != nil {
		return nil, err
	}
	if err := l.create(); err != nil {
		return nil, err
	}
	for !l.early {
		first, err := l.isFirstOrWait(ctx)
		if err != nil {
			return nil, err
		}
		if first {
			break
		}
	}
	if err := l.applyDefect(beforeGrant); err != nil {
		return nil, err
	}
	return l.hold()
}

// isFirstOrWait reports whether the lock's node is the first. Otherwise it waits for a change.
func (l *automatonLock) isFirstOrWait(ctx context.Context) (bool, error) {
	var children []string
	var events <-chan zk.Event
	var err error
	if l.Watches {
		children, _, events, err = l.p.Client.ChildrenW(l.p.Directory)
	} else {
		children, _, err = l.p.Client.Children(l.p.Directory)
	}
	if err != nil {
		return false, err
	}
	slices.Sort(children)
	own := strings.TrimPrefix(l.path, l.p.Directory+"/")
	rank := slices.Index(children, own)
	l.observe(len(children))
	if err := l.applyDefect(afterList); err != nil {
		return false, err
	}
	if rank <= 0 || l.early {
		return true, nil
	}
	if !l.Watches {
		var exists bool
		exists, _, events, err = l.p.Client.ExistsW(l.p.Directory + "/" + children[rank-1])
		if err != nil || !exists {
			return false, err
		}
	}
	select {
	case <-events:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (l *automatonLock) hold() (*scenarios.Hold, error) {
	path, h := l.path, &scenarios.Hold{}
	if !l.Silent {
		h.Node = path
	}
	switch l.Token {
	case 1:
		exists, stat, err := l.p.Client.Exists(path)
		if err != nil {
			return nil, err
		}
		if exists {
			h.Token = stat.Czxid
		} else {
			h.Token = 1
		}
	case 2:
		fmt.Sscanf(path[len(path)-10:], "%d", &h.Token)
		h.Token++
	}
	if l.hasDefect(beforeGrant, lowToken) {
		h.Token = 1
	}
	h.Unlock = func(context.Context) error {
		if err := l.applyDefect(inUnlock); err != nil {
			return err
		}
		if !l.hasDefect(inUnlock, keepsNode) {
			if err := l.p.Client.Delete(path, -1); err != nil && err != zk.ErrNoNode {
				return err
			}
		}
		return l.applyDefect(afterUnlock)
	}
	return h, nil
}

func drawAutomaton(t *rapid.T) *automaton {
	a := &automaton{
		State:   rapid.IntRange(0, states-1).Draw(t, "state"),
		Place:   place(rapid.IntRange(0, int(places)-1).Draw(t, "place")),
		Defect:  defect(rapid.IntRange(0, int(defects)-1).Draw(t, "defect")),
		Attempt: rapid.IntRange(0, 1).Draw(t, "attempt"), Looks: rapid.Bool().Draw(t, "looks"),
		Watches: rapid.Bool().Draw(t, "watches"),
		Token:   rapid.IntRange(0, 2).Draw(t, "token"), Idle: rapid.Bool().Draw(t, "idle"),
		Silent: rapid.Bool().Draw(t, "silent"),
		Clock:  rapid.IntRange(0, 3).Draw(t, "clock") == 3, Sleeps: rapid.IntRange(0, 3).Draw(t,
			"sleeps") == 3,
	}
	for s := range a.Next {
		for o := range a.Next[s] {
			a.Next[s][o] = rapid.IntRange(0, states-1).Draw(t, "next")
		}
	}
	return a
}

// verdictsOf returns the signatures of all violations that a search finds.
func verdictsOf(t *testing.T, e exhaustive.Search) (map[string]bool, *report.Exhaustive) {
	t.Helper()
	found := make(map[string]bool)
	e.Each = func(r *engine.Result) {
		for _, v := range r.Violations {
			found[v.Signature()] = true
		}
	}
	return found, e.Run(context.Background(), t)
}

// For locks with hidden state, three searches find the same violations: one that merges states with
// bisimilar local histories, one that merges none, and one that runs the code in every schedule
// without reductions.
func TestAutomataLoseNothing(t *testing.T) {
	wrong := 0
	for seed := range long.Count(5, 12) {
		a := rapid.Custom(drawAutomaton).Example(seed)
		e := exhaustive.Search{
			Scenario: locktest.Planned(t, a.subject(), 2, 1, "none"), IdleTicks: seed % 2,
			Symmetry: seed%5 == 4,
		}
		e.Scenario.Subject.Guard = scenarios.Unguarded
		e.Scenario.Subject.Limits = history.Limits{
			WakeUps: 1, Requests: 7, RequestsPerChange: 3,
			Overtakings: 0, RequestsPerSecond: 30,
		}
		if seed%4 == 0 {
			e.Scenario.Subject.Claims = []history.Property{
				history.MonotonicToken, history.NoHerd,
				history.FIFO,
			}
		}
		got, merged := verdictsOf(t, e)
		e.NoMerge = true
		want, unmerged := verdictsOf(t, e)
		if !merged.Complete || !unmerged.Complete {
			t.Fatalf("%+v: complete %v and %v", a, merged.Complete, unmerged.Complete)
		}
		if e.IdleTicks == 0 {
			e.NoReplayCache, e.NoReduction = true, true
			unreduced, _ := verdictsOf(t, e)
			maps.Copy(want, unreduced)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%+v: found %v, want %v", a, slices.Sorted(maps.Keys(got)),
				slices.Sorted(maps.Keys(want)))
		}
		wrong += len(got)
	}
	if wrong < 3 {
		t.Errorf("the searches found only %d violations, want at least 3", wrong)
	}
}
