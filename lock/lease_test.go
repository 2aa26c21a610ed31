package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

type contextKey struct{}

func TestLeaseContext(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		parent, cancel := context.WithCancelCause(context.WithValue(background, contextKey{}, 7))
		m := w.mutex(1)
		unlocked := w.acquire(m)
		under := unlocked.Context(parent)
		if under.Err() != nil || under.Value(contextKey{}) != 7 {
			t.Fatalf("error %v, value %v", under.Err(), under.Value(contextKey{}))
		}
		w.unlock(unlocked)
		<-under.Done()
		if cause := context.Cause(under); !errors.Is(cause, lock.ErrNotHeld) ||
			errors.Is(cause, lock.ErrLost) {
			t.Errorf("after Unlock: %v, want ErrNotHeld and not ErrLost", cause)
		}
		lost := w.acquire(m)
		under = lost.Context(parent)
		go w.client(2).Delete(lost.Node(), -1)
		w.flow()
		<-under.Done()
		if cause := context.Cause(under); !errors.Is(cause, lock.ErrLost) {
			t.Errorf("after a loss: %v, want ErrLost", cause)
		}
		held := w.acquire(m)
		under = held.Context(parent)
		mine := errors.New("mine")
		cancel(mine)
		<-under.Done()
		if cause := context.Cause(under); cause != mine || held.Err() != nil {
			t.Errorf("after the parent's end: %v, lease %v", cause, held.Err())
		}
		ended := held.Context(background)
		w.unlock(held)
		<-ended.Done()
		late := held.Context(background)
		<-late.Done()
	})
}

// A lease that has expired reports that, even if its timers have not fired yet, as after a pause.
func TestLeaseGoesByTheClock(t *testing.T) {
	const looks = 100 // They wake when the timers fire, in random order.
	for name, over := range map[string]func(*lock.MultiLease) bool{
		"Err": func(m *lock.MultiLease) bool {
			return errors.Is(m.Leases()[0].Err(),
				lock.ErrLost)
		},
		"Done": func(m *lock.MultiLease) bool { return closed(m.Leases()[0].Done()) },
		"Unlock": func(m *lock.MultiLease) bool {
			m.Unlock(canceled)
			return errors.Is(m.Err(), lock.ErrLost)
		},
		"Done of a MultiLease": func(m *lock.MultiLease) bool { return closed(m.Done()) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				told := make(chan bool, looks)
				for i := range looks {
					multi := must(lock.NewMulti(must(lock.NewMutex(w.session(1),
						fmt.Sprint("/lock/", i)))))
					var leases *lock.MultiLease
					if err := w.do(func() (err error) {
						leases,
							err = multi.Lock(background)
						return err
					}); err != nil {
						t.Fatal(err)
					}
					go func() {
						time.Sleep(sessionTimeout / 3)
						told <- over(leases)
					}()
				}
				w.cluster.Cut(w.client(1).Link)
				time.Sleep(sessionTimeout)
				for range looks {
					if !<-told {
						t.Fatal("the lease is reported as valid")
					}
				}
			})
		})
	}
}

func closed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

// canceled is a context that has ended.
var canceled = func() context.Context {
	ctx, cancel := context.WithCancel(background)
	cancel()
	return ctx
}()
