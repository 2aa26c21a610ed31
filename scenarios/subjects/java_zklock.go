package subjects

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// javaZKLockClaims are what the article about ZkLock claims: one holder, fairness ("first come,
// first served"), no herd effect, re-entry, and that a lock is always released in the end, because
// the nodes of a lost client are deleted. It says nothing of what a holder learns of its loss.
var javaZKLockClaims = []history.Property{
	history.ServerMutualExclusion, history.ClientMutualExclusion, history.FIFO,
	history.NoLostWatch, history.Progress, history.NoStarvation, history.NoLivelock,
	history.NoLeakedNodes, history.Reentrancy, history.NoHerd, history.Linearizable,
}

// JavaZKLock is the class ZkLock of a published article, ported line by line from Java on Curator
// 5.2.1. It waits as long as it takes, and its caller re-enters it in the course of its work:
//
//	if (lock.lock()) {
//		try { work(); lock.lock(); try { … } finally { lock.unlock(); } … }
//		finally { if (!lock.unlock()) lock.unlock(); }
//	}
//
// Exclusion breaks in these ways of its own:
//   - A woken waiter does not look again whether its node is the first. The node that it waited for
//     may be that of another waiter, which has given up.
//   - The counter of entries is raised before the lock is held, and stays so after an exception.
//     The next call of lock takes that for a re-entry.
//   - A second unlock lowers the counter below zero. The next call of lock finds it not zero, and
//     takes that for a re-entry.
//   - A listing with one node counts as one of the own node, which may be gone with its session.
//   - A holder whose session has ended re-enters.
//   - A contender does not notice that its node is gone, with its session, when it is granted the
//     lock.
func JavaZKLock() scenarios.Subject {
	return javaZKLockSubject("java-zklock",
		"broken: the Java class ZkLock on Curator, re-entered; an unlock that fails is repeated",
		func(p *scenarios.Process) scenarios.LockerFunc {
			l := newJavaZKLock(p, 0)
			work := p.SessionTimeout + time.Second
			return func(ctx context.Context) (*scenarios.Hold, error) {
				if err := mustBeTrue(l.lock(ctx)); err != nil {
					return nil, err
				}
				return &scenarios.Hold{
					Reenter: func(ctx context.Context) (*scenarios.Hold, error) {
						time.Sleep(work)
						return l.lockAgain(ctx)
					},
					Unlock: func(ctx context.Context) error {
						if done, err := l.unlock(ctx); done || err != nil {
							return err
						}
						return mustBeTrue(l.unlock(ctx))
					},
				}, nil
			}
		})
}

// JavaZKLockFinally is the lock of [JavaZKLock] with a limited wait, and with a caller that unlocks
// whether or not it has the lock:
//
//	try { if (lock.lock()) { … } } finally { lock.unlock(); }
//
// After a wait that was too long, lock has called unlock already, so the counter becomes negative.
func JavaZKLockFinally() scenarios.Subject {
	return javaZKLockSubject("java-zklock-finally",
		"broken: the Java class ZkLock with a wait time, unlocked also after lock() is false",
		func(p *scenarios.Process) scenarios.LockerFunc {
			l := newJavaZKLock(p, javaZKLockWait)
			return func(ctx context.Context) (*scenarios.Hold, error) {
				if err := mustBeTrue(l.lock(ctx)); err != nil {
					_, unlockErr := l.unlock(ctx)
					return nil, errors.Join(err, unlockErr)
				}
				return &scenarios.Hold{Unlock: func(ctx context.Context) error {
					return mustBeTrue(l.unlock(ctx))
				}}, nil
			}
		})
}

// javaZKLockWait is the time that the caller waits for the lock. The article names none.
const javaZKLockWait = 3 * time.Second

func javaZKLockSubject(name, summary string,
	usage func(*scenarios.Process) scenarios.LockerFunc,
) scenarios.Subject {
	return scenarios.Subject{
		Name: name, Summary: summary, Claims: javaZKLockClaims, Limits: recipeLimits,
		Open: func(p *scenarios.Process) (scenarios.Locker, error) { return usage(p), nil },
	}
}

// errFalse is the error of a caller that was told false.
var errFalse = errors.New("false")

// mustBeTrue returns the error of a call, or errFalse if the call has returned false.
func mustBeTrue(done bool, err error) error {
	if err == nil && !done {
		return errFalse
	}
	return err
}

