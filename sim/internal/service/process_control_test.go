package service_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/sim/internal/service"
)

// The goroutines of a paused process continue in the order in which they stopped.
func TestResumeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := service.NewBase(sim.Config{Log: new(history.Log), Settle: synctest.Wait})
		var p service.ProcessControl
		p.Init(1, &base)
		p.Pause()
		var mu sync.Mutex
		var want, got []int
		for i := range 16 {
			want = append(want, i)
			go func() {
				p.AwaitRunning()
				mu.Lock()
				defer mu.Unlock()
				got = append(got, i)
			}()
			synctest.Wait()
		}
		if len(got) > 0 {
			t.Fatalf("goroutines %v went on during the pause", got)
		}
		p.Resume()
		synctest.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("goroutines went on in the order %v, want %v", got, want)
		}
	})
}
