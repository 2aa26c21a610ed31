package subjects_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/conversion"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/locktest"
	"github.com/interlock-sim/interlock/internal/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// The ways in which ZkLock breaks exclusion, by the numbers of docs/track-record.md.
const (
	noRecheckWay     = "D1 a woken waiter does not list again"
	failedAttemptWay = "D3 a failed attempt counts as an entry"
	negativeCountWay = "D4 an unlock too many counts as an entry"
	soleNodeWay      = "D5 the only node counts as the own one"
	lostReentryWay   = "D9 a lost lock is re-entered"
	lostNodeWay      = "D11 the own node is gone when the lock is granted"
	unknownWay       = "another way"
)

// A zkLockReader follows the processes of a run of ZkLock.
type zkLockReader struct {
	live      map[string]bool // nodes
	processes map[int32]*zkLockProcess
	ways      map[string]bool // in which a process came to believe that it has another's lock
}

type zkLockProcess struct {
	node     string   // of the current attempt
	listed   []string // by the last listing that the server has handled
	woken    bool     // since it has listed
	lastFail string   // of the last call that failed
	inside   bool     // from the return of lock to the call of unlock
	way      string   // how it was granted the lock, "" if it has the first node
}

func (r *zkLockReader) process(number int32) *zkLockProcess {
	if r.processes[number] == nil {
		r.processes[number] = new(zkLockProcess)
	}
	return r.processes[number]
}

// overlaps adds the ways in which two processes hold the lock: one by right, the other not.
func (r *zkLockReader) overlaps(granted *zkLockProcess) {
	rightful := func(p *zkLockProcess) bool { return p.way == "" && r.live[p.node] }
	for _, p := range r.processes {
		switch {
		case p == granted || !p.inside:
		case rightful(p) && granted.way != "":
			r.ways[granted.way] = true
		case rightful(granted) && p.way != "":
			r.ways[p.way] = true
		}
	}
}

// grant returns how a process was granted the lock, or "" if it has the first node.
func (r *zkLockReader) grant(p *zkLockProcess) string {
	first := p.node != ""
	for node := range r.live {
		first = first && p.node <= node
	}
	switch {
	case p.node == "" && strings.Contains(p.lastFail, "解锁异常"):
		return negativeCountWay
	case p.node == "" && p.lastFail != "":
		return failedAttemptWay
	case p.woken && !first:
		return noRecheckWay
	case len(p.listed) == 1 && p.listed[0] != p.node:
		return soleNodeWay
	case first && r.live[p.node]:
		return ""
	case !r.live[p.node]:
		return lostNodeWay
	}
	return unknownWay
}

func (r *zkLockReader) read(e *history.Event) {
	p := r.process(e.Process)
	switch e.Kind {
	case history.NodeCreated:
		r.live[e.Path], p.node = true, e.Path
	case history.NodeDeleted:
		delete(r.live, e.Path)
	case history.LockCall:
		p.node, p.listed, p.woken = "", nil, false
	case history.Serve:
		if e.Op == "children" {
			p.listed, p.woken = slices.Collect(maps.Keys(r.live)), false
		}
	case history.WatchEvent:
		p.woken = true
	case history.LockReturn:
		if e.Err != "" {
			p.lastFail = e.Err
			return
		}
		p.inside, p.way = true, r.grant(p)
		r.overlaps(p)
	case history.ReenterReturn:
		if e.Err == "" && p.way == "" && !r.live[p.node] {
			p.way = lostReentryWay
			r.overlaps(p)
		}
	case history.UnlockCall, history.Crashed:
		p.inside = false
	case history.UnlockReturn:
		p.lastFail = e.Err
	}
}

// zkLockWays returns the ways in which exclusion breaks in a run.
func zkLockWays(events []history.Event) map[string]bool {
	r := &zkLockReader{
		live: make(map[string]bool), processes: make(map[int32]*zkLockProcess),
		ways: make(map[string]bool),
	}
	for i := range events {
		r.read(&events[i])
	}
	return r.ways
}

// exclusion are the properties of which one is violated if two processes hold the lock.
var exclusion = []history.Property{
	history.ServerMutualExclusion, history.ClientMutualExclusion, history.Linearizable,
}

func breaksExclusion(result *engine.Result) bool {
	return slices.ContainsFunc(result.Violations, func(v *history.Violation) bool {
		return slices.Contains(exclusion, v.Property)
	})
}

// javaZKLockWays are the ways in which exclusion breaks, and for each a fault plan under which a
// search of few schedules finds it.
var javaZKLockWays = []struct {
	way     string
	subject scenarios.Subject
	plan    string
}{
	{noRecheckWay, subjects.JavaZKLock(), "cut=1"},
	{failedAttemptWay, subjects.JavaZKLock(), "expire=1"},
	{negativeCountWay, subjects.JavaZKLock(), "lose-reply@release=1"},
	{soleNodeWay, subjects.JavaZKLock(), "expire@list=1"},
	{lostReentryWay, subjects.JavaZKLock(), "expire@hold=1"},
	{lostNodeWay, subjects.JavaZKLock(), "expire@watch=1"},
	{noRecheckWay, subjects.JavaZKLockFinally(), "none"},
	{negativeCountWay, subjects.JavaZKLockFinally(), "none"},
}

// ZkLock breaks exclusion in five ways, each with one fault, or with none.
func TestJavaZKLockBreaksExclusion(t *testing.T) {
	for _, tc := range javaZKLockWays {
		t.Run(tc.subject.Name+"/"+tc.way, func(t *testing.T) {
			scenario := locktest.Planned(t, tc.subject, 3, 2, tc.plan)
			runner := engine.NewRunner(t)
			for i := range 2000 {
				result := runner.Run(&scenario, strategy.NewRandom(1, i))
				if breaksExclusion(result) && zkLockWays(result.Events)[tc.way] {
					t.Logf("schedule %d", i)
					return
				}
			}
			t.Error("no schedule breaks exclusion in this way")
		})
	}
}

// A search with the defaults of interlock check finds the five ways, and one more.
func TestJavaZKLockUnderDefaults(t *testing.T) {
	scenario := &engine.Scenario{
		Subject: conversion.Subject(subjects.JavaZKLock()), Clients: 3, Cycles: 2,
		Faults: faults.Default(),
	}
	want := []string{
		noRecheckWay, lostNodeWay, failedAttemptWay, negativeCountWay, soleNodeWay, lostReentryWay,
	}
	runner, found := engine.NewRunner(t), make(map[string]bool)
	for i := 0; i < 5000 && len(found) < len(want); i++ {
		result := runner.Run(scenario, strategy.NewRandom(1, i))
		if !breaksExclusion(result) {
			continue
		}
		for way := range zkLockWays(result.Events) {
			if !found[way] {
				t.Logf("schedule %d: %s", i, way)
			}
			found[way] = true
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("exclusion breaks in these ways: %q, want %q", got, want)
	}
}
