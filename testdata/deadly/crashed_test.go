package deadly

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// crashing is a scenario in which processes may crash. Each of them does something in a goroutine of
// its own, until its unlock begins.
func crashing(name string, kind scenarios.ClientKind,
	aside func(p *scenarios.Process, unlocks *atomic.Bool),
) scenarios.Scenario {
	return scenarios.Scenario{
		Clients: 2, Cycles: 1, Faults: faults.MustParse("crash=1"), Client: kind,
		Subject: scenarios.Subject{
			Name: name, Claims: []history.Property{history.Progress},
			Open: func(p *scenarios.Process) (scenarios.Locker, error) {
				unlocks := new(atomic.Bool)
				go aside(p, unlocks)
				ask := func() error {
					_, _, err := p.Client.Exists(p.Directory)
					return err
				}
				return scenarios.Mutex(ask, func() error {
					unlocks.Store(true)
					return ask()
				}), nil
			},
		},
	}
}

// The process repeats a call without a pause as long as its connection is lost.
func TestCrashedRetries(t *testing.T) {
	interlock.Check(t, crashing("retries", scenarios.Real,
		func(p *scenarios.Process, unlocks *atomic.Bool) {
			conn := p.Conn()
			for !unlocks.Load() {
				_, _, err := conn.Exists(p.Directory)
				for err == zk.ErrConnectionClosed && !unlocks.Load() {
					_, _, err = conn.Exists(p.Directory)
				}
				time.Sleep(time.Second)
			}
		}))
}

// The process panics when the events of its client end before it unlocks.
func checkEvents(t *testing.T, kind scenarios.ClientKind) {
	interlock.Check(t, crashing("events", kind,
		func(p *scenarios.Process, unlocks *atomic.Bool) {
			for {
				if _, ok := <-p.Client.Events(); !ok && !unlocks.Load() {
					panic("the client is closed")
				} else if !ok {
					return
				}
			}
		}))
}

func TestCrashedEventsOfModel(t *testing.T) { checkEvents(t, scenarios.Model) }
func TestCrashedEventsOfReal(t *testing.T)  { checkEvents(t, scenarios.Real) }

// The process panics when a goroutine that asks has ended without an answer.
func TestCrashedHandsOver(t *testing.T) {
	interlock.Check(t, crashing("hands-over", scenarios.Model,
		func(p *scenarios.Process, unlocks *atomic.Bool) {
			answered, done := false, make(chan struct{})
			go func() {
				defer close(done)
				_, _, err := p.Client.Exists(p.Directory)
				answered = err == nil
			}()
			<-done
			if !answered && !unlocks.Load() {
				panic("no answer")
			}
		}))
}

// The process ends itself if it has not begun to unlock after a long time, also once it has crashed.
func TestCrashedFences(t *testing.T) {
	interlock.Check(t, crashing("fences", scenarios.Model,
		func(p *scenarios.Process, unlocks *atomic.Bool) {
			ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
			defer cancel()
			<-ctx.Done()
			if !unlocks.Load() {
				panic("fenced")
			}
		}))
}
