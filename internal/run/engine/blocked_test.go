package engine_test

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// stuck is a lock whose first process waits for a goroutine that never answers. The other one
// finishes.
func stuck() scenarios.Subject {
	return locktest.Subject("stuck", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(ctx context.Context) (*scenarios.Hold, error) {
			if p.Number == 1 {
				if _, _, err := p.Client.Exists(p.Directory); err != nil {
					return nil, err
				}
				answer := make(chan struct{})
				go neverAnswer(ctx, answer)
				<-answer
			}
			return &scenarios.Hold{Unlock: locktest.Free}, nil
		}
	})
}

func neverAnswer(ctx context.Context, answer chan<- struct{}) {
	<-ctx.Done()
	close(answer)
}

// The last event of a run that is stuck says where the goroutines of the process are blocked that
// has not finished, and when its last event was. The fact is no part of the trace hash.
func TestBlockedGoroutines(t *testing.T) {
	for _, client := range []scenarios.ClientKind{scenarios.Model, scenarios.Real} {
		t.Run(client.String(), func(t *testing.T) {
			if client == scenarios.Real && real.RaceDetector {
				t.Skip("the real client is not deterministic under the race detector")
			}
			scenario := locktest.Scenario(stuck(), 2, 1, 0)
			scenario.Client = client
			runner := engine.NewRunner(t)
			hash := runner.Run(scenario, strategy.NewRandom(1, 0)).TraceHash
			runner.GatherFacts(true)
			for range 3 {
				result := runner.Run(scenario, strategy.NewRandom(1, 0))
				if result.TraceHash != hash {
					t.Errorf("trace hash %x with facts, %x without", result.TraceHash, hash)
				}
				checkWaits(t, result.Events)
			}
		})
	}
}

func checkWaits(t *testing.T, events []history.Event) {
	t.Helper()
	answered := slices.IndexFunc(events, func(e history.Event) bool {
		return e.Kind == history.Reply && e.Process == 1
	})
	last := events[len(events)-1]
	if last.Facts == nil || len(last.Facts.Waits) != 2 {
		t.Fatalf("the last event has facts %+v, want two waits", last.Facts)
	}
	for i, function := range []string{`stuck\.`, `^engine_test\.neverAnswer$`} {
		wait := last.Facts.Waits[i]
		if wait.Process != 1 || wait.On != "chan receive" || wait.Since != events[answered].At ||
			!regexp.MustCompile(function).MatchString(wait.Function) ||
			!regexp.MustCompile(`^internal/run/engine/blocked_test\.go:\d+$`).MatchString(wait.Line) {
			t.Errorf("wait %d is %+v", i, wait)
		}
	}
	for i := range events[:len(events)-1] {
		if f := events[i].Facts; f != nil && len(f.Waits) > 0 {
			t.Errorf("event %d of %d has waits", i, len(events))
		}
	}
}

// blocksVariously is a lock whose process waits in every way until the run ends.
func blocksVariously() scenarios.Subject {
	return locktest.Subject("blocks-variously", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(ctx context.Context) (*scenarios.Hold, error) {
			var group sync.WaitGroup
			group.Add(1)
			condition, over := sync.NewCond(new(sync.Mutex)), false
			queue := make(chan int)
			context.AfterFunc(ctx, func() {
				group.Done()
				condition.L.Lock()
				defer condition.L.Unlock()
				over = true
				condition.Broadcast()
				<-queue
			})
			go func() { group.Wait() }()
			go func() {
				condition.L.Lock()
				defer condition.L.Unlock()
				for !over {
					condition.Wait()
				}
			}()
			go func() { queue <- 1 }()
			go func() {
				for ctx.Err() == nil {
					time.Sleep(time.Second)
				}
			}()
			select {
			case <-ctx.Done():
			case <-make(chan int):
			}
			return nil, ctx.Err()
		}
	})
}

// Each way to wait has its name.
func TestWaitReasons(t *testing.T) {
	runner := engine.NewRunner(t)
	runner.GatherFacts(true)
	result := runner.Run(locktest.Scenario(blocksVariously(), 1, 1, 0), &engine.Replay{})
	if result.Leak != "" {
		t.Error(result.Leak)
	}
	var reasons []string
	for _, wait := range result.Events[len(result.Events)-1].Facts.Waits {
		reasons = append(reasons, wait.On)
	}
	want := []string{"chan send", "select", "sleep", "sync.Cond.Wait", "sync.WaitGroup.Wait"}
	if slices.Sort(reasons); !slices.Equal(reasons, want) {
		t.Errorf("waits on %q, want %q", reasons, want)
	}
}

// A run without facts looks for no blocked goroutines; one in which all processes finish has none.
func TestNoBlockedGoroutines(t *testing.T) {
	for _, tc := range []struct {
		subject scenarios.Subject
		facts   bool
	}{{stuck(), false}, {locktest.NoLock(), true}} {
		runner := engine.NewRunner(t)
		runner.GatherFacts(tc.facts)
		result := runner.Run(locktest.Scenario(tc.subject, 2, 1, 0), strategy.NewRandom(1, 0))
		if f := result.Events[len(result.Events)-1].Facts; f != nil && len(f.Waits) > 0 {
			t.Errorf("%s: waits %+v", tc.subject.Name, f.Waits)
		}
	}
}
