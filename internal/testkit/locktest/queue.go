package locktest

import (
	"context"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// A QueueDefect is a defect of the queue of [Queue].
type QueueDefect int

// The defects.
const (
	NoDefect          QueueDefect = iota
	OneGrantTooMany               // the semaphore grants a place more than it has
	WriterSeesWriters             // a writer does not wait for readers
	ReaderOvertakes               // a reader waits only for the writer that is first
	SecondReaderWaits             // a reader waits for the reader before it, even if that is gone
)

// Queue returns a lock with a queue of nodes, which all contenders watch: with several places a
// semaphore, else a read-write lock that every second process reads.
func Queue(places int, defect QueueDefect) scenarios.Subject {
	s := scenarios.Subject{
		Name: "queue", Places: places,
		Claims: append(history.QueueLock(), history.ClientMutualExclusion),
		Limits: history.Limits{
			WakeUps: history.Unbounded, Requests: 5, RequestsPerChange: 3, RequestsPerSecond: 30,
		},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			return &queueLock{p, max(1, places), defect}, nil
		},
	}
	if places == 0 {
		s.Shared = func(process, _ int) bool { return process%2 == 0 }
	}
	return s
}

type queueLock struct {
	*scenarios.Process
	places int
	defect QueueDefect
}

func (l *queueLock) Lock(ctx context.Context) (*scenarios.Hold, error) { return l.lock(ctx, "w-") }

func (l *queueLock) LockShared(ctx context.Context) (*scenarios.Hold, error) {
	return l.lock(ctx, "r-")
}

func (l *queueLock) lock(ctx context.Context, kind string) (*scenarios.Hold, error) {
	own, err := l.enter(kind)
	if err == nil {
		err = l.wait(ctx, kind, own)
	}
	if err != nil {
		return nil, err
	}
	return &scenarios.Hold{Node: own, Unlock: func(context.Context) error {
		return l.Client.Delete(own, -1)
	}}, nil
}

// enter creates a node of the kind.
func (l *queueLock) enter(kind string) (own string, err error) {
	return l.Client.Create(l.Directory+"/"+kind, nil, zk.FlagEphemeral|zk.FlagSequence,
		zk.WorldACL(zk.PermAll))
}

// wait waits until the node has the lock.
func (l *queueLock) wait(ctx context.Context, kind, own string) error {
	for {
		names, _, changed, err := l.Client.ChildrenW(l.Directory)
		if err != nil {
			return err
		}
		slices.SortFunc(names, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
		place := slices.Index(names, own[len(l.Directory)+1:])
		if place < 0 {
			return zk.ErrNoNode
		}
		before := names[:place]
		if !l.blocked(kind, before) {
			return nil
		}
		if last := before[len(before)-1]; l.defect == SecondReaderWaits && kind == "r-" &&
			strings.HasPrefix(last, kind) {
			if _, _, changed, err = l.Client.ExistsW(l.Directory + "/" + last); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// blocked reports whether a contender must wait for those before it.
func (l *queueLock) blocked(kind string, before []string) bool {
	writers := slices.DeleteFunc(slices.Clone(before),
		func(name string) bool { return strings.HasPrefix(name, "r-") })
	switch {
	case kind == "r-" && l.defect == ReaderOvertakes:
		return len(before) > 0 && strings.HasPrefix(before[0], "w-")
	case kind == "r-" || l.defect == WriterSeesWriters:
		return len(writers) > 0
	case l.defect == OneGrantTooMany:
		return len(before) > l.places
	}
	return len(before) >= l.places
}
