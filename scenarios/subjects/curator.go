package subjects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/scenarios"
)

// curatorClaims are what Curator claims of its InterProcessMutex: one holder at a time "from
// ZooKeeper's point of view", fairness, re-entry, and that no node is left behind, since deletes
// are guaranteed. Its documentation leaves the loss of a lock to a listener of the caller.
var curatorClaims = []history.Property{
	history.ServerMutualExclusion, history.FIFO, history.NoLostWatch, history.Progress,
	history.NoStarvation, history.NoLivelock, history.NoLeakedNodes, history.Reentrancy,
	history.NoHerd, history.Linearizable,
}

// Curator is InterProcessMutex of Apache Curator 5.4, used as in a published analysis of it:
//
//	mutex.acquire(); … mutex.release();
//
// Two faults break it: after a lost reply, a retry searches for the node. If the create after the
// search loses its reply too, acquire throws an exception, and nobody deletes the node; see
// [retryLoop]. Curator does so itself: testdata/curator/NestedRetryLoop.java. With several servers
// one fault suffices: the search asks a server that has not applied the create yet.
func Curator() scenarios.Subject {
	return curatorSubject("curator", "broken: InterProcessMutex of Apache Curator 5.4: acquire()",
		func(ctx context.Context, m *curatorMutex) (*scenarios.Hold, error) {
			return m.holdAfter(m.acquire(ctx, waitForever))
		})
}

// CuratorTimed is [Curator] with a limited wait.
func CuratorTimed() scenarios.Subject {
	return curatorSubject("curator-timed",
		"broken: InterProcessMutex of Apache Curator 5.4: acquire(3, SECONDS)",
		func(ctx context.Context, m *curatorMutex) (*scenarios.Hold, error) {
			return m.holdAfter(m.acquire(ctx, 3*time.Second))
		})
}

// CuratorListener is [Curator] with what its documentation recommends strongly: a listener of the
// state of the connection. Here the holder stops when that is suspended or lost, and does not go on
// when it is restored.
func CuratorListener() scenarios.Subject {
	s := curatorSubject("curator-listener",
		"broken: curator, with a ConnectionStateListener that stops the holder",
		func(ctx context.Context, m *curatorMutex) (*scenarios.Hold, error) {
			h, err := m.holdAfter(m.acquire(ctx, waitForever))
			if err != nil {
				return nil, err
			}
			suspended := m.client.connectionChange()
			h.Done = suspended
			h.Unlock = func(ctx context.Context) error {
				if isClosed(suspended) {
					return errors.Join(errLost, m.release(ctx))
				}
				return m.release(ctx)
			}
			h.Reenter = nil
			return h, nil
		})
	s.Claims = append(slices.Clone(s.Claims), history.ClientMutualExclusion)
	return s
}

func curatorSubject(name, summary string,
	acquire func(context.Context, *curatorMutex) (*scenarios.Hold, error),
) scenarios.Subject {
	return scenarios.Subject{
		Name: name, Summary: summary, Claims: curatorClaims, Limits: history.DefaultLimits,
		Sometimes: check.QueueSometimes(),
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			m := newCuratorMutex(p, newCuratorClient(p), p.Directory)
			return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
				return acquire(ctx, m)
			}), nil
		},
	}
}

// A curatorMutex is InterProcessMutex and its LockInternals, without revocation.
//
// What takes the place of Java's threads, beside what [curatorClient] says: a process of a scenario
// runs its lock on one goroutine, so the process is the thread. A waiter is woken by its own watch
// and by changes of the connection, not by a watch that an earlier attempt has left behind.
type curatorMutex struct {
	client    *curatorClient
	basePath  string
	lockName  string
	maxLeases int
	driver    curatorDriver

	threadData    map[*scenarios.Process]*curatorLockData
	currentThread *scenarios.Process
}

// A curatorLockData is what a thread has acquired.
type curatorLockData struct {
	lockPath  string
	lockCount int
}

// A curatorDriver is a LockInternalsDriver.
type curatorDriver struct {
	// fixForSorting returns what a node is sorted by.
	fixForSorting func(name string) string
	// getsTheLock returns which node a contender waits for, or "" if it has the lock.
	getsTheLock func(children []string, own string, maxLeases int) (watch string, err error)
	// sequence returns the sequence number for a node, or "" for the next.
	sequence func() string
}

// waitForever is the wait of acquire without a time.
const waitForever time.Duration = -1

// errLostConnection is what acquire throws if it does not get the lock and has no time limit.
var errLostConnection = errors.New("IOException: Lost connection while trying to acquire lock")

var errNullPath = errors.New("IllegalArgumentException: Path cannot be null")

func newCuratorMutex(p *scenarios.Process, client *curatorClient, basePath string) *curatorMutex {
	const lockName = "lock-"
	return &curatorMutex{
		client: client, basePath: basePath, lockName: lockName, maxLeases: 1,
		driver: curatorDriver{
			fixForSorting: func(name string) string { return afterLast(name, lockName) },
			getsTheLock:   getsTheLock,
			sequence:      func() string { return "" },
		},
		threadData: make(map[*scenarios.Process]*curatorLockData), currentThread: p,
	}
}

// afterLast is standardFixForSorting: what follows the last occurrence of the lock's name.
func afterLast(name, lockName string) string {
	if i := strings.LastIndex(name, lockName); i >= 0 {
		return name[i+len(lockName):]
	}
	return name
}

