package subjects

import (
	"context"
	"errors"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// singleBarrierClaims are the properties of a single barrier, which the first process sets by Lock
// and removes by Unlock, and at which the others wait, as calls that share the lock.
var singleBarrierClaims = []history.Property{
	history.NoLostWatch, history.Progress, history.NoLivelock, history.NoEarlyPass,
	history.Quiescence,
}

// waitsAtBarrier reports whether an attempt of a process waits at a single barrier.
func waitsAtBarrier(process, _ int) bool { return process > 1 }

// Barrier is the production barrier at which processes wait while another has set it.
func Barrier() scenarios.Subject {
	return scenarios.Subject{
		Name:    "barrier",
		Summary: "lock.Barrier: the first process sets and removes it, others wait",
		Claims:  singleBarrierClaims, Limits: productionLimits,
		Sometimes: []history.Sometimes{check.LostCreate}, Shared: waitsAtBarrier,
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			barrier, err := lock.NewBarrier(newSession(p, p.Client), p.Directory+"/barrier",
				lock.WithRandom(p.Random))
			return barrierUser{p, barrier}, err
		},
	}
}

// A barrierUser is a process that uses the production barrier.
type barrierUser struct {
	*scenarios.Process
	barrier *lock.Barrier
}

// Lock sets the barrier. A Set that is given up may still be carried out, so it is undone.
func (u barrierUser) Lock(ctx context.Context) (*scenarios.Hold, error) {
	if err := u.barrier.Set(ctx); err != nil {
		return nil, errors.Join(err, u.barrier.Remove(u.Context()))
	}
	return &scenarios.Hold{Unlock: u.barrier.Remove}, nil
}

// LockShared waits until the barrier is not set.
func (u barrierUser) LockShared(ctx context.Context) (*scenarios.Hold, error) {
	if err := u.barrier.Wait(ctx); err != nil {
		return nil, err
	}
	return &scenarios.Hold{Unlock: func(context.Context) error { return nil }}, nil
}
