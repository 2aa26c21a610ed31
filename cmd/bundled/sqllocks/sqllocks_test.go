package sqllocks_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/bundled/redislocks"
	"github.com/interlock-sim/interlock/cmd/bundled/sqllocks"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/sim/simsql"
)

// schedulesMax bounds the search for each finding.
const schedulesMax = 1500

// What each lock does not promise, and under which faults. A schedule with a finding gives the same
// history each time.
func TestFindings(t *testing.T) {
	for _, test := range long.Sample([]struct {
		lock scenarios.Subject
		plan string
		want history.Property
	}{
		{sqllocks.UniqueIndex(), "any=2", history.Progress},
		{sqllocks.UniqueIndex(), "crash=1", history.Progress},
		{sqllocks.UniqueIndex(), "lose-reply=1", history.Progress},
		{sqllocks.UniqueIndex(), "restart-server=1", history.Progress},
		{sqllocks.UniqueIndexExpire(), "none", history.ClientMutualExclusion},
		{sqllocks.UniqueIndexExpire(), "none", history.OwnRelease},
		{sqllocks.UniqueIndexOwner(), "any=2", history.ClientMutualExclusion},
		{sqllocks.UniqueIndexOwner(), "pause@hold=2", history.ClientMutualExclusion},
		{sqllocks.UniqueIndexOwner(), "jump-clock=1", history.ClientMutualExclusion},
		{sqllocks.OpenTransaction(), "cut=1", history.ClientMutualExclusion},
		{sqllocks.OpenTransaction(), "restart-server=1", history.ClientMutualExclusion},
	}, 4) {
		t.Run(test.lock.Name+" "+test.plan+" "+string(test.want), func(t *testing.T) {
			s := scenario(t, test.lock, test.plan)
			runner := engine.NewRunner(t)
			for schedule := range schedulesMax {
				r := runner.Run(s, strategy.NewRandom(1, schedule))
				if violates(r, test.want) {
					repeats(t, runner, s, r)
					return
				}
			}
			t.Errorf("no schedule violates %s", test.want)
		})
	}
}

func violates(r *engine.Result, property history.Property) bool {
	for _, v := range r.Violations {
		if v.Property == property {
			return true
		}
	}
	return false
}

// repeats replays a schedule.
func repeats(t *testing.T, runner *engine.Runner, s *scenarios.Scenario, r *engine.Result) {
	t.Helper()
	hash := r.TraceHash
	replay := &engine.Replay{Deviations: append([]engine.Deviation(nil), r.Deviations...)}
	for n := range long.Count(5, 20) {
		if again := runner.Run(s, replay); again.TraceHash != hash {
			t.Fatalf("replay %d has trace hash %#x, want %#x", n, again.TraceHash, hash)
		}
	}
}

// What each remedy repairs: an expiry, that a crash blocks the lock; an owner, the foreign release;
// a token that the resource checks, what pauses and clocks break; a transaction, that a crash
// blocks the lock. All other violations stay.
func TestRemedies(t *testing.T) {
	for _, test := range long.Sample([]struct {
		lock     scenarios.Subject
		plan     string
		holds    []history.Property
		violated bool // another property
	}{
		{
			sqllocks.UniqueIndexExpire(), "any=3",
			[]history.Property{history.Progress},
			true,
		},
		{
			sqllocks.UniqueIndexOwner(), "pause=2,jump-clock=1,crash=1,lose-reply=1",
			[]history.Property{history.Progress, history.OwnRelease},
			true,
		},
		{
			sqllocks.UniqueIndexFenced(), "any=3",
			sqllocks.UniqueIndexFenced().Claims, false,
		},
		{
			sqllocks.OpenTransaction(), "any=3",
			[]history.Property{history.Progress},
			true,
		},
		{
			sqllocks.OpenTransaction(), "crash=1,pause=1,stall-server=1",
			sqllocks.OpenTransaction().Claims, false,
		},
		{
			sqllocks.UniqueIndex(), "pause=2,stall-server=1,stall-replies=1,stall-requests=1",
			sqllocks.UniqueIndex().Claims, false,
		},
	}, 3) {
		t.Run(test.lock.Name+" "+test.plan, func(t *testing.T) {
			s := scenario(t, test.lock, test.plan)
			runner, violated := engine.NewRunner(t), false
			for schedule := range long.Count(60, 400) {
				r := runner.Run(s, strategy.NewRandom(2, schedule))
				violated = violated || len(r.Violations) > 0
				for _, property := range test.holds {
					if violates(r, property) {
						t.Fatalf("schedule %d violates %s: %s", schedule, property,
							r.Violations[0].Detail)
					}
				}
			}
			if violated != test.violated {
				t.Errorf("a property is violated: %v", violated)
			}
		})
	}
}

