package subjects

import (
	"context"
	"math"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// Mutex is the production lock.
func Mutex() scenarios.Subject {
	return production("mutex", "the production lock: lock.Mutex",
		func(p *scenarios.Process) (lockFunc,
			error,
		) {
			mutex, err := newMutex(p)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold,
					error,
				) {
					return hold(mutex.Lock(ctx))
				},
				nil
		})
}

// Wrap is the production lock in a directory whose sequence numbers come to their end during the
// run: from 2^31-1 on a server of 3.6 or later hands out the same number again, or negative ones
// while it has work in hand.
func Wrap() scenarios.Subject {
	subject := Mutex()
	subject.Name, subject.Summary = "sequence-overflow",
		"lock.Mutex while sequence numbers pass 2^31-1"
	subject.Sequence = math.MaxInt32 - 4
	// Each listing costs one more for each contender then.
	subject.Limits.Requests, subject.Limits.RequestsPerChange = 20, 8
	return subject
}

// Steady is the production lock in a directory that has been in use for long. There a contender
// that has waited behind another can guess that it will again, and what its fencing token is: in a
// new one numbers are too low to tell.
func Steady() scenarios.Subject {
	subject := Mutex()
	subject.Name, subject.Summary = "aged-directory",
		"lock.Mutex in a directory that has been in use for long"
	subject.Sequence = 1000
	return subject
}

// lockFunc is how a process takes a lock.
type lockFunc = func(context.Context) (*scenarios.Hold, error)

// productionBounds leave room for a listing in vain, and for making sure of a node that has waited
// for long.
var productionBounds = history.Limits{
	WakeUps: 1, Requests: 8, RequestsPerChange: 4, Overtakings: 0,
	RequestsPerSecond: 30,
}

// production returns a way to use package lock as a subject. It promises all that a lock can
// promise.
func production(name, summary string, open func(*scenarios.Process) (lockFunc,
	error),
) scenarios.Subject {
	return scenarios.Subject{
		Name: name, Summary: summary, Claims: history.Properties(), Guard: scenarios.TokenChecked,
		Limits: productionBounds, Sometimes: history.QueueSometimes(),
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			take, err := open(p)
			return scenarios.LockerFunc(take), err
		},
	}
}

// Patient is the production lock asked for by one who never gives up: what is done for a caller
// whose context cannot end is done by the caller itself.
func Patient() scenarios.Subject {
	return production("no-deadline", "lock.Mutex with a context that can not end",
		func(p *scenarios.Process) (lockFunc, error) {
			mutex, err := newMutex(p)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				return hold(mutex.Lock(context.WithoutCancel(ctx)))
			}, nil
		})
}

func newMutex(p *scenarios.Process) (*lock.Mutex, error) {
	return lock.NewMutex(p.Client, p.Directory, p.SessionTimeout, lock.WithRandom(p.Random))
}

// hold returns what the checker needs of a lease.
func hold(lease *lock.Lease, err error) (*scenarios.Hold, error) {
	if err != nil {
		return nil, err
	}
	return &scenarios.Hold{
		Unlock: lease.Unlock, Done: lease.Done(), Node: lease.Node(),
		Token: lease.Token(),
	}, nil
}
