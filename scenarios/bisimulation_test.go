package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A observation is what can be seen of all processes and the ensemble at one moment: what each has
// last done with its lock, what it waits for and is about to be told, and which nodes there are.
type observation struct {
	lastAction map[int32]string
	pending    map[string]string
	nodes      map[string]bool
}

// update brings a picture up to date.
func (p *observation) update(e *history.Event) {
	request := fmt.Sprintf("c%d %d", e.Process, e.Request)
	switch e.Kind {
	case history.LockCall, history.LockReturn, history.Enter, history.Leave, history.UnlockCall,
		history.UnlockReturn,
		history.Finished, history.ResourceRead, history.ResourceWrite, history.ReenterReturn,
		history.Exited:
		p.lastAction[e.Process] = fmt.Sprintf("%v %d %s %d %s", e.Kind, e.Attempt, e.Path, e.Zxid,
			e.Err)
	case history.Send:
		p.pending[request] = e.Op + e.Path
	case history.Serve:
		if _, ok := p.pending[request]; !ok {
			return // The process has crashed.
		}
		p.pending[request] = fmt.Sprintf("%s%s gets %s", e.Op, e.Path, e.Err)
	case history.Reply:
		delete(p.pending, request)
	case history.WatchFired:
		p.pending[fmt.Sprintf("w%d", e.Watch)] = fmt.Sprintf("c%d %s%s", e.Process, e.Name, e.Path)
	case history.WatchEvent, history.WatchGone:
		delete(p.pending, fmt.Sprintf("w%d", e.Watch))
	case history.NodeCreated:
		p.nodes[e.Path] = true
	case history.NodeDeleted:
		delete(p.nodes, e.Path)
	case history.Crashed: // What it has done last is soon forgotten.
		p.forget(e.Process)
	}
}

func (p *observation) forget(process int32) {
	delete(p.lastAction, process)
	name := fmt.Sprintf("c%d ", process)
	for which, what := range p.pending {
		if strings.HasPrefix(which, name) || strings.HasPrefix(what, name) {
			delete(p.pending, which)
		}
	}
}

// String does not tell the numbers of requests and of watches.
func (p *observation) String() string {
	var waiting []string
	for which, what := range p.pending {
		if process, _, ok := strings.Cut(which, " "); ok {
			what = process + " " + what
		}
		waiting = append(waiting, what)
	}
	slices.Sort(waiting)
	return fmt.Sprint(p.lastAction, waiting, p.nodes)
}

// observations returns all that can be seen in the runs of a search, and the verdicts.
func observations(t *testing.T, e scenarios.Exhaustive) (all, verdicts map[string]bool,
	r *scenarios.Report,
) {
	t.Helper()
	all, verdicts = make(map[string]bool), make(map[string]bool)
	e.Each = func(result *scenarios.Result) {
		for _, v := range result.Violations {
			verdicts[v.Signature()] = true
		}
		now := observation{make(map[int32]string), make(map[string]string), make(map[string]bool)}
		for i := range result.Events {
			if result.Events[i].Kind == history.FairPhase {
				break
			}
			now.update(&result.Events[i])
			if i+1 < len(result.Events) && result.Events[i+1].Kind == history.WatchFired {
				// The order in which one write fires watches of different processes decides
				// nothing.
				continue
			}
			all[now.String()] = true
		}
	}
	if r = e.Run(context.Background(), t); !r.Complete {
		t.Fatalf("%v: not complete after %d states, %v", &e.Scenario, r.States, r.Nondeterministic)
	}
	return all, verdicts, r
}

// remembers is a lock whose code looks the same while it waits, whatever it has seen before it
// queued, and gives the lock back in another way if it then sees as many contenders as it saw at
// first.
func remembers() scenarios.Subject {
	return subject("remembers", func(p *scenarios.Process) scenarios.LockerFunc {
		locker, err := subjects.Textbook().Open(p)
		if err != nil {
			panic(err)
		}
		count := func() int {
			children, _, _ := p.Client.Children(p.Directory)
			return len(children)
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			before := count()
			hold, err := locker.Lock(ctx)
			if err != nil {
				return nil, err
			}
			unlock := hold.Unlock
			hold.Unlock = func(ctx context.Context) error {
				if count() == before {
					if _, _, err := p.Client.Exists(p.Directory); err != nil {
						return err
					}
				}
				return unlock(ctx)
			}
			return hold, nil
		}
	})
}

