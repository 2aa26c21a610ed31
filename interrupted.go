package interlock

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/internal/run/supervise"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// interruption returns a context that ends when a signal interrupts the commands interlock test and
// certify, which want the verdict of the search under way. In any other test the signal ends the
// process, and the context does not end.
var interruption = sync.OnceValue(func() context.Context {
	ctx := context.Background()
	if os.Getenv(recording.VerdictsVariable) == "" {
		return ctx
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	context.AfterFunc(ctx, func() {
		stop() // A second signal ends the process.
		switch {
		case supervise.Current() != nil: // It ends with its parent.
		case underWay.Load() == 0:
			exitInterrupted()
		default:
			time.AfterFunc(verdictTime, exitInterrupted)
		}
	})
	return ctx
})

const (
	// verdictTime bounds the time in which the calls under way conclude their searches. It is less
	// than what the commands wait.
	verdictTime = 4 * time.Second
	// reportTime is the time in which the tests of these calls print what they report.
	reportTime = time.Second
)

// underWay is the number of calls that have not written their verdicts.
var underWay atomic.Int32

// outliveSignal lets this process outlive a signal until the returned function is called. After the
// signal it does not return, because the process ends.
func outliveSignal() (end func()) {
	if interruption().Err() != nil {
		select {}
	}
	underWay.Add(1)
	return func() {
		if underWay.Add(-1) == 0 && interruption().Err() != nil {
			time.AfterFunc(reportTime, exitInterrupted)
		}
	}
}

// exitInterrupted ends the process with the status by which shells report a signal.
func exitInterrupted() { os.Exit(130) }
