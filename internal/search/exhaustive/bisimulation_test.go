package exhaustive_test

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// An observation is the visible state of all processes and the ensemble at one moment: the last
// action of each process, its pending requests and watch events, and the existing nodes.
type observation struct {
	lastAction map[int32]string
	pending    map[string]string
	nodes      map[string]bool
}

// update applies an event.
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
	case history.Crashed: // The search drops the state of a crashed process.
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

// String omits the numbers of requests and watches.
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

var hashSeed = maphash.MakeSeed()

// hashEvent returns the hash of a sequence of events from that of all but the last.
func hashEvent(before uint64, e *history.Event) uint64 {
	event := *e
	event.Facts = nil
	return maphash.Comparable(hashSeed, struct {
		before uint64
		event  history.Event
	}{before, event})
}

// observations returns all observations of the runs of a search, and the verdicts.
func observations(t *testing.T, e exhaustive.Search) (all, verdicts map[string]bool,
	r *report.Exhaustive,
) {
	t.Helper()
	all, verdicts = make(map[string]bool), make(map[string]bool)
	seen := make(map[uint64]bool) // prefixes of histories, by their hashes
	e.Each = func(result *engine.Result) {
		for _, v := range result.Violations {
			verdicts[v.Signature()] = true
		}
		now := observation{make(map[int32]string), make(map[string]string), make(map[string]bool)}
		prefix := uint64(0)
		for i := range result.Events {
			if result.Events[i].Kind == history.FairPhase {
				break
			}
			now.update(&result.Events[i])
			prefix = hashEvent(prefix, &result.Events[i])
			if i+1 < len(result.Events) && result.Events[i+1].Kind == history.WatchFired {
				// The order in which one write fires watches of different processes is irrelevant.
				continue
			}
			if !seen[prefix] { // The runs of a search share prefixes.
				seen[prefix] = true
				all[now.String()] = true
			}
		}
	}
	if r = e.Run(context.Background(), t); !r.Complete {
		t.Fatalf("%v: not complete after %d states, %v", &e.Scenario, r.States, r.Nondeterministic)
	}
	return all, verdicts, r
}

