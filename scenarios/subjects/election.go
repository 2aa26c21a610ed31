package subjects

import (
	"context"
	"errors"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// electionClaims are the properties of an election beside those of its lock.
var electionClaims = []history.Property{history.OneLeaderPerTerm, history.TermsInOrder}

// observationRequests is how many requests an observation sends at most without disturbance: a
// sync, the creation of the observed node, and the reads of two leaders.
const observationRequests = 12

// Election is the production leader election as a lock, which a process takes by Campaign and
// releases by Resign. Every process also observes the leaders.
func Election() scenarios.Subject {
	s := production("election", "lock.Election: Campaign and Resign; all processes observe", nil)
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		election, err := lock.NewElection(newSession(p, p.Client), p.Directory, options(p)...)
		return candidate{p, election}, err
	}
	s.OneThread = true // A leader proclaims the name of its process.
	s.Limits.Requests += observationRequests
	// A candidate whose lead expires before it has proclaimed queues again, at the end.
	s.Claims = append(without(s.Claims, history.NoStarvation), electionClaims...)
	return s
}

// A candidate is a process of the production election.
type candidate struct {
	*scenarios.Process
	election *lock.Election
}

func (c candidate) Lock(ctx context.Context) (*scenarios.Hold, error) {
	leadership, err := c.election.Campaign(ctx, c.Name())
	if err != nil {
		return nil, err
	}
	h, err := hold(leadership.Lease, nil)
	h.Unlock = leadership.Resign
	return h, err
}

// Observe asks once who leads if the process has an odd number. Otherwise it follows the leaders,
// until it has seen two of them or itself, or a quarter of the session timeout is over.
func (c candidate) Observe(ctx context.Context, saw func(scenarios.Leader)) {
	if c.Number%2 == 1 {
		switch leader, err := c.election.Leader(ctx); {
		case errors.Is(err, lock.ErrNoLeader):
			saw(scenarios.Leader{})
		case err == nil:
			saw(observed(leader))
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.SessionTimeout/4)
	defer cancel()
	first := true
	for leader, err := range c.election.Observe(ctx) {
		if err != nil {
			return
		}
		saw(observed(leader))
		if !first || leader.Data == c.Name() {
			return
		}
		first = false
	}
}

func observed(l lock.Leader) scenarios.Leader {
	return scenarios.Leader{Term: l.Token, Node: l.Node, Name: l.Data}
}
