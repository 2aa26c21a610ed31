package locktest

import (
	"context"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client"
)

// Successor returns a lock whose processes open a new client when the first has lost its
// connection, and give up the first. A holder that trusts believes that it still has the lock then,
// although its node belongs to the first session.
func Successor(trusts bool) scenarios.Subject {
	return scenarios.Subject{
		Name: "successor", Claims: []history.Property{history.ClientMutualExclusion},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			s := &successor{
				connect: p.Connect, current: p.Client, lost: make(chan struct{}),
				path: p.Directory + "/node",
			}
			go s.follow(p.Client.Events())
			return scenarios.LockerFunc(func(context.Context) (*scenarios.Hold, error) {
				if err := s.lock(); err != nil {
					return nil, err
				}
				hold := &scenarios.Hold{Done: s.lost, Unlock: s.unlock}
				if trusts {
					hold.Done = nil
				}
				return hold, nil
			}), nil
		},
	}
}

type successor struct {
	connect func() (client.Client, error)
	path    string
	lost    chan struct{} // closed when the first client has lost its connection

	mu      sync.Mutex
	current client.Client
}

// follow replaces the first client when that has lost its connection.
func (s *successor) follow(events <-chan zk.Event) {
	for e := range events {
		if e.State != zk.StateDisconnected {
			continue
		}
		close(s.lost)
		old := s.client()
		if next, err := s.connect(); err == nil {
			s.mu.Lock()
			s.current = next
			s.mu.Unlock()
		}
		old.Close()
		return
	}
}

func (s *successor) client() client.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// lock waits until the process has created the node.
func (s *successor) lock() error {
	for {
		c := s.client()
		_, err := c.Create(s.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if err != zk.ErrNodeExists {
			return err
		}
		exists, _, events, err := c.ExistsW(s.path)
		if err != nil {
			return err
		}
		if exists {
			<-events
		}
	}
}

func (s *successor) unlock(context.Context) error { return s.client().Delete(s.path, -1) }
