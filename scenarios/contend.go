package scenarios

import (
	"context"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
)

// Contend returns a scenario for code that opens its own client. Three processes call the function
// once each; it connects to [Process.Servers] and waits for the lock. If it returns an error, the
// attempt fails and the hold is ignored.
//
// The plan has one fault of any kind, and the lock claims to exclude others and to leave nothing
// behind: [history.SpinLock] and [history.ClientMutualExclusion]. The caller may change every field
// except Client and Cycles: each call of the function opens a further client, which stays open.
func Contend(name string, acquire func(*Process) (*Hold, error)) Scenario {
	return Scenario{
		Clients: 3, Cycles: 1, Faults: faults.Of(faults.Any, 1), Client: Dialed,
		Subject: Subject{
			Name: name, Claims: append(history.SpinLock(), history.ClientMutualExclusion),
			Open: func(p *Process) (Locker, error) {
				return LockerFunc(func(context.Context) (*Hold, error) { return acquire(p) }), nil
			},
		},
	}
}

// Held returns a hold that the function releases. The channel is closed when the lock is lost, or
// nil if the lock does not report that.
func Held[F func() | func() error | func(context.Context) error](unlock F,
	lost <-chan struct{},
) *Hold {
	return &Hold{Unlock: withContext(unlock), Done: lost}
}
