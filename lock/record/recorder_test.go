package record_test

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/production"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/lock/record"
)

var background = context.Background()

// The locks of two processes, with two goroutines each, violate nothing, whether or not the
// processes record their critical sections.
func TestAllLocks(t *testing.T) {
	for name, sections := range map[string]bool{"observer alone": false, "sections": true} {
		t.Run(name, func(t *testing.T) {
			log := inService(t, 2, func(s *service) {
				for p, r := range s.recorders {
					do := func(l lock.Locker, f func(context.Context) error) {
						err := error(nil)
						if sections {
							err = r.Do(background, l, f)
						} else {
							err = l.Do(background, f)
						}
						if err != nil {
							t.Error(err)
						}
					}
					observed := lock.WithObserver(r)
					session := s.ensembles[0].connect()
					rw, _ := lock.NewRWMutex(session, "/locks/table", observed)
					pool, _ := lock.NewSemaphore(session, "/locks/pool", 2, observed)
					round, _ := lock.NewDoubleBarrier(session, "/locks/round", 4, observed)
					mutex := s.mutex(p, 0)
					for range 2 {
						go func() {
							if err := round.Do(background, work); err != nil {
								t.Error(err)
							}
							do(pool, work)
							do(mutex, work)
							do(rw, func(ctx context.Context) error {
								time.Sleep(time.Second)
								return errors.Join(lock.LeaseFrom(ctx).Downgrade(ctx), work(ctx))
							})
							do(rw.RLocker(), work)
						}()
					}
				}
				s.pass(time.Minute)
			})
			if found := violations(t, log); len(found) > 0 {
				t.Errorf("violated: %v", found)
			}
			wantExercised(t, log, map[string]int{
				"/locks/billing": 4, "/locks/table": 8, "/locks/pool": 4, "/locks/round": 4,
			})
		})
	}
}

// wantExercised checks how many attempts each lock has granted, and that its properties were
// tested.
func wantExercised(t *testing.T, log *history.Log, grants map[string]int) {
	t.Helper()
	for one := range production.ByLock(log.Events()) {
		var vacuity check.Vacuity
		vacuity.Add(one.Events, history.Limits{Places: production.Places(one.Events)})
		for _, p := range []history.Property{
			history.ClientMutualExclusion, history.MonotonicToken, history.Linearizable,
		} {
			// All participants of a barrier are inside together.
			if vacuity.Of(p) == 0 &&
				(one.Lock != "/locks/round" || p != history.ClientMutualExclusion) {
				t.Errorf("%s: %s is not exercised", one.Lock, p)
			}
		}
		if got := vacuity.Of(history.Linearizable); got != grants[one.Lock] {
			t.Errorf("%s: %d grants, want %d", one.Lock, got, grants[one.Lock])
		}
		delete(grants, one.Lock)
	}
	if len(grants) > 0 {
		t.Errorf("not in the history: %v", grants)
	}
}

// pausing is an observer that pauses the process between the grant and the return of Lock.
type pausing time.Duration

func (p pausing) Observe(e lock.Event) {
	if e.Kind == lock.Granted {
		time.Sleep(time.Duration(p))
	}
}

// A process that is paused between the grant and its critical section, and has lost the lock by
// then, does not enter. So the history has no false violation.
func TestPauseBeforeEnter(t *testing.T) {
	entered, lost := false, error(nil)
	log := inService(t, 2, func(s *service) {
		slow := s.mutex(0, 0, lock.WithObserver(pausing(2*sessionTimeout)))
		other := s.mutex(1, 0)
		go func() {
			lost = s.recorders[0].Do(background, slow, func(context.Context) error {
				entered = true
				return nil
			})
		}()
		s.pass(time.Second)
		s.ensembles[0].cluster.Expire(s.ensembles[0].clients[0].SessionID())
		go s.recorders[1].Do(background, other, func(context.Context) error {
			time.Sleep(3 * sessionTimeout)
			return nil
		})
		s.pass(5 * sessionTimeout)
	})
	if entered || !errors.Is(lost, lock.ErrLost) {
		t.Errorf("entered %v, error %v", entered, lost)
	}
	if found := violations(t, log); len(found) > 0 {
		t.Errorf("violated: %v", found)
	}
	enters := 0
	for _, e := range log.Events() {
		if e.Kind == history.Enter {
			enters++
		}
	}
	if enters != 1 {
		t.Errorf("%d processes entered, want 1", enters)
	}
}

