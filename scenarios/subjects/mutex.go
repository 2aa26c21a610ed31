package subjects

import (
	"context"
	"math"
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client"
)

// Mutex is the production lock.
func Mutex() scenarios.Subject {
	return production("mutex", "the production lock: lock.Mutex",
		func(p *scenarios.Process) (lockFunc, error) {
			mutex, err := newMutex(p)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				return hold(mutex.Lock(ctx))
			}, nil
		})
}

// SequenceOverflow is the production lock in a directory whose sequence numbers overflow during the
// run: from 2^31-1 on, a server of version 3.6 or later repeats that number, or assigns negative
// numbers while it has outstanding requests.
func SequenceOverflow() scenarios.Subject {
	subject := Mutex()
	subject.Name, subject.Summary = "sequence-overflow",
		"lock.Mutex while sequence numbers overflow 2^31-1"
	subject.Sequence = math.MaxInt32 - 4
	// Each listing then costs one more request per contender.
	subject.Limits.Requests, subject.Limits.RequestsPerChange = 20, 8
	return subject
}

// lockFunc acquires a lock.
type lockFunc = func(context.Context) (*scenarios.Hold, error)

// productionLimits allow an acquire one listing without effect, and the confirmation of a node
// after a long wait. A sync precedes the create, and another the confirmation.
var productionLimits = history.Limits{
	WakeUps: 1, Requests: 10, RequestsPerChange: 4, Overtakings: 0,
	RequestsPerSecond: 30,
	NameLength:        len("_c_-write-") + 32 + len("-2147483648"),
	NoExistWatches:    true,
	Listens:           true,
	NoLateRetries:     true,
}

// production returns a subject for a lock of package lock. It claims all properties of a lock.
func production(name, summary string,
	open func(*scenarios.Process) (lockFunc, error),
) scenarios.Subject {
	return scenarios.Subject{
		Name: name, Summary: summary, Claims: ofZooKeeper(), Guard: scenarios.TokenChecked,
		Limits: productionLimits, Sometimes: check.QueueSometimes(),
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			take, err := open(p)
			return scenarios.LockerFunc(take), err
		},
	}
}

// NoDeadline is the production lock, acquired with a context that cannot end. For such a caller,
// Lock runs on the caller's own goroutine.
func NoDeadline() scenarios.Subject {
	s := production("no-deadline", "lock.Mutex with a context that cannot end",
		func(p *scenarios.Process) (lockFunc, error) {
			mutex, err := newMutex(p)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				return hold(mutex.Lock(context.WithoutCancel(ctx)))
			}, nil
		})
	s.Claims = without(s.Claims, history.Promptness)
	return s
}

// options returns the options of a process's locks.
func options(p *scenarios.Process, more ...lock.EventKind) []lock.Option {
	kinds := append(more, lock.Forfeited)
	return []lock.Option{lock.WithRandom(p.Random), lock.WithObserver(forfeits{}, kinds...)}
}

// forfeits tells the run when a contender forfeits its place, or of a call that takes several locks
// when it has lost one of them.
type forfeits struct{}

func (forfeits) Observe(e lock.Event) {
	if e.Err != nil {
		scenarios.Forfeit(e.Context)
	}
}

func newMutex(p *scenarios.Process) (*lock.Mutex, error) {
	return lock.NewMutex(newSession(p, p.Client), p.Directory, options(p)...)
}

// newSession returns the session of a process, which all its locks share, on the process's client
// or on what wraps it.
func newSession(p *scenarios.Process, c client.Client) *lock.Session {
	return lock.NewSession(client.Connecting(c), p.Client.Events(), p.SessionTimeout)
}

// hold returns the lease as a Hold.
func hold(lease *lock.Lease, err error) (*scenarios.Hold, error) {
	if err != nil {
		return nil, err
	}
	return &scenarios.Hold{
		Unlock: lease.Unlock, Done: lease.Done(), Node: lease.Node(),
		Token: lease.Token(),
	}, nil
}

// ofZooKeeper returns the properties that a lock on ZooKeeper can claim, except the promise of a
// margin.
func ofZooKeeper() []history.Property {
	return slices.DeleteFunc(check.Properties(), func(p history.Property) bool {
		return p == history.OwnRelease || p == history.Validity || p == history.Extension ||
			p == history.NoEarlyPass || p == history.Margin || slices.Contains(electionClaims, p)
	})
}

// without returns the claims except some.
func without(claims []history.Property, some ...history.Property) []history.Property {
	return slices.DeleteFunc(slices.Clone(claims),
		func(p history.Property) bool { return slices.Contains(some, p) })
}