// A transaction alone excludes nobody in a database that executes several at once: the row that it
// writes does. Each holder has written it.
func TestOpenTransactionWritesRow(t *testing.T) {
	s := scenario(t, sqllocks.OpenTransaction(), "any=2")
	runner, grants := engine.NewRunner(t), 0
	for schedule := range 30 {
		last := make(map[int32]string)
		for _, e := range runner.Run(s, strategy.NewRandom(4, schedule)).Events {
			switch {
			case e.Kind == history.Answer:
				last[e.Process] = e.Op
			case e.Kind == history.LockReturn && e.Err == "":
				if grants++; !strings.HasPrefix(last[e.Process], "INSERT INTO locks") {
					t.Fatalf("c%d holds the lock after %q", e.Process, last[e.Process])
				}
			}
		}
	}
	if grants == 0 {
		t.Error("no process is granted the lock")
	}
}

// The same schedule gives the same events.
func TestDeterminism(t *testing.T) {
	for _, lock := range sqllocks.All() {
		s := scenario(t, lock, "any=3")
		runner := engine.NewRunner(t)
		for schedule := range long.Count(8, 60) {
			first := runner.Run(s, strategy.NewRandom(3, schedule))
			again := runner.RunAgain(context.Background(), s, schedule,
				strategy.NewRandom(3, schedule), first)
			if again != nil {
				t.Fatal(again)
			}
		}
	}
}

// An apart is the database with a key that no other path to a state has, so that a search never
// takes two states for the same.
type apart struct{ simsql.Service }

func (a apart) New() sim.System { return &apartSystem{System: a.Service.New()} }

type apartSystem struct {
	sim.System
	log *history.Log
}

func (s *apartSystem) Reset(config sim.Config) {
	s.log = config.Log
	s.System.Reset(config)
}

func (s *apartSystem) Key() uint64 { return s.log.Hash() }

func (s *apartSystem) StateHash(bool) uint64 { return s.Key() }

// An exhaustive search decides the same whether it recognizes states by their keys, and merges
// them, or not.
func TestExhaustive(t *testing.T) {
	for _, test := range long.Sample([]struct {
		lock scenarios.Subject
		plan string
		want history.Property // "" for no violation
	}{
		{sqllocks.UniqueIndex(), "none", ""},
		{sqllocks.UniqueIndex(), "stall-replies=1", ""},
		{sqllocks.UniqueIndex(), "crash=1", history.Progress},
		{sqllocks.OpenTransaction(), "none", ""},
		{sqllocks.OpenTransaction(), "crash=1", ""},
		{sqllocks.OpenTransaction(), "cut=1", history.ClientMutualExclusion},
		{sqllocks.UniqueIndexOwner(), "jump-clock=1", history.ClientMutualExclusion},
	}, 4) {
		t.Run(test.lock.Name+" "+test.plan, func(t *testing.T) {
			schedules := 0
			for _, separate := range []bool{false, true} {
				if separate {
					test.lock.Service = apart{test.lock.Service.(simsql.Service)}
				}
				s := *scenario(t, test.lock, test.plan)
				s.Clients, s.Cycles = 2, 1
				search := exhaustive.Search{Scenario: s, NoMerge: separate}
				r := search.Run(context.Background(), t)
				got := history.Property("")
				if r.Failure != nil {
					got = r.Failure.Violations[0].Property
				}
				if got != test.want || r.Failure == nil && !r.Complete {
					t.Errorf("states apart: %v, complete: %v, violates %q, want %q", separate,
						r.Complete, got, test.want)
				}
				if separate && r.Schedules < schedules {
					t.Errorf("%d schedules with states apart, %d else", r.Schedules, schedules)
				}
				schedules = r.Schedules
				t.Logf("states apart: %v, %d schedules, %d states", separate, r.Schedules, r.States)
			}
		})
	}
}

