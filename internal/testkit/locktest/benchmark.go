package locktest

import (
	"runtime"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
)

// RunInTest runs f on one core and with the warmed stacks of a campaign. It supplies the *testing.T
// that a bubble of virtual time needs and a benchmark does not have.
func RunInTest(b *testing.B, f func(*testing.T)) {
	cores := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(cores)
	onOneCore := func(t *testing.T) {
		runtime.GOMAXPROCS(1)
		defer engine.WarmStacks()()
		f(t)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		testing.RunTests(func(string, string) (bool, error) { return true, nil },
			[]testing.InternalTest{{Name: b.Name(), F: onOneCore}})
	}()
	<-done
}
