package lock_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
)

// BenchmarkZooKeeperSlowLink measures for which share of the time, in per cent, a contender holds a
// lock that it releases after each session timeout of 4 s, on links whose round trips take 0 to
// 30 % of that. All links are measured at once, each for b.N session timeouts from the first grant.
func BenchmarkZooKeeperSlowLink(b *testing.B) {
	const timeout = 4 * time.Second
	server := startZooKeeper(b)
	percents := []int{0, 2, 4, 6, 8, 10, 15, 20, 30}
	mutexes, zkLocks := make([]float64, len(percents)), make([]float64, len(percents))
	var measured sync.WaitGroup
	b.ResetTimer()
	for i, percent := range percents {
		address := startDelayedLink(b, server, timeout*time.Duration(percent)/200)
		session := openSession(b, address, timeout, net.DialTimeout)
		mutex, err := lock.NewMutex(session, fmt.Sprintf("/mutex-%d", percent))
		if err != nil {
			b.Fatal(err)
		}
		measured.Go(func() {
			mutexes[i] = shareHeld(b.N, timeout, func(ctx context.Context) (hold, error) {
				lease, err := mutex.Lock(ctx)
				if err != nil {
					return hold{}, err
				}
				return hold{lease.Done(), func() error { return lease.Unlock(background) }}, nil
			})
		})
		conn := openSession(b, address, timeout, net.DialTimeout).Client.(*zk.Conn)
		theirs := zk.NewLock(conn, fmt.Sprintf("/zk-lock-%d", percent), zk.WorldACL(zk.PermAll))
		measured.Go(func() {
			zkLocks[i] = shareHeld(b.N, timeout, func(context.Context) (hold, error) {
				return hold{nil, theirs.Unlock}, theirs.Lock()
			})
		})
	}
	measured.Wait()
	b.StopTimer()
	for i, percent := range percents {
		b.ReportMetric(mutexes[i], fmt.Sprintf("mutex-at-%d", percent))
		b.ReportMetric(zkLocks[i], fmt.Sprintf("zk.Lock-at-%d", percent))
	}
	b.ReportMetric(0, "ns/op")
}

// A hold is a lock that is held: when it is lost, and how to release it.
type hold struct {
	lost    <-chan struct{}
	release func() error
}

// shareHeld returns for which share of some session timeouts the lock is held, in per cent.
func shareHeld(timeouts int, timeout time.Duration, take func(context.Context) (hold, error),
) float64 {
	window := time.Duration(timeouts) * timeout
	ctx, cancel := context.WithTimeout(background, window+timeout)
	defer cancel()
	var held time.Duration
	var first time.Time
	for first.IsZero() || time.Since(first) < window {
		one, err := take(ctx)
		if err != nil {
			break
		}
		granted := time.Now()
		if first.IsZero() {
			first = granted
		}
		select {
		case <-one.lost:
		case <-time.After(timeout):
		}
		held += time.Since(granted)
		one.release() // Its error says that the lock was lost.
	}
	return 100 * held.Seconds() / max(window, time.Since(first)).Seconds()
}
