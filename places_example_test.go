package interlock_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// A nodeSemaphore has one node for each place. A process takes the first free place, and
// waits for the last if none is free.
type nodeSemaphore struct {
	nodeLock
	places []string
}

func (s *nodeSemaphore) Acquire() error {
	for {
		for _, s.path = range s.places {
			_, err := s.client.Create(s.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			if err != zk.ErrNodeExists {
				return err
			}
		}
		exists, _, events, err := s.client.ExistsW(s.path)
		if err != nil {
			return err
		}
		if exists {
			<-events
		}
	}
}

func semaphoreScenario() scenarios.Scenario {
	return scenarios.Scenario{
		Clients: 3, Cycles: 2,
		Subject: scenarios.Subject{
			Name: "node-semaphore", Places: 2, Claims: []history.Property{
				history.ClientMutualExclusion, history.Linearizable, history.Progress,
			},
			Open: func(p *scenarios.Process) (scenarios.Locker, error) {
				s := &nodeSemaphore{
					nodeLock{client: p.Client}, []string{p.Directory + "/1", p.Directory + "/2"},
				}
				return scenarios.Mutex(s.Acquire, s.Unlock), nil
			},
		},
	}
}

func TestNodeSemaphore(t *testing.T) { interlock.Check(t, semaphoreScenario()) }
