package interlock_test

import (
	"context"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// Production locks whose handle threads share have all their properties, with any faults, on one
// server and on three, and their runs are deterministic.
func TestThreadsOfProductionLocks(t *testing.T) {
	for _, subject := range []scenarios.Subject{
		subjects.Mutex(), subjects.ReadersWriters(), subjects.Semaphore3(), subjects.Session(),
		subjects.TryLock(),
	} {
		for _, servers := range []int{1, 3} {
			scenario := scenarios.Scenario{
				Subject: subject, Clients: 2, Threads: 2, Cycles: 2, Servers: servers,
				Faults: faults.Of(faults.Any, 2),
			}.Resolved()
			runner := engine.NewRunner(t)
			for i := range long.Count(8, 60) {
				result := runner.Run(&scenario, strategy.NewRandom(7, i))
				if len(result.Violations) > 0 {
					t.Fatalf("%v, schedule %d:\n%s", &scenario, i, result.Describe(&scenario))
				}
				again := engine.NewRunner(t).Run(&scenario, strategy.NewRandom(7, i))
				if again.TraceHash != result.TraceHash {
					t.Fatalf("%v, schedule %d: two runs differ", &scenario, i)
				}
			}
		}
	}
}

// Each thread is a contender: it has its own grants, critical sections and requests, and a crash
// stops all threads of a process.
func TestThreadsAreContenders(t *testing.T) {
	scenario := scenarios.Scenario{
		Subject: subjects.Mutex(), Clients: 2, Threads: 3, Cycles: 1,
		Faults: faults.MustParse("crash:c1@hold=1"),
	}.Resolved()
	crashed, granted, created := 0, map[string]int{}, map[string]int{}
	runner := engine.NewRunner(t)
	for i := range 40 {
		for _, e := range runner.Run(&scenario, strategy.NewRandom(1, i)).Events {
			name := history.ProcessName(e.Process)
			switch e.Kind {
			case history.Crashed:
				if process, _ := history.ProcessOf(e.Process); process != 1 {
					t.Errorf("%s crashed", name)
				}
				crashed++
			case history.LockReturn:
				granted[name]++
			case history.NodeCreated:
				created[name]++
			}
		}
	}
	if crashed == 0 || crashed%3 != 0 {
		t.Errorf("%d crashes of threads, want 3 for each of a process", crashed)
	}
	for _, name := range []string{"c1", "c1.2", "c1.3", "c2", "c2.2", "c2.3"} {
		if granted[name] == 0 || created[name] < granted[name] {
			t.Errorf("%s was granted the lock %d times by %d nodes", name, granted[name],
				created[name])
		}
	}
}

// A campaign finds the defects of a handle that threads share, and a schedule names the threads.
func TestThreadDefects(t *testing.T) {
	for defect, want := range map[locktest.ThreadDefect]history.Property{
		locktest.NoThreadDefect: "", locktest.SharedNode: history.Progress,
		locktest.SharedCounter: history.ClientMutualExclusion,
	} {
		violated := search(t, scenarios.Scenario{
			Subject: locktest.Handle(defect), Clients: 2, Threads: 2, Cycles: 2,
		})
		if want != "" && !slices.Contains(violated, want) || want == "" && violated != nil {
			t.Errorf("defect %d violates %v, want %q", defect, violated, want)
		}
	}
}

// A thread that is cancelled gives up, and the others do not.
func TestCancelOfAThread(t *testing.T) {
	scenario := scenarios.Scenario{
		Subject: subjects.Mutex(), Clients: 1, Threads: 3, Cycles: 1,
		Faults: faults.MustParse("cancel=1"),
	}.Resolved()
	cancelled, failed := map[string]int{}, map[string]int{}
	runner := engine.NewRunner(t)
	for i := range 100 {
		result := runner.RunWithin(context.Background(), &scenario, strategy.NewRandom(2, i))
		if len(result.Violations) > 0 {
			t.Fatal(result.Describe(&scenario))
		}
		for _, e := range result.Events {
			switch {
			case e.Kind == history.Fault:
				cancelled[history.ProcessName(e.Process)]++
			case e.Kind == history.LockReturn && e.Err != "":
				failed[history.ProcessName(e.Process)]++
			}
		}
	}
	for _, name := range []string{"c1", "c1.2", "c1.3"} {
		if cancelled[name] == 0 || failed[name] == 0 || failed[name] > cancelled[name] {
			t.Errorf("%s was cancelled %d times and failed %d times", name, cancelled[name],
				failed[name])
		}
	}
}

// A client that the code opens itself, or a *zk.Conn, does not tell which thread makes a request.
func TestThreadsNeedAProcessClient(t *testing.T) {
	s := scenarios.Scenario{
		Subject: subjects.Mutex(), Clients: 1, Threads: 2, Cycles: 1, Client: scenarios.Dialed,
	}
	if err := s.Validate(); err == nil {
		t.Error("threads that open their own clients are valid")
	}
	s.Subject, s.Client = subjects.ZKLock(), scenarios.Real
	if err := s.Validate(); err == nil {
		t.Error("threads with a *zk.Conn are valid")
	}
	s.Subject = subjects.Mutex()
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	s.Client, s.Threads = scenarios.Model, 9
	if err := s.Validate(); err == nil {
		t.Error("nine threads are valid")
	}
}
