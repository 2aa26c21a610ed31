package subjects

import (
	"context"
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// barrierClaims are the properties of a double barrier, which processes enter by Lock and leave by
// Unlock. It has as many places as a round has participants.
var barrierClaims = []history.Property{
	history.NoLostWatch, history.Progress, history.NoLivelock, history.NoLeakedNodes,
	history.NoEarlyPass, history.Quiescence,
}

// DoubleBarrier is the production barrier of two processes.
func DoubleBarrier() scenarios.Subject {
	return doubleBarrier("double-barrier", "lock.DoubleBarrier of two: Enter and Leave", 2)
}

func doubleBarrier(name, summary string, participants int) scenarios.Subject {
	s := production(name, summary, func(p *scenarios.Process) (lockFunc, error) {
		barrier, err := lock.NewDoubleBarrier(newSession(p, p.Client), p.Directory, participants,
			lock.WithRandom(p.Random))
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			round, err := barrier.Enter(ctx)
			if err != nil {
				return nil, err
			}
			h, err := hold(round.Lease, nil)
			h.Unlock = round.Leave
			return h, err
		}, nil
	})
	s.Places, s.Guard = participants, scenarios.NoResource
	s.Claims = append(slices.Clone(barrierClaims), history.LossNotification, history.SessionLoss,
		history.Promptness)
	s.Sometimes = []history.Sometimes{check.LostCreate}
	return s
}