// A process that is told of its loss in its critical section records that.
func TestLostInside(t *testing.T) {
	log := inService(t, 2, func(s *service) {
		go s.recorders[0].Do(background, s.mutex(0, 0), func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(2 * sessionTimeout) // It does not stop at once, which is not the lock's fault.
			return nil
		})
		s.pass(time.Second)
		s.ensembles[0].cluster.Cut(s.ensembles[0].clients[0].Link)
		s.pass(sessionTimeout)
		s.ensembles[0].cluster.Expire(s.ensembles[0].clients[0].SessionID())
		go s.recorders[1].Do(background, s.mutex(1, 0), work)
		s.pass(4 * sessionTimeout)
	})
	if found := violations(t, log); len(found) > 0 {
		t.Errorf("violated: %v", found)
	}
	lost := slices.ContainsFunc(log.Events(),
		func(e history.Event) bool { return e.Kind == history.Lost })
	if !lost {
		t.Error("no loss was recorded")
	}
}

// Two holders of one lock are found, as are two goroutines of one process. Their locks are in
// different ensembles, so that nothing excludes them.
func TestOverlap(t *testing.T) {
	for _, processes := range []int{1, 2} {
		for _, sections := range []bool{false, true} {
			log := inService(t, processes, func(s *service) {
				s.ensembles = append(s.ensembles, newEnsemble())
				for e := range s.ensembles {
					m, r := s.mutex(e%processes, e), s.recorders[e%processes]
					if sections {
						go r.Do(background, m, work)
					} else {
						go m.Do(background, work)
					}
					s.pass(100 * time.Millisecond)
				}
				s.pass(2 * time.Second)
			})
			found := violations(t, log)
			for _, p := range []history.Property{
				history.ClientMutualExclusion, history.Linearizable,
			} {
				if len(found[p]) != 1 {
					t.Errorf("%d processes: %s: %v", processes, p, found[p])
				}
			}
		}
	}
}

// An owner that takes its lock again does not exclude itself, and its resource is written in order.
func TestOwnerAndResource(t *testing.T) {
	log := inService(t, 1, func(s *service) {
		r, m := s.recorders[0], s.mutex(0, 0)
		go r.Do(lock.WithOwner(background), m, func(ctx context.Context) error {
			r.Read(ctx, "ledger", 7)
			r.Wrote(ctx, "ledger", 8, nil)
			return r.Do(ctx, m, func(ctx context.Context) error {
				r.Wrote(ctx, "ledger", 8, errors.New("stale"))
				return nil
			})
		})
		s.pass(time.Second)
	})
	if found := violations(t, log); len(found) > 0 {
		t.Errorf("violated: %v", found)
	}
	var kinds []string
	for _, e := range log.Events() {
		kinds = append(kinds, e.Kind.String())
	}
	want := "started lock-call node-created lock-return enter resource-read resource-write " +
		"lock-call lock-return enter resource-write leave unlock-call unlock-return " +
		"leave unlock-call unlock-return"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("recorded %s,\nwant %s", got, want)
	}
}

// Do refuses a lock that the recorder does not observe.
func TestNotObserved(t *testing.T) {
	inService(t, 1, func(s *service) {
		m, err := lock.NewMutex(s.ensembles[0].connect(), "/locks/billing")
		if err != nil {
			t.Fatal(err)
		}
		go func() { err = s.recorders[0].Do(background, m, work) }()
		s.pass(time.Second)
		if err == nil || !strings.Contains(err.Error(), "lock.WithObserver") {
			t.Errorf("error %v", err)
		}
	})
}

// failing is a writer that fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// A failed write is reported.
func TestWriteError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record.New(failing{}, "billing")
		if err := r.Err(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if err := r.Err(); err != io.ErrShortWrite {
			t.Errorf("error %v", err)
		}
		if err := r.Close(); err != io.ErrShortWrite {
			t.Errorf("error %v when closed", err)
		}
	})
}

// A service that records depends only on a ZooKeeper client.
func TestDependencies(t *testing.T) {
	output, err := exec.Command("go", "list", "-deps", "-f",
		"{{if not .Standard}}{{.ImportPath}}{{end}}", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, output)
	}
	want := "github.com/go-zookeeper/zk github.com/interlock-sim/interlock/lock " +
		"github.com/interlock-sim/interlock/lock/record"
	if got := strings.Join(strings.Fields(string(output)), " "); got != want {
		t.Errorf("package record depends on %s, want %s", got, want)
	}
}