// scenario returns a scenario of three processes.
func scenario(t testing.TB, lock scenarios.Subject, plan string) *scenarios.Scenario {
	t.Helper()
	parsed, err := faults.Parse(plan)
	if err != nil {
		t.Fatal(err)
	}
	s := scenarios.Scenario{
		Subject: lock, Clients: 3, Cycles: 2, Faults: parsed,
		Severity: faults.Severity{Pause: time.Second, Drift: 5},
	}.Resolved()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return &s
}

// BenchmarkSchedule measures a schedule of a lock on a database, without faults, beside those of the
// same lock on Redis and of one that runs scripts there.
func BenchmarkSchedule(b *testing.B) {
	for _, lock := range []scenarios.Subject{
		sqllocks.UniqueIndex(), redislocks.SetNX(), redislocks.SetNXLease(),
	} {
		b.Run(lock.Name, func(b *testing.B) {
			s := scenario(b, lock, "none")
			locktest.RunInTest(b, func(t *testing.T) {
				runner, steps := engine.NewRunner(t), 0
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					steps += runner.Run(s, strategy.NewRandom(1, i)).Steps
				}
				b.ReportMetric(float64(steps)/float64(b.N), "steps/schedule")
			})
		})
	}
}

// A waiter that writes another column of the holder's row does not own it, and an Unlock that fails
// without a fault and without a loss is found.
func TestOwnTable(t *testing.T) {
	for name, test := range map[string]struct {
		unlock error
		want   history.Property // "" for no violation
	}{
		"touched row":  {nil, ""},
		"unlock fails": {errors.New("not released"), history.Progress},
	} {
		lock := scenarios.Subject{
			Name: "touched-row",
			Service: simsql.Service{
				Schema: "CREATE TABLE locks (name TEXT PRIMARY KEY, owner TEXT, waiters INTEGER)",
			},
			Claims: []history.Property{
				history.ClientMutualExclusion, history.Progress, history.OwnRelease,
			},
			Open: func(p *scenarios.Process) (scenarios.Locker, error) {
				return touching{p, p.Handle.(*simsql.Client).DB(), test.unlock}, nil
			},
		}
		s, runner := scenario(t, lock, "none"), engine.NewRunner(t)
		got := history.Property("")
		for schedule := range long.Count(60, 200) {
			if r := runner.Run(s, strategy.NewRandom(1, schedule)); len(r.Violations) > 0 {
				got = r.Violations[0].Property
				break
			}
		}
		if got != test.want {
			t.Errorf("%s: violates %q, want %q", name, got, test.want)
		}
	}
}

// A touching is a lock by a row, of which those that wait write another column.
type touching struct {
	process *scenarios.Process
	db      *sql.DB
	unlock  error // of each Unlock
}

func (l touching) Lock(ctx context.Context) (*scenarios.Hold, error) {
	owner, asked := l.process.Name(), false
	for {
		_, err := l.db.ExecContext(ctx, "INSERT INTO locks VALUES ('job', ?, 0)", owner)
		if err == nil {
			return &scenarios.Hold{Unlock: func(ctx context.Context) error {
				_, err := l.db.ExecContext(ctx,
					"DELETE FROM locks WHERE name = 'job' AND owner = ?", owner)
				return errors.Join(err, l.unlock)
			}}, nil
		}
		if !asked {
			asked = true
			l.db.ExecContext(ctx, "UPDATE locks SET waiters = waiters + 1 WHERE name = 'job'")
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
