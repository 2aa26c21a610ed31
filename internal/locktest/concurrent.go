package locktest

import (
	"context"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// Concurrent returns locks with concurrency of their own: each with a defect that only one order of
// its goroutines shows, and its twin without the defect, whose name ends in -fixed. MutexHeld hangs
// without the goroutine scheduler.
func Concurrent() []scenarios.Subject {
	var locks []scenarios.Subject
	for _, fixed := range []bool{false, true} {
		locks = append(locks, RandomSelect(fixed), WokenTwice(fixed), MutexHeld(fixed))
	}
	return locks
}

// concurrent returns a lock that asks whether it may skip the textbook lock. A fixed lock asks, but
// never skips it.
func concurrent(name string, fixed bool, skips func(*scenarios.Process) bool) scenarios.Subject {
	if fixed {
		name += "-fixed"
	}
	s := Subject(name, func(p *scenarios.Process) scenarios.LockerFunc {
		locker, err := subjects.Textbook().Open(p)
		if err != nil {
			panic(err)
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			if skips(p) && !fixed {
				return &scenarios.Hold{Unlock: Free}, nil
			}
			return locker.Lock(ctx)
		}
	})
	s.Claims = []history.Property{history.ClientMutualExclusion, history.ServerMutualExclusion}
	return s
}

// RandomSelect waits in a select with two ready cases.
func RandomSelect(fixed bool) scenarios.Subject {
	return concurrent("random-select", fixed, func(p *scenarios.Process) bool {
		asked, stale := make(chan bool, 1), make(chan bool, 1)
		asked <- false
		stale <- true
		select {
		case skip := <-asked:
			return skip
		case skip := <-stale:
			// The request makes the runs with this case differ.
			p.Client.Exists(p.Directory + "/stale")
			return skip
		}
	})
}

// WokenTwice wakes two goroutines by closing a channel. One reads what the other writes.
func WokenTwice(fixed bool) scenarios.Subject {
	return concurrent("woken-twice", fixed, func(p *scenarios.Process) bool {
		var mu sync.Mutex
		asked, start, skips := false, make(chan struct{}), make(chan bool)
		go func() {
			<-start
			mu.Lock()
			asked = true
			mu.Unlock()
		}()
		go func() {
			<-start
			mu.Lock()
			skip := !asked
			mu.Unlock()
			skips <- skip
		}()
		p.Client.Exists(p.Directory) // Both wait when the reply arrives.
		close(start)
		return <-skips
	})
}

// MutexHeld is a monitor: it holds a mutex across requests. A goroutine of its own competes for it.
func MutexHeld(fixed bool) scenarios.Subject {
	return concurrent("mutex-held", fixed, func(p *scenarios.Process) bool {
		var mu sync.Mutex
		absent := false
		refreshed := make(chan struct{})
		go func() {
			defer close(refreshed)
			mu.Lock()
			defer mu.Unlock()
			_, _, err := p.Client.Exists(p.Directory + "/monitor")
			absent = err == nil
		}()
		skip := monitored(&mu, p, &absent)
		<-refreshed
		return skip
	})
}

// monitored reads under the mutex what another goroutine writes under it.
func monitored(mu *sync.Mutex, p *scenarios.Process, absent *bool) bool {
	mu.Lock()
	defer mu.Unlock()
	skip := *absent
	if _, err := p.Client.Create(p.Directory+"/monitor", nil, zk.FlagEphemeral,
		zk.WorldACL(zk.PermAll)); err != nil {
		return false
	}
	return skip
}
