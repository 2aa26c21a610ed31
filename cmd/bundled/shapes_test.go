package bundled_test

import (
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/cmd/bundled/redislocks"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
)

// A quarter of the schedules have a shape, on several servers a little more, and a replay of such a
// schedule has the same trace.
func TestShaped(t *testing.T) {
	for _, servers := range []int{1, 3} {
		want := map[int]int{1: 2000 * 4 / 16, 3: 2000 * 5 / 17}[servers]
		scenario := locktest.Scenario(locktest.Named(t, "mutex"), 4, 1, 3)
		scenario.Servers = servers
		runner := engine.NewRunner(t)
		profile := strategy.ProfileOf(t.Context(), runner, scenario)
		shaped := 0
		for schedule := range 2000 {
			plain := strategy.NewRandom(1, schedule)
			drawn := strategy.Shaped(plain, profile, 1, schedule)
			if drawn == engine.Strategy(plain) {
				continue
			}
			if shaped++; shaped > long.Count(40, 100) {
				continue
			}
			result := runner.Run(scenario, drawn)
			trace := result.TraceHash
			if len(result.Violations) > 0 {
				t.Errorf("schedule %d: %v", schedule, result.Violations[0])
			}
			replay := &engine.Replay{Deviations: slices.Clone(result.Deviations)}
			if again := runner.Run(scenario, replay); again.TraceHash != trace {
				t.Errorf("schedule %d differs when it is replayed", schedule)
			}
		}
		if shaped < want*4/5 || shaped > want*6/5 {
			t.Errorf("%d of 2000 schedules on %d servers have a shape, want about %d", shaped,
				servers, want)
		}
	}
}

// With shapes, each course of events occurs in at least twice as many schedules.
func TestShapesOccur(t *testing.T) {
	one := locktest.Scenario(locktest.Named(t, "mutex"), 4, 1, 3)
	plain, shaped := count(t, long.Count(2000, 3000), one)
	compareCourses(t, plain, shaped, searchers, deposed)
	if !long.Enabled() {
		return
	}
	several := locktest.Scenario(locktest.Named(t, "mutex"), 3, 2, 2)
	several.Servers = 3
	plain, shaped = count(t, 1000, several)
	compareCourses(t, plain, shaped, deposed, overslept)
	expiring := locktest.Scenario(redislocks.SetNXLease(), 3, 2, 2)
	plain, shaped = count(t, 300, expiring)
	compareCourses(t, plain, shaped, overslept, reopened)
	opening := locktest.Planned(t, locktest.Named(t, "mutex"), 3, 1, "network=3")
	opening.Servers = 3
	plain, shaped = count(t, 1000, &opening)
	compareCourses(t, plain, shaped, reopened, len(courseNames))
}

// compareCourses compares how often the courses from the first to before the last occur.
func compareCourses(t *testing.T, plain, shaped courses, first, end int) {
	t.Helper()
	for course, name := range courseNames[first:end] {
		course += first
		if shaped[course] < 2*plain[course] || shaped[course] < 10 {
			t.Errorf("%s: in %d schedules with shapes, %d without", name, shaped[course],
				plain[course])
		}
		t.Logf("%s: in %d schedules with shapes, %d without", name, shaped[course], plain[course])
	}
}

// count counts the courses in schedules of a scenario without shapes, and in as many with them.
func count(t *testing.T, schedules int, scenario *scenarios.Scenario) (plain, shaped courses) {
	runner := engine.NewRunner(t)
	profile := strategy.ProfileOf(t.Context(), runner, scenario)
	for schedule := range schedules {
		factory := strategy.Named(strategy.RoundRobin(schedule))
		plain.count(runner.Run(scenario, factory(profile, 1, schedule)).Events)
		drawn := strategy.Shaped(factory(profile, 1, schedule), profile, 1, schedule)
		shaped.count(runner.Run(scenario, drawn).Events)
	}
	return plain, shaped
}

// courses counts the schedules in which each course of events occurs.
type courses [7]int

const (
	searchers = iota
	lateLeaver
	quitters
	afterlife
	deposed
	overslept
	reopened
)

