package locktest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// The ways in which a lock of [Causes] lets two processes in.
const (
	TakesDeleted    = "takes-deleted"    // takes the lock without a node when the holder's is gone
	TakesUnanswered = "takes-unanswered" // takes the lock when the request to create has no answer
	IgnoresLoss     = "ignores-loss"     // holds the lock on when the session has expired
)

// Causes returns a lock on one node that breaks mutual exclusion in the given ways only.
func Causes(ways ...string) scenarios.Subject {
	return scenarios.Subject{
		Name: "causes", Claims: []history.Property{history.ClientMutualExclusion},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			l := &causes{
				process: p, path: p.Directory + "/node", ways: ways, lost: make(chan struct{}),
			}
			go l.watchConnection()
			return scenarios.LockerFunc(l.lock), nil
		},
	}
}

type causes struct {
	process *scenarios.Process
	path    string
	ways    []string
	once    sync.Once
	lost    chan struct{} // closed when the connection is lost for the first time
}

func (l *causes) has(way string) bool { return slices.Contains(l.ways, way) }

func (l *causes) watchConnection() {
	for e := range l.process.Client.Events() {
		if e.State == zk.StateDisconnected || e.State == zk.StateExpired {
			l.once.Do(func() { close(l.lost) })
		}
	}
}

func (l *causes) lock(context.Context) (*scenarios.Hold, error) {
	client := l.process.Client
	for {
		select {
		case <-l.lost:
			return nil, errors.New("the connection was lost")
		default:
		}
		_, err := client.Create(l.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		switch {
		case err == nil:
			return l.hold(true), nil
		case errors.Is(err, zk.ErrConnectionClosed) && l.has(TakesUnanswered):
			return l.hold(false), nil
		case !errors.Is(err, zk.ErrNodeExists):
			return nil, err
		}
		exists, _, deleted, err := client.ExistsW(l.path)
		switch {
		case err != nil:
			return nil, err
		case exists:
			<-deleted
		case l.has(TakesDeleted):
			return l.hold(false), nil
		}
	}
}

// hold returns a hold whose unlock deletes the node if it is the process's own.
func (l *causes) hold(own bool) *scenarios.Hold {
	hold := &scenarios.Hold{Done: l.lost, Unlock: func(context.Context) error {
		select {
		case <-l.lost:
			return nil
		default:
		}
		if !own {
			return nil
		}
		return l.process.Client.Delete(l.path, -1)
	}}
	if !own || l.has(IgnoresLoss) {
		hold.Done = nil
	}
	return hold
}
