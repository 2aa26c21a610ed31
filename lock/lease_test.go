package lock_test

import (
	"context"
	"errors"
	"testing"

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
		if cause := context.Cause(under); !errors.Is(cause, lock.ErrNotHeld) || errors.Is(cause, lock.ErrLost) {
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
