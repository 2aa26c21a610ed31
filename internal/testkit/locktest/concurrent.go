package locktest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

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
		locks = append(locks, RandomSelect(fixed), WokenTwice(fixed), MutexHeld(fixed),
			MutexHalves(fixed), LateTimer(fixed), RequestOrder(fixed))
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

// concurrentFirst is concurrent with a question of the first process only.
func concurrentFirst(name string, fixed bool, skips func(*scenarios.Process) bool,
) scenarios.Subject {
	return concurrent(name, fixed, func(p *scenarios.Process) bool {
		return p.Number == 1 && skips(p)
	})
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
		asked := false
		return wokenTwice(p, func() bool {
			mu.Lock()
			defer mu.Unlock()
			asked = true
			return false
		}, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return !asked
		})
	})
}

// MutexHeld is a monitor: it holds a mutex across requests, and two goroutines compete for it.
func MutexHeld(fixed bool) scenarios.Subject {
	return concurrent("mutex-held", fixed, func(p *scenarios.Process) bool {
		var mu sync.Mutex
		known := false
		return wokenTwice(p, func() bool {
			mu.Lock()
			defer mu.Unlock()
			_, _, err := p.Client.Exists(p.Directory)
			known = err == nil
			return false
		}, func() bool {
			mu.Lock()
			defer mu.Unlock()
			exists, _, err := p.Client.Exists(p.Directory)
			return err == nil && exists && !known
		})
	})
}

// MutexHalves has two goroutines that look in one critical section of a mutex, and act in another.
func MutexHalves(fixed bool) scenarios.Subject {
	return concurrentFirst("mutex-halves", fixed, func(p *scenarios.Process) bool {
		var mu sync.Mutex
		seen, both := 0, 0
		half := func() bool {
			mu.Lock()
			first := seen == 0
			mu.Unlock()
			mu.Lock()
			defer mu.Unlock()
			seen++
			if first {
				both++
			}
			return both == 2
		}
		return wokenTwice(p, half, half)
	})
}

// LateTimer expects that a timer's function runs before a goroutine that wakes at the same time.
func LateTimer(fixed bool) scenarios.Subject {
	return concurrent("late-timer", fixed, func(p *scenarios.Process) bool {
		var ran atomic.Bool
		time.AfterFunc(time.Second, func() { ran.Store(true) })
		time.Sleep(time.Second)
		return !ran.Load()
	})
}

// RequestOrder expects that the servers get simultaneous requests of two goroutines in the order of
// their paths.
func RequestOrder(fixed bool) scenarios.Subject {
	return concurrentFirst("request-order", fixed, func(p *scenarios.Process) bool {
		create := func(name string) func() bool {
			return func() bool {
				_, err := p.Client.Create(p.Directory+"/"+p.Name()+name, nil, 0,
					zk.WorldACL(zk.PermAll))
				return err != nil
			}
		}
		wokenTwice(p, create("a"), create("b"))
		_, a, _ := p.Client.Exists(p.Directory + "/" + p.Name() + "a")
		_, b, _ := p.Client.Exists(p.Directory + "/" + p.Name() + "b")
		return a != nil && b != nil && b.Czxid < a.Czxid
	})
}

// wokenTwice lets two goroutines run at once, and reports whether one of them returns true. The
// default policy runs the usual one first.
func wokenTwice(p *scenarios.Process, usual, other func() bool) bool {
	start, results := make(chan struct{}), make(chan bool, 2)
	wake := sync.OnceFunc(func() { close(start) })
	defer wake() // if the run ends before
	run := func(f func() bool) {
		<-start
		results <- f()
	}
	// A close wakes the goroutine that came last first.
	go run(other)
	p.Client.Exists(p.Directory) // It waits when the reply arrives.
	go run(usual)
	p.Client.Exists(p.Directory)
	wake()
	first, second := <-results, <-results
	return first || second
}