// A javaZKLock is the class ZkLock. Its fields and methods have the names of the original.
//
// What takes the place of Java's threads and client, beside what [curatorClient] says:
//   - A process of a scenario runs its lock on one goroutine, so the process is the thread.
//   - The watch's channel stands for the Watcher and for the latch that it counts down. A watcher
//     also gets the states of the connection, which this one ignores; the channel does not carry
//     them.
//   - Exceptions that the original prints are dropped, as are its other outputs.
type javaZKLock struct {
	zkPath     string
	lockPrefix string
	waitTime   time.Duration
	zkClient   *curatorClient
	thread     *scenarios.Process // nil before the first call of lock
	lockPath   string
	waitPath   string
	lockCount  atomic.Int32

	monitor       sync.Mutex // for synchronized (this)
	currentThread *scenarios.Process
}

var (
	errUnlock = errors.New("解锁异常") // "exception while unlocking"
	errLock   = errors.New("加锁异常") // "exception while locking"
)

func newJavaZKLock(p *scenarios.Process, waitTime time.Duration) *javaZKLock {
	l := &javaZKLock{
		zkPath: p.Directory, lockPrefix: p.Directory + "/seq-", waitTime: waitTime,
		zkClient: newCuratorClient(p), currentThread: p,
	}
	if exists, err := l.zkClient.exists(p.Context(), l.zkPath); err == nil && !exists {
		_, _ = l.zkClient.create(p.Context(), l.zkPath, zk.FlagPersistent)
	}
	return l
}

// lockAgain is what a holder calls that re-enters.
func (l *javaZKLock) lockAgain(ctx context.Context) (*scenarios.Hold, error) {
	if err := mustBeTrue(l.lock(ctx)); err != nil {
		return nil, err
	}
	return &scenarios.Hold{Unlock: func(ctx context.Context) error {
		return mustBeTrue(l.unlock(ctx))
	}}, nil
}

func (l *javaZKLock) lock(ctx context.Context) (bool, error) {
	if done, result := l.reenter(); done {
		return result, nil
	}
	return l.tryLock(ctx)
}

// reenter is the block of lock that is synchronized. It returns true, and what lock returns, if
// that returns from within the block.
func (l *javaZKLock) reenter() (done, result bool) {
	l.monitor.Lock()
	defer l.monitor.Unlock()
	if l.lockCount.Load() == 0 {
		l.thread = l.currentThread
		l.lockCount.Add(1)
		return false, false
	}
	if l.thread != l.currentThread {
		return true, false
	}
	l.lockCount.Add(1)
	return true, true
}

func (l *javaZKLock) unlock(ctx context.Context) (bool, error) {
	if l.thread == nil {
		return false, errNullPointer
	}
	if l.thread != l.currentThread {
		return false, nil
	}
	newLockCount := l.lockCount.Add(-1)
	if newLockCount < 0 {
		return false, errUnlock
	}
	if newLockCount > 0 {
		return true, nil
	}
	exists, err := l.zkClient.exists(ctx, l.lockPath)
	if err == nil && exists {
		err = l.zkClient.delete(ctx, l.lockPath)
	}
	return err == nil, nil
}

func (l *javaZKLock) tryLock(ctx context.Context) (bool, error) {
	_, err := l.zkClient.children(ctx, l.zkPath) // The original does not use them.
	if err != nil {
		return false, err
	}
	lockPath, err := l.zkClient.create(ctx, l.lockPrefix, zk.FlagEphemeralSequential)
	if err != nil {
		return false, err
	}
	l.lockPath = lockPath
	childList, err := l.zkClient.children(ctx, l.zkPath)
	if err != nil {
		return false, err
	}
	if len(childList) == 1 {
		return true, nil
	}
	slices.Sort(childList)
	curNode := l.lockPath[len(l.zkPath)+1:]
	index := slices.Index(childList, curNode)
	if index < 0 {
		return false, errLock
	}
	if index == 0 {
		return true, nil
	}
	l.waitPath = l.zkPath + "/" + childList[index-1]
	events, err := l.zkClient.dataWatched(ctx, l.waitPath)
	if err != nil {
		return false, err
	}
	if l.waitTime == 0 {
		return true, l.await(ctx, events, nil)
	}
	err = l.await(ctx, events, time.After(l.waitTime+javaLatency))
	if err == errTimeout {
		_, err = l.unlock(ctx)
		return false, err
	}
	return err == nil, err
}

var errTimeout = errors.New("the wait was too long")

// await waits for the deletion of waitPath. Other events end the watch, and the wait goes on.
func (l *javaZKLock) await(ctx context.Context, events <-chan zk.Event,
	timeout <-chan time.Time,
) error {
	deleted := func(event zk.Event) bool {
		return event.Type == zk.EventNodeDeleted && event.Path == l.waitPath
	}
	for {
		select {
		case event := <-events:
			if deleted(event) {
				return nil
			}
			events = nil
		case <-timeout:
			// Which case select chose must not matter.
			select {
			case event := <-events:
				if deleted(event) {
					return nil
				}
			default:
			}
			return errTimeout
		case <-ctx.Done():
			return errInterrupted
		}
	}
}
