package scenarios_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A picture is what can be seen of all processes and the ensemble at one moment: what each has last done with its lock, what
// it waits for and is about to be told, and which nodes there are.
type picture struct {
	doing   map[int32]string
	waiting map[string]string
	nodes   map[string]bool
}

// see brings a picture up to date.
func (p *picture) see(e *history.Event) {
	request := fmt.Sprintf("c%d %d", e.Process, e.Request)
	switch e.Kind {
	case history.LockCall, history.LockReturn, history.Enter, history.Leave, history.UnlockCall, history.UnlockReturn,
		history.Finished, history.ResourceRead, history.ResourceWrite, history.ReenterReturn, history.Exited:
		p.doing[e.Process] = fmt.Sprintf("%v %d %s %d %s", e.Kind, e.Attempt, e.Path, e.Zxid, e.Err)
	case history.Send:
		p.waiting[request] = e.Op + e.Path
	case history.Serve:
		p.waiting[request] = fmt.Sprintf("%s%s gets %s", e.Op, e.Path, e.Err)
	case history.Reply:
		delete(p.waiting, request)
	case history.WatchFired:
		p.waiting[fmt.Sprintf("w%d", e.Watch)] = fmt.Sprintf("c%d %s%s", e.Process, e.Name, e.Path)
	case history.WatchEvent:
		delete(p.waiting, fmt.Sprintf("w%d", e.Watch))
	case history.NodeCreated:
		p.nodes[e.Path] = true
	case history.NodeDeleted:
		delete(p.nodes, e.Path)
	}
}

// String does not tell the numbers of requests and of watches.
func (p *picture) String() string {
	var waiting []string
	for which, what := range p.waiting {
		if process, _, ok := strings.Cut(which, " "); ok {
			what = process + " " + what
		}
		waiting = append(waiting, what)
	}
	slices.Sort(waiting)
	return fmt.Sprint(p.doing, waiting, p.nodes)
}

// pictures returns all that can be seen in the runs of a search, and the verdicts.
func pictures(t *testing.T, e scenarios.Exhaustive) (all, verdicts map[string]bool, r *scenarios.Report) {
	t.Helper()
	all, verdicts = make(map[string]bool), make(map[string]bool)
	e.Each = func(result *scenarios.Result) {
		for _, v := range result.Violations {
			verdicts[v.Signature()] = true
		}
		now := picture{make(map[int32]string), make(map[string]string), make(map[string]bool)}
		for i := range result.Events {
			if result.Events[i].Kind == history.Liveness {
				break
			}
			now.see(&result.Events[i])
			all[now.String()] = true
		}
	}
	if r = e.Run(context.Background(), t); !r.Complete {
		t.Fatalf("%v: not complete after %d states, %v", &e.Scenario, r.States, r.Nondeterministic)
	}
	return all, verdicts, r
}

// remembers is a lock whose code looks the same while it waits, whatever it has seen before it queued, and gives the lock
// back in another way if it then sees as many contenders as it saw at first.
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

// A search to which pasts are one after which a process's code does the same comes to see all that one sees which tells them
// apart, and finds the same.
func TestLikenessLosesNothing(t *testing.T) {
	for _, tc := range []struct {
		subject         scenarios.Subject
		clients, cycles int
		servers         int
	}{
		{subjects.Textbook(), 3, 1, 1},
		{subjects.Textbook(), 2, 2, 1},
		{subjects.Textbook(), 2, 1, 3},
		{subjects.Mutex(), 3, 1, 1},
		{subjects.Mutex(), 2, 2, 1},
		{subjects.ExistsThenWait(), 2, 1, 1},
		{subjects.Herd(), 2, 1, 1},
		{subjects.NameOrder(), 2, 1, 1},
		{subjects.NoRecheck(), 2, 2, 1},
		{named(t, "session-token"), 2, 1, 1},
		{named(t, "uncounted"), 2, 1, 1},
		{remembers(), 2, 1, 1},
		{noLock(), 3, 1, 1},
	} {
		t.Run(fmt.Sprintf("%s %d×%d", tc.subject.Name, tc.clients, tc.cycles), func(t *testing.T) {
			e := scenarios.Exhaustive{Scenario: planned(t, tc.subject, tc.clients, tc.cycles, "none")}
			e.Scenario.Servers = tc.servers
			got, verdicts, r := pictures(t, e)
			e.Apart = true
			want, wantVerdicts, apart := pictures(t, e)
			if !maps.Equal(verdicts, wantVerdicts) {
				t.Errorf("verdicts %v, want %v", slices.Sorted(maps.Keys(verdicts)), slices.Sorted(maps.Keys(wantVerdicts)))
			}
			if !maps.Equal(got, want) {
				t.Errorf("%d pictures, want %d", len(got), len(want))
			}
			if r.States > apart.States {
				t.Errorf("%d states, and %d where all pasts are told apart", r.States, apart.States)
			}
		})
	}
}

// Pasts that look alike and are not are found out: the search begins anew.
func TestLikenessIsRefuted(t *testing.T) {
	e := &scenarios.Exhaustive{Scenario: planned(t, remembers(), 3, 1, "none")}
	if r := e.Run(context.Background(), t); !r.Complete || r.Restarts == 0 {
		t.Errorf("complete %v, begun anew %d times", r.Complete, r.Restarts)
	}
}