// getsTheLock is that of the StandardLockInternalsDriver: the first nodes have the lock, as many as
// there are leases, and the others wait for the node that is as many places before theirs.
func getsTheLock(children []string, own string, maxLeases int) (watch string, err error) {
	index := slices.Index(children, own)
	switch {
	case index < 0:
		return "", zk.ErrNoNode
	case index < maxLeases:
		return "", nil
	}
	return children[index-maxLeases], nil
}

// holdAfter returns the hold of a caller that has acquired the lock.
func (m *curatorMutex) holdAfter(acquired bool, err error) (*scenarios.Hold, error) {
	if err := mustBeTrue(acquired, err); err != nil {
		return nil, err
	}
	return &scenarios.Hold{
		Node: m.lockPath(), Unlock: m.release,
		Reenter: func(ctx context.Context) (*scenarios.Hold, error) {
			return m.holdAfter(m.acquire(ctx, waitForever))
		},
	}, nil
}

// acquire is acquire() and acquire(time, unit).
func (m *curatorMutex) acquire(ctx context.Context, wait time.Duration) (bool, error) {
	if data := m.threadData[m.currentThread]; data != nil {
		data.lockCount++
		return true, nil
	}
	path, err := m.attemptLock(ctx, wait)
	switch {
	case err != nil:
		return false, err
	case path != "":
		m.threadData[m.currentThread] = &curatorLockData{path, 1}
		return true, nil
	case wait == waitForever:
		return false, errLostConnection
	}
	return false, nil
}

func (m *curatorMutex) release(ctx context.Context) error {
	data := m.threadData[m.currentThread]
	if data == nil {
		return fmt.Errorf("IllegalMonitorStateException: You do not own the lock: %s", m.basePath)
	}
	if data.lockCount--; data.lockCount > 0 {
		return nil
	}
	defer delete(m.threadData, m.currentThread)
	return m.deleteOurPath(ctx, data.lockPath)
}

// lockPath returns the node of the current thread, or "" if it does not have the lock.
func (m *curatorMutex) lockPath() string {
	if data := m.threadData[m.currentThread]; data != nil {
		return data.lockPath
	}
	return ""
}

// attemptLock returns the node by which the lock is acquired, or "" if the time is over.
func (m *curatorMutex) attemptLock(ctx context.Context, wait time.Duration) (string, error) {
	start := time.Now()
	for retries := 0; ; retries++ {
		path, err := m.createsTheLock(ctx)
		has := false
		if err == nil {
			has, err = m.internalLockLoop(ctx, start, wait, path)
		}
		switch {
		case err == zk.ErrNoNode && m.client.allowRetry(ctx, retries):
			// The node is gone, as after the end of a session: try it all again.
		case err != nil || !has:
			return "", err
		default:
			return path, nil
		}
	}
}

func (m *curatorMutex) createsTheLock(ctx context.Context) (string, error) {
	if sequence := m.driver.sequence(); sequence != "" {
		return m.client.createProtected(ctx, m.basePath+"/"+m.lockName+sequence, zk.FlagEphemeral)
	}
	return m.client.createProtected(ctx, m.basePath+"/"+m.lockName, zk.FlagEphemeralSequential)
}

// internalLockLoop waits until the node has the lock, and reports whether it has. If it has not,
// the node is deleted.
func (m *curatorMutex) internalLockLoop(ctx context.Context, start time.Time, wait time.Duration,
	path string,
) (bool, error) {
	for m.client.ctx.Err() == nil { // The client has the state STARTED.
		watch, err := m.check(ctx, path)
		if err == nil && watch == "" {
			return true, nil
		}
		over := false
		if err == nil {
			over, err = m.await(ctx, m.basePath+"/"+watch, &start, &wait)
		}
		if err != nil {
			// In Java, an exception of the clean-up replaces the first one (CURATOR-41).
			if deleteErr := m.deleteOurPath(ctx, path); deleteErr != nil {
				err = deleteErr
			}
			return false, err
		}
		if over {
			return false, m.deleteOurPath(ctx, path)
		}
	}
	return false, nil
}

// check lists the contenders, and returns the node to wait for, or "" if the lock is acquired.
func (m *curatorMutex) check(ctx context.Context, path string) (watch string, err error) {
	children, err := m.client.children(ctx, m.basePath)
	if err != nil && err != zk.ErrNoNode {
		return "", err
	}
	if path == "" {
		return "", errNullPointer
	}
	slices.SortStableFunc(children, func(a, b string) int {
		return strings.Compare(m.driver.fixForSorting(a), m.driver.fixForSorting(b))
	})
	return m.driver.getsTheLock(children, path[len(m.basePath)+1:], m.maxLeases)
}

// await waits for an event of the node, a change of the connection, or the end of the time. It
// reports whether the time was over before it could wait. Without the node, it does not wait.
func (m *curatorMutex) await(ctx context.Context, node string, start *time.Time,
	left *time.Duration,
) (over bool, err error) {
	events, err := m.client.dataWatched(ctx, node)
	if err == zk.ErrNoNode {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var timeout <-chan time.Time
	if *left != waitForever {
		*left -= time.Since(*start)
		*start = time.Now()
		if *left <= 0 {
			return true, nil
		}
		timeout = time.After(*left + javaLatency)
	}
	select {
	case <-events:
	case <-m.client.connectionChange():
	case <-timeout:
	case <-ctx.Done():
	}
	return false, ctxError(ctx)
}

func (m *curatorMutex) deleteOurPath(ctx context.Context, path string) error {
	if path == "" {
		return errNullPath
	}
	if err := m.client.deleteGuaranteed(ctx, path); err != zk.ErrNoNode {
		return err
	}
	return nil // It is gone already, as after the end of a session.
}
