package interlock_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// A nodeLock is an example of a user's lock: the process that creates the node has the lock, and
// all others wait for its deletion.
type nodeLock struct {
	client interface { // the methods of *zk.Conn that the lock needs
		Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
		ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error)
		Delete(path string, version int32) error
	}
	path string
}

func (l *nodeLock) Lock() error {
	for {
		_, err := l.client.Create(l.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if err != zk.ErrNodeExists {
			return err
		}
		exists, _, events, err := l.client.ExistsW(l.path)
		if err != nil {
			return err
		}
		if exists {
			<-events
		}
	}
}

func (l *nodeLock) Unlock() error { return l.client.Delete(l.path, -1) }

// nodeLockScenario describes the lock and its claims. The lock is not fair, since it has no queue.
// It fails when a connection is lost, so the scenario has no faults.
func nodeLockScenario() scenarios.Scenario {
	return scenarios.Scenario{
		Clients: 3, Cycles: 2, Faults: faults.Plan{},
		Subject: scenarios.Subject{
			Name:   "node-lock",
			Claims: append(history.SpinLock(), history.ClientMutualExclusion),
			Open: func(p *scenarios.Process) (scenarios.Locker, error) {
				lock := &nodeLock{client: p.Client, path: p.Directory + "/node"}
				return scenarios.Mutex(lock.Lock, lock.Unlock), nil
			},
		},
	}
}

func TestNodeLock(t *testing.T) { interlock.Check(t, nodeLockScenario()) }

func FuzzNodeLock(f *testing.F) { interlock.Fuzz(f, nodeLockScenario()) }
