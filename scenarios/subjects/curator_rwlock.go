package subjects

import (
	"context"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// CuratorRWLock is InterProcessReadWriteLock of Apache Curator 5.4. A process acquires the write
// lock, downgrades it to a read lock, as the documentation allows, and works under that:
//
//	writeLock.acquire(); readLock.acquire(); writeLock.release(); … readLock.release();
//
// No other process can do the same meanwhile, so the properties of an exclusive lock must hold. But
// the node of the read lock comes after those of waiting writers, and the first of them does not
// wait for it (CURATOR-621).
func CuratorRWLock() scenarios.Subject {
	return curatorRWSubject("curator-rwlock",
		"broken: InterProcessReadWriteLock of Apache Curator 5.4, downgraded", false)
}

// CuratorRWLock55 is [CuratorRWLock] with the read lock of Apache Curator 5.5, whose node takes the
// number of the write lock's node. If the session ends in between, the read lock takes the place of
// a lock that is lost, before the writer that has got it since.
func CuratorRWLock55() scenarios.Subject {
	return curatorRWSubject("curator-rwlock-5.5",
		"broken: InterProcessReadWriteLock of Apache Curator 5.5, downgraded", true)
}

func curatorRWSubject(name, summary string, keepsPlace bool) scenarios.Subject {
	s := curatorSubject(name, summary, nil)
	// The process holds the lock by two nodes, one after the other, and the second is a new one.
	s.Claims = without(s.Claims, history.Reentrancy, history.FIFO, history.NoStarvation)
	s.Limits.Requests *= 2
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		l := newCuratorRWLock(p, keepsPlace)
		return scenarios.LockerFunc(l.downgraded), nil
	}
	return s
}

// A curatorRWLock is InterProcessReadWriteLock.
type curatorRWLock struct{ read, write *curatorMutex }

const (
	curatorReadName  = "__READ__"
	curatorWriteName = "__WRIT__"
)

func newCuratorRWLock(p *scenarios.Process, keepsPlace bool) *curatorRWLock {
	client := newCuratorClient(p)
	l := &curatorRWLock{
		read:  newCuratorMutex(p, client, p.Directory),
		write: newCuratorMutex(p, client, p.Directory),
	}
	l.read.lockName, l.write.lockName = curatorReadName, curatorWriteName
	bothNames := func(name string) string {
		return afterLast(afterLast(name, curatorReadName), curatorWriteName)
	}
	l.read.driver.fixForSorting, l.write.driver.fixForSorting = bothNames, bothNames
	l.read.driver.getsTheLock = l.getsReadLock
	if keepsPlace {
		l.read.driver.sequence = func() string { return bothNames(l.write.lockPath()) }
	}
	return l
}

// getsReadLock is getsTheLock of the ReadLock: a reader waits for the first writer before it.
func (l *curatorRWLock) getsReadLock(children []string, own string, _ int) (watch string,
	err error,
) {
	if l.write.lockPath() != "" {
		return "", nil
	}
	for _, node := range children {
		switch {
		case strings.HasPrefix(node, own):
			return watch, nil
		case watch == "" && strings.Contains(node, curatorWriteName):
			watch = node
		}
	}
	return "", zk.ErrNoNode
}

// downgraded acquires the write lock and downgrades it.
func (l *curatorRWLock) downgraded(ctx context.Context) (*scenarios.Hold, error) {
	if err := mustBeTrue(l.write.acquire(ctx, waitForever)); err != nil {
		return nil, err
	}
	acquired, err := l.read.acquire(ctx, waitForever)
	if releaseErr := l.write.release(ctx); err == nil {
		err = releaseErr
	}
	if err := mustBeTrue(acquired, err); err != nil {
		if acquired {
			_ = l.read.release(ctx)
		}
		return nil, err
	}
	return &scenarios.Hold{Node: l.read.lockPath(), Unlock: l.read.release}, nil
}
