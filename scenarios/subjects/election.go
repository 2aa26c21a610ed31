package subjects

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// Election is the production leader election as a lock, which a process takes by Campaign and
// releases by Resign. It panics if a leader in office reads another leader, none, or data that it
// has not proclaimed.
func Election() scenarios.Subject {
	s := production("election", "lock.Election: Campaign and Resign; a leader reads itself",
		func(p *scenarios.Process) (lockFunc, error) {
			election, err := lock.NewElection(p.Client, p.Directory, p.SessionTimeout,
				lock.WithRandom(p.Random))
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				session := p.Client.SessionID()
				leadership, err := election.Campaign(ctx, p.Name())
				if err != nil {
					return nil, err
				}
				h, err := hold(leadership.Lease, nil)
				h.Unlock = func(ctx context.Context) error {
					leader, err := election.Leader(ctx)
					own := lock.Leader{Data: p.Name(), Token: h.Token, Node: h.Node}
					if leader != own && (err == nil || errors.Is(err, lock.ErrNoLeader)) &&
						inOffice(p, h.Node, session) {
						panic(fmt.Sprintf("the leader %+v reads %+v, error %v", own, leader, err))
					}
					return leadership.Resign(ctx)
				}
				return h, err
			}, nil
		})
	// A candidate whose lead expires before it has proclaimed queues again, at the end.
	s.Claims = slices.DeleteFunc(s.Claims,
		func(p history.Property) bool { return p == history.NoStarvation })
	return s
}

// inOffice reports whether a leader's node existed at all reads since the session was the given
// one. A later session may read from a server that is behind.
func inOffice(p *scenarios.Process, node string, session int64) bool {
	exists, _, err := p.Client.Exists(node)
	return err == nil && exists && session != 0 && p.Client.SessionID() == session
}
