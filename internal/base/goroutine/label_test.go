package goroutine_test

import (
	"context"
	"runtime/pprof"
	"testing"

	"github.com/interlock-sim/interlock/internal/base/goroutine"
)

// A goroutine has the label of the one that has started it, and another context another label.
func TestCurrent(t *testing.T) {
	one := pprof.WithLabels(context.Background(), pprof.Labels("n", "1"))
	two := pprof.WithLabels(context.Background(), pprof.Labels("n", "1"))
	if goroutine.LabelOf(one) == goroutine.LabelOf(two) {
		t.Error("two contexts have one label")
	}
	found := make(chan goroutine.Label)
	go func() {
		pprof.SetGoroutineLabels(one)
		go func() {
			go func() { found <- goroutine.Current() }()
		}()
	}()
	if <-found != goroutine.LabelOf(one) {
		t.Error("a goroutine has not the label of the one that has started it")
	}
}