var courseNames = [...]string{
	searchers:  "a call is cancelled while it searches for the node of a create that failed",
	lateLeaver: "a process enters while a holder that was told of its loss is inside",
	quitters:   "two contenders in the middle give up",
	afterlife:  "a process that has finished sends while another is inside",
	deposed:    "a process is told that its session has ended while it is alive",
	overslept:  "a process enters while a holder is paused inside",
	reopened:   "a server is cut off from a holder whose session came back late",
}

// count notes the courses of a run.
func (c *courses) count(events []history.Event) {
	var queue, inside, told, finished, paused, late, holders []int32
	quits, found := 0, [len(courses{})]bool{
		searchers: stopsSearch(events), deposed: outlives(events),
	}
	for i := range events {
		e := &events[i]
		at := slices.Index(queue, e.Process)
		switch {
		case e.Kind == history.LockCall, e.Kind == history.NodeCreated && e.Session != 0:
			queue = append(without(queue, e.Process), e.Process)
		case e.Kind == history.LockReturn && e.Err != "", e.Kind == history.UnlockCall,
			e.Kind == history.Crashed:
			queue, inside = without(queue, e.Process), without(inside, e.Process)
		case e.Kind == history.Enter:
			found[lateLeaver] = found[lateLeaver] || slices.ContainsFunc(inside,
				func(p int32) bool { return slices.Contains(told, p) })
			found[overslept] = found[overslept] || len(paused) > 0
			inside = append(inside, e.Process)
		case e.Kind == history.Leave:
			inside, told = without(inside, e.Process), without(told, e.Process)
		case e.Kind == history.Lost:
			told = append(told, e.Process)
		case e.Kind == history.Fault && e.Name == faults.Cancel.String():
			if at > 0 && at < len(queue)-1 {
				quits++
			}
			found[quitters] = quits > 1
		case e.Kind == history.Fault && e.Name == faults.Pause.String() &&
			slices.Contains(inside, e.Process):
			paused = append(paused, e.Process)
		case e.Kind == history.Fault && e.Name == faults.SlowOpen.String():
			late = append(late, e.Process)
		case e.Kind == history.Fault && e.Name == faults.PartitionServer.String():
			found[reopened] = found[reopened] || slices.ContainsFunc(holders,
				func(p int32) bool { return slices.Contains(late, p) })
		case e.Kind == history.LockReturn && e.Err == "":
			holders = append(holders, e.Process)
		case e.Kind == history.Resumed:
			paused = without(paused, e.Process)
		case e.Kind == history.Finished:
			finished = append(finished, e.Process)
		case e.Kind == history.Send && len(inside) > 0:
			found[afterlife] = found[afterlife] || slices.Contains(finished, e.Process)
		}
	}
	for course := range found {
		if found[course] {
			c[course]++
		}
	}
}

// stopsSearch reports whether a call is cancelled after a create whose connection broke and a
// further request, and before another create.
func stopsSearch(events []history.Event) bool {
	var failed, searching []int32
	for i := range events {
		switch e := &events[i]; {
		case e.Kind == history.Reply && e.Op == "create" && e.Err == zk.ErrConnectionClosed.Error():
			failed = append(failed, e.Process)
		case e.Kind == history.LockCall, e.Kind == history.Send && e.Op == "create":
			failed, searching = without(failed, e.Process), without(searching, e.Process)
		case e.Kind == history.Send && slices.Contains(failed, e.Process):
			searching = append(searching, e.Process)
		case e.Kind == history.Fault && e.Name == faults.Cancel.String() &&
			slices.Contains(searching, e.Process):
			return true
		}
	}
	return false
}

// outlives reports whether a process is told that its session has ended while it is alive.
func outlives(events []history.Event) bool {
	ended, sessions := make(map[int64]bool), make(map[int32]int64)
	for i := range events {
		switch e := &events[i]; {
		case e.Kind == history.SessionExpired, e.Kind == history.SessionClosed:
			ended[e.Session] = true
		case e.Kind == history.SessionState && e.Session != 0:
			sessions[e.Process] = e.Session
		case e.Kind == history.SessionState && e.Name == "expired" &&
			!ended[sessions[e.Process]]:
			return true
		}
	}
	return false
}

func without(processes []int32, process int32) []int32 {
	return slices.DeleteFunc(processes, func(p int32) bool { return p == process })
}