// A search that does not enter a state again where processes do the same after other pasts comes to
// see all that one sees which tells pasts apart, and finds the same.
func TestLikenessLosesNothing(t *testing.T) {
	for _, tc := range []struct {
		subject         scenarios.Subject
		clients, cycles int
		servers         int
		plan            string
	}{
		{subjects.Textbook(), 3, 1, 1, "none"},
		{subjects.Textbook(), 2, 2, 1, "none"},
		{subjects.Textbook(), 2, 1, 3, "none"},
		{subjects.Mutex(), 3, 1, 1, "none"},
		{subjects.Mutex(), 2, 2, 1, "none"},
		{subjects.ExistsThenWait(), 2, 1, 1, "none"},
		{subjects.Herd(), 2, 1, 1, "none"},
		{subjects.NameOrder(), 2, 1, 1, "none"},
		{subjects.NoRecheck(), 2, 2, 1, "none"},
		{named(t, "session-token"), 2, 1, 1, "none"},
		{named(t, "uncounted"), 2, 1, 1, "none"},
		{remembers(), 2, 1, 1, "none"},
		{noLock(), 3, 1, 1, "none"},
		{subjects.Textbook(), 1, 2, 1, "any=1"},
		{subjects.Textbook(), 2, 1, 1, "crash=1"},
		{subjects.Textbook(), 2, 1, 1, "cancel=1"},
		{subjects.Textbook(), 2, 1, 1, "pause=1"},
		{subjects.Textbook(), 2, 1, 1, "restart=1"},
		{subjects.Textbook(), 2, 1, 1, "cut:c2@release=1,delay-rewatch=1"},
		{subjects.Mutex(), 1, 2, 1, "any=1"},
		{subjects.Mutex(), 2, 1, 1, "crash=1"},
		{subjects.Mutex(), 2, 1, 1, "pause:c1=1"},
		{subjects.DeafToExpiry(), 2, 1, 1, "expire:c1=1"},
		{named(t, "deaf-holder"), 2, 1, 1, "close-session:c1=1"},
		{subjects.Textbook(), 2, 1, 1, "close-session:c1=1"},
		{named(t, "clock-token"), 2, 1, 1, "crash=1"},
		{remembers(), 2, 1, 1, "crash:c1=1"},
	} {
		t.Run(fmt.Sprintf("%s %d×%d %s", tc.subject.Name, tc.clients, tc.cycles, tc.plan),
			func(t *testing.T) {
				e := scenarios.Exhaustive{Scenario: planned(t, tc.subject, tc.clients, tc.cycles,
					tc.plan)}
				e.Scenario.Servers = tc.servers
				// What is left out depends on the way to a state, and so do pictures.
				e.NoReduction = tc.plan != "none"
				got, verdicts, r := observations(t, e)
				e.NoMerge = true
				want, wantVerdicts, unmerged := observations(t, e)
				if !maps.Equal(verdicts, wantVerdicts) {
					t.Errorf("verdicts %v, want %v", slices.Sorted(maps.Keys(verdicts)),
						slices.Sorted(maps.Keys(wantVerdicts)))
				}
				if !maps.Equal(got, want) {
					t.Errorf("%d pictures, want %d", len(got), len(want))
				}
				// A memory knows of other processes too.
				if r.States > unmerged.States+unmerged.States/10 ||
					r.LocalHistories > unmerged.LocalHistories+
						unmerged.LocalHistories/10 {
					t.Errorf("%d states and %d pasts, and %d and %d where all pasts are told apart",
						r.States,
						r.LocalHistories, unmerged.States, unmerged.LocalHistories)
				}
			})
	}
}

// sleepsAsSeen makes a node after so many seconds as it has seen nodes when it began. The second
// process has one while it sleeps.
func sleepsAsSeen(seconds [2]time.Duration) scenarios.Subject {
	return subject("sleeps-as-seen", func(p *scenarios.Process) scenarios.LockerFunc {
		create := func(name string) *scenarios.Hold {
			path := p.Directory + "/" + name
			p.Client.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			return &scenarios.Hold{
				Node:   path,
				Unlock: func(context.Context) error { return p.Client.Delete(path, -1) },
			}
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			if p.Number == 2 {
				hold := create("second")
				time.Sleep(2 * time.Second)
				hold.Unlock(ctx)
				return nil, errors.New("no lock")
			}
			children, _, err := p.Client.Children(p.Directory)
			if err != nil {
				return nil, err
			}
			time.Sleep(seconds[len(children)] * time.Second)
			return create("first"), nil
		}
	})
}

// Processes that do the same by themselves, but not at the same time, are told apart.
func TestTimeTellsApart(t *testing.T) {
	for _, seconds := range [][2]time.Duration{{1, 3}, {3, 1}} {
		subject := sleepsAsSeen(seconds)
		subject.Claims = nil
		all, _, _ := observations(t, scenarios.Exhaustive{Scenario: planned(t, subject, 2, 1,
			"none")})
		both := func(seen string) bool {
			return strings.HasSuffix(seen, "map[/lock/first:true /lock/second:true]")
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), both) {
			t.Errorf("%v: the first process never woke before the second", seconds)
		}
	}
}

// A search of a lock that leaves a goroutine behind in every attempt, up to the end of the run,
// does not leave one behind for every past.
func TestSearchesLeaveFewGoroutines(t *testing.T) {
	listens := subject("listens-on", func(p *scenarios.Process) scenarios.LockerFunc {
		locker, err := subjects.Textbook().Open(p)
		if err != nil {
			panic(err)
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			if _, _, events, err := p.Client.ExistsW(p.Directory + "/never"); err == nil {
				go func() {
					select {
					case <-events:
					case <-ctx.Done():
					}
				}()
			}
			return locker.Lock(ctx)
		}
	})
	listens.Claims = nil
	e := scenarios.Exhaustive{
		Scenario: planned(t, listens, 2, 2, "crash=1"),
		Each:     func(*scenarios.Result) {},
	}
	before := runtime.NumGoroutine()
	r := e.Run(context.Background(), t)
	if left := runtime.NumGoroutine() - before; !r.Complete || left > 220 {
		t.Errorf("%d goroutines are left after %d pasts, complete %v", left, r.LocalHistories,
			r.Complete)
	}
}

// A search of a lock that does the same for ever, with nothing changed, does not come to an end.
func TestEndlessSearchIsNotComplete(t *testing.T) {
	polls := subject("polls", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			return &scenarios.Hold{Node: p.Directory, Unlock: func(context.Context) error {
				for {
					p.Client.Exists(p.Directory)
				}
			}}, nil
		}
	})
	e := &scenarios.Exhaustive{
		Scenario: planned(t, polls, 1, 1, "none"),
		Each:     func(*scenarios.Result) {},
	}
	if r := e.Run(context.Background(), t); r.Complete || r.CutOff == 0 {
		t.Errorf("complete %v, %d schedules cut off", r.Complete, r.CutOff)
	}
}
