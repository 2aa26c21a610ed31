package bundled_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/bundled/goredis"
	"github.com/interlock-sim/interlock/cmd/bundled/redislocks"
	"github.com/interlock-sim/interlock/cmd/bundled/sqllocks"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/everylock"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim/simredis"
	"github.com/interlock-sim/interlock/sim/simsql"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// others returns the bundled locks on services other than ZooKeeper.
func others() []scenarios.Subject {
	return slices.DeleteFunc(bundled.All(),
		func(s scenarios.Subject) bool { return s.Service == nil })
}

// Every bundled lock has its name, a summary and claims.
func TestNamed(t *testing.T) {
	for _, subject := range bundled.All() {
		got, err := bundled.Named(subject.Name)
		if err != nil || got.Name != subject.Name || got.Summary == "" || len(got.Claims) == 0 {
			t.Errorf("Named(%q) = %+v, %v", subject.Name, got, err)
		}
	}
	if _, err := bundled.Named("nosuch"); err == nil || !strings.Contains(err.Error(), "redlock") {
		t.Errorf("error %v, want the names of all locks", err)
	}
	if _, err := subjects.Named("redlock"); err == nil || strings.Contains(err.Error(), "setnx") {
		t.Errorf("error %v, want the names of the locks on ZooKeeper", err)
	}
}

// Every lock that is known to break what it claims has a golden explanation.
func TestEveryFlawHasARecording(t *testing.T) {
	names := everylock.Recordings(t)
	for _, s := range others() {
		_, broken := bundled.KnownFlaw(s.Name)
		if s.Name == "redlock-5" { // as redlock, but slower
			continue
		}
		if broken && !slices.Contains(names, s.Name) {
			t.Errorf(everylock.NoRecording, s.Name)
		}
	}
}

func TestGolden(t *testing.T) { everylock.Golden(t, others(), *update) }

// Explanations depend on what checkers know of a violation, and not on the words of its detail.
func TestWithoutDetail(t *testing.T) { everylock.WithoutDetail(t, others()) }

// A history in which events are missing, or in another order, is explained without an error.
func TestDamagedHistories(t *testing.T) { everylock.DamagedHistories(t, others()) }

// Equal decisions yield equal histories, byte for byte, in every runner and after any other runs.
func TestSameSeedSameBytes(t *testing.T) {
	everylock.SameSeedSameBytes(t, long.Sample(others(), 5))
}

// The goroutines of a lock end when its run is canceled at any point.
func TestCanceledRunsEnd(t *testing.T) { everylock.CanceledRunsEnd(t, long.Sample(others(), 7)) }

// What the code of a crashed process does is not judged.
func TestCrashedProcess(t *testing.T) {
	everylock.CrashedProcess(t, []everylock.ContactKind{
		{
			Name: "redis", Service: simredis.Service{},
			Open: func(p *scenarios.Process) everylock.Contact {
				c := goredis.Open(p.Handle.(*simredis.Client), 0)
				return everylock.Contact{Request: func() error {
					return c.Set(context.Background(), "k", 1, 0).Err()
				}}
			},
		},
		{
			Name: "sql", Service: simsql.Service{Schema: "CREATE TABLE t (n INT)"},
			Open: func(p *scenarios.Process) everylock.Contact {
				db := p.Handle.(*simsql.Client).DB()
				return everylock.Contact{Request: func() error {
					_, err := db.Exec("UPDATE t SET n = 1")
					return err
				}}
			},
		},
	})
}

// A plan with an instant that never comes on the service is refused in one line.
func TestInstantsFit(t *testing.T) {
	s := locktest.Planned(t, redislocks.Redlock(), 1, 1, "cut@before-expiry=1")
	const want = "the fault cut@before-expiry cannot strike: the service of the lock redlock has " +
		"no such timer"
	if err := s.Validate(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestDatabase is run by the test below.
func TestDatabase(t *testing.T) {
	if os.Getenv("INTERLOCK_STRATEGY") == "" {
		t.Setenv("INTERLOCK_SCHEDULES", "100") // The test below searches all.
	}
	interlock.Check(t, scenarios.Scenario{Subject: sqllocks.UniqueIndex(), Clients: 2, Cycles: 1})
}

// A test of a lock on a database says at which moments stored data may expire.
func TestCheckOfDatabase(t *testing.T) {
	for _, tc := range []struct{ ticks, want string }{
		{
			"", "while stored data wait for their expiry, where no message is in flight and no " +
				"process is about to enter, and at 1 other moment of a schedule",
		},
		{"0", "where no message is in flight and no process is about to enter\n"},
	} {
		c := exec.Command(os.Args[0], "-test.run=^TestDatabase$", "-test.v")
		c.Dir = t.TempDir()
		c.Env = append(os.Environ(), "INTERLOCK_STRATEGY=exhaustive", "INTERLOCK_IDLE_TICKS="+tc.ticks)
		printed, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(printed), tc.want) {
			t.Errorf("idle ticks %q: error %v, want %q:\n%s", tc.ticks, err, tc.want, printed)
		}
	}
}

// Processes are not interchangeable if a plan names one: the lock of the second process is
// lost only if that one comes first.
func TestSymmetryDistinguishesNamedProcesses(t *testing.T) {
	for _, tc := range []struct {
		plan   string
		broken bool
	}{
		{"crash:c2=1", true}, {"crash:c1=1", true}, {"crash@hold=1", true}, {"none", false},
	} {
		e := exhaustive.Search{
			Scenario: locktest.Planned(t, redislocks.SetNX(), 2, 1, tc.plan), Symmetry: true,
		}
		if r := e.Run(context.Background(), t); (r.Failure != nil) != tc.broken ||
			r.Complete == tc.broken {
			t.Errorf("%s: complete %v after %d schedules, failure %v", tc.plan, r.Complete,
				r.Schedules, r.Failure)
		}
	}
}

// A lock has the same verdict for one worker and for several, if its search ends within some
// thousand schedules.
func TestWorkersAgree(t *testing.T) {
	long.Only(t)
	compared := 0
	for _, lock := range others() {
		search := func(workers, schedules int) exhaustive.Search {
			return exhaustive.Search{
				Scenario: locktest.Planned(t, lock, 2, 1, "none"), Schedules: schedules,
				Workers: workers, Solo: 2,
			}
		}
		bounded, one, several := search(1, 4000), search(1, 0), search(2, 0)
		if r := bounded.Run(context.Background(), t); !r.Complete && r.Failure == nil {
			continue
		}
		compared++
		everylock.SameReport(t, &one, &several)
	}
	if compared < 5 {
		t.Errorf("the searches of only %d locks end", compared)
	}
}