// remembers is a lock that lists the contenders before it queues and again at its unlock, and sends
// an additional request at the unlock if both numbers are equal. While it waits, its state depends
// on the first listing without any visible difference.
func remembers() scenarios.Subject {
	return locktest.Subject("remembers", func(p *scenarios.Process) scenarios.LockerFunc {
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

// A search that merges bisimilar states makes the same observations and finds the same violations
// as a search that distinguishes all local histories.
func TestMergingLosesNothing(t *testing.T) {
	for _, tc := range long.Sample([]struct {
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
		{remembers(), 2, 1, 1, "none"},
		{subjects.NameOrder(), 2, 1, 1, "none"},
		{subjects.NoRecheck(), 2, 2, 1, "none"},
		{locktest.Named(t, "session-token"), 2, 1, 1, "none"},
		{locktest.Named(t, "uncounted"), 2, 1, 1, "none"},
		{subjects.Herd(), 2, 1, 1, "none"},
		{locktest.NoLock(), 3, 1, 1, "none"},
		{subjects.Textbook(), 1, 2, 1, "any=1"},
		{subjects.Mutex(), 2, 1, 1, "crash=1"},
		{subjects.Textbook(), 2, 1, 1, "cancel=1"},
		{subjects.Textbook(), 2, 1, 1, "pause=1"},
		{subjects.Textbook(), 2, 1, 1, "restart=1"},
		{subjects.Textbook(), 2, 1, 1, "cut:c2@release=1,delay-rewatch=1"},
		{subjects.Textbook(), 2, 1, 1, "slow-link=1"},
		{subjects.Textbook(), 2, 1, 1, "cut:c1=1,slow-open=1"},
		{subjects.Mutex(), 1, 2, 1, "any=1"},
		{subjects.Textbook(), 2, 1, 1, "crash=1"},
		{subjects.Mutex(), 2, 1, 1, "pause:c1=1"},
		{subjects.DeafToExpiry(), 2, 1, 1, "expire:c1=1"},
		{locktest.Named(t, "deaf-holder"), 2, 1, 1, "close-session:c1=1"},
		{subjects.Textbook(), 2, 1, 1, "close-session:c1=1"},
		{locktest.Named(t, "clock-token"), 2, 1, 1, "crash=1"},
		{remembers(), 2, 1, 1, "crash:c1=1"},
	}, 4) {
		t.Run(fmt.Sprintf("%s %d×%d %s", tc.subject.Name, tc.clients, tc.cycles, tc.plan),
			func(t *testing.T) {
				e := exhaustive.Search{Scenario: locktest.Planned(t, tc.subject, tc.clients,
					tc.cycles, tc.plan)}
				e.Scenario.Servers = tc.servers
				// The reduction depends on the path to a state, and so do the observations.
				e.NoReduction = tc.plan != "none"
				got, verdicts, r := observations(t, e)
				e.NoMerge = true
				want, wantVerdicts, unmerged := observations(t, e)
				if !maps.Equal(verdicts, wantVerdicts) {
					t.Errorf("verdicts %v, want %v", slices.Sorted(maps.Keys(verdicts)),
						slices.Sorted(maps.Keys(wantVerdicts)))
				}
				if !maps.Equal(got, want) {
					t.Errorf("%d observations, want %d", len(got), len(want))
				}
				// The monitor state covers several processes, so that a merged search may have
				// slightly more states.
				if r.States > unmerged.States+unmerged.States/10 ||
					r.LocalHistories > unmerged.LocalHistories+
						unmerged.LocalHistories/10 {
					t.Errorf("%d states and %d local histories, without merging %d and %d",
						r.States, r.LocalHistories, unmerged.States, unmerged.LocalHistories)
				}
			})
	}
}

// sleepsAsSeen creates a node after a sleep that depends on the number of existing nodes. The
// second process has a node during its own sleep.
func sleepsAsSeen(seconds [2]time.Duration) scenarios.Subject {
	return locktest.Subject("sleeps-as-seen", func(p *scenarios.Process) scenarios.LockerFunc {
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

// A search distinguishes processes that act alike at different times.
func TestTimeTellsApart(t *testing.T) {
	for _, seconds := range [][2]time.Duration{{1, 3}, {3, 1}} {
		subject := sleepsAsSeen(seconds)
		subject.Claims = nil
		all, _, _ := observations(t, exhaustive.Search{Scenario: locktest.Planned(t, subject, 2, 1,
			"none")})
		both := func(seen string) bool {
			return strings.HasSuffix(seen, "map[/lock/first:true /lock/second:true]")
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), both) {
			t.Errorf("%v: the first process never woke before the second", seconds)
		}
	}
}

// A search of a lock that starts a goroutine per attempt, which lives until the end of the run,
// does not retain goroutines for every local history.
func TestSearchesLeaveFewGoroutines(t *testing.T) {
	listens := locktest.Subject("listens-on", func(p *scenarios.Process) scenarios.LockerFunc {
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
	e := exhaustive.Search{
		Scenario: locktest.Planned(t, listens, 2, 2, "crash=1"),
		Each:     func(*engine.Result) {},
	}
	before := runtime.NumGoroutine()
	r := e.Run(context.Background(), t)
	if left := runtime.NumGoroutine() - before; !r.Complete || left > 220 {
		t.Errorf("%d goroutines remain after %d local histories, complete %v", left,
			r.LocalHistories, r.Complete)
	}
}

// A search of a lock that polls forever without any change is not complete.
func TestEndlessSearchIsNotComplete(t *testing.T) {
	polls := locktest.Subject("polls", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			return &scenarios.Hold{Node: p.Directory, Unlock: func(context.Context) error {
				for {
					p.Client.Exists(p.Directory)
				}
			}}, nil
		}
	})
	e := &exhaustive.Search{
		Scenario: locktest.Planned(t, polls, 1, 1, "none"),
		Each:     func(*engine.Result) {},
	}
	if r := e.Run(context.Background(), t); r.Complete || r.CutOff == 0 {
		t.Errorf("complete %v, %d schedules cut off", r.Complete, r.CutOff)
	}
}
