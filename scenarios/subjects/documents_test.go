package subjects_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// A finding is what a search with a fault plan finds: the claims that are violated. All other
// claims hold in every schedule.
type finding struct {
	plan     string
	servers  int
	violated []history.Property
}

// documentSchedules is the number of schedules of each search.
const documentSchedules = 250

// checkFindings searches with each fault plan and compares what is violated.
func checkFindings(t *testing.T, subject scenarios.Subject, findings []finding) {
	for _, f := range findings {
		t.Run(fmt.Sprintf("%s/%s/%d", subject.Name, f.plan, f.servers), func(t *testing.T) {
			scenario := locktest.Planned(t, subject, 3, 2, f.plan)
			scenario.Servers = f.servers
			runner, violated := engine.NewRunner(t), []history.Property(nil)
			few := sampled(long.Count(documentSchedules/6, documentSchedules))
			for i := range sampled(documentSchedules) {
				if i >= few && len(violated) >= len(f.violated) {
					break
				}
				result := runner.Run(&scenario, strategy.NewRandom(1, i))
				for _, v := range result.Violations {
					if slices.Contains(violated, v.Property) {
						continue
					}
					violated = append(violated, v.Property)
					if !slices.Contains(f.violated, v.Property) {
						t.Errorf("schedule %d: %s", i, result.Describe(&scenario))
					}
				}
			}
			for _, p := range f.violated {
				if !slices.Contains(violated, p) && !real.RaceDetector {
					t.Errorf("%s holds", p)
				}
			}
		})
	}
}

// The published algorithms hold without faults, after a crash and, at the servers, after a lost
// session. They break when a connection is lost or an attempt is cancelled.
func TestZKRecipes(t *testing.T) {
	leak := []history.Property{history.Progress, history.NoLeakedNodes}
	checkFindings(t, subjects.ZKHerd(), []finding{
		{plan: "none"},
		{plan: "crash=1"},
		{plan: "lose-reply=1", violated: leak},
		{plan: "cancel=1", violated: leak},
		// A waiter that has lost its session waits for ever.
		{plan: "expire=1", violated: []history.Property{
			history.ClientMutualExclusion, history.Progress,
		}},
	})
	checkFindings(t, subjects.ZKPredecessor(), []finding{
		{plan: "none"},
		{plan: "crash=1"},
		{plan: "lose-reply=1", violated: leak},
		{plan: "cancel=1", violated: leak},
		{plan: "expire=1", violated: []history.Property{history.ClientMutualExclusion}},
	})
}

// Curator's mutex keeps all it claims under any one fault, unless the search for the node of a lost
// reply asks a follower that lags behind. On one server, two faults break it; see
// [subjects.Curator].
func TestCurator(t *testing.T) {
	twoNodes := []history.Property{history.Progress, history.NoLeakedNodes}
	for _, subject := range []scenarios.Subject{
		subjects.Curator(), subjects.CuratorTimed(), subjects.CuratorListener(),
	} {
		checkFindings(t, subject, []finding{
			{plan: "none"},
			{plan: "any=1"},
			{plan: "expire=1"},
			{plan: "cancel=1,lose-reply=1"},
			{plan: "expire=1", servers: 3},
		})
	}
	checkFindings(t, subjects.Curator(), []finding{
		{plan: "cut@create=2", violated: twoNodes},
		{plan: "cut@create=1", servers: 3, violated: twoNodes[:1]},
	})
	checkFindings(t, subjects.CuratorTimed(), []finding{
		{plan: "cut@create=2", violated: []history.Property{history.NoLeakedNodes}},
	})
}

// Curator's read-write lock keeps exclusion over a downgrade since 5.5, while sessions last.
func TestCuratorRWLock(t *testing.T) {
	two := []history.Property{history.ServerMutualExclusion, history.Linearizable}
	checkFindings(t, subjects.CuratorRWLock(), []finding{{plan: "none", violated: two}})
	checkFindings(t, subjects.CuratorRWLock55(), []finding{
		{plan: "none"},
		{plan: "crash=1"},
		{plan: "cancel=1"},
		{plan: "expire=1", violated: two},
	})
}

// The Java lock waits for its own node after a lost reply, and leaves the node of a failed attempt.
func TestJavaZKLockLeaks(t *testing.T) {
	checkFindings(t, javaZKLockWithoutExclusion(), []finding{
		{plan: "lose-reply@create=1", violated: []history.Property{
			history.Progress, history.NoLeakedNodes,
		}},
	})
}

// exclusion are the properties that two simultaneous holders violate: at least one of them.
var exclusion = []history.Property{
	history.ServerMutualExclusion, history.ClientMutualExclusion, history.Linearizable,
}

// javaZKLockWithoutExclusion is the Java lock without the claims that its other defects violate.
func javaZKLockWithoutExclusion() scenarios.Subject {
	s := subjects.JavaZKLock()
	s.Claims = slices.DeleteFunc(slices.Clone(s.Claims), func(p history.Property) bool {
		return slices.Contains(exclusion, p) || p == history.FIFO || p == history.NoStarvation
	})
	return s
}

// Curator's semaphore survives a crash. A lost session makes two processes wait for each other, and
// an interrupted acquire leaks a lease.
func TestCuratorSemaphore(t *testing.T) {
	checkFindings(t, subjects.CuratorSemaphore(), []finding{
		{plan: "none"},
		{plan: "crash=1"},
		{plan: "expire=1", violated: []history.Property{history.Progress, history.NoHerd}},
		{plan: "cancel=1", violated: []history.Property{
			history.Progress, history.NoLeakedNodes,
		}},
	})
}
