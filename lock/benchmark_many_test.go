package lock_test

import (
	"fmt"
	"net"
	"runtime"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
)

// manyLocks is the number of locks of one process.
const manyLocks = 10_000

// BenchmarkZooKeeperMany measures what 10,000 locks of one process on one session cost: the memory
// (heap and stacks) and the goroutines of each that has been held and released (idle), and of each
// that is held.
func BenchmarkZooKeeperMany(b *testing.B) {
	address := startZooKeeper(b)
	take := map[string]func(*lock.Session) []func() (func() error, error){
		"Mutex": func(session *lock.Session) (takes []func() (func() error, error)) {
			for i := range manyLocks {
				mutex := must(lock.NewMutex(session, fmt.Sprintf("/mutex-%d", i)))
				takes = append(takes, func() (func() error, error) {
					lease, err := mutex.Lock(background)
					if err != nil {
						return nil, err
					}
					return func() error { return lease.Unlock(background) }, nil
				})
			}
			return takes
		},
		"zk.Lock": func(session *lock.Session) (takes []func() (func() error, error)) {
			conn := session.Client.(*zk.Conn)
			for i := range manyLocks {
				theirs := zk.NewLock(conn, fmt.Sprintf("/zklock-%d", i), zk.WorldACL(zk.PermAll))
				takes = append(takes, func() (func() error, error) {
					return theirs.Unlock, theirs.Lock()
				})
			}
			return takes
		},
	}
	for _, name := range []string{"Mutex", "zk.Lock"} {
		session := openSession(b, address, benchmarkTimeout, net.DialTimeout)
		for _, state := range measureMany(b, take[name], session) {
			b.ReportMetric(state.bytes, name+"-B/"+state.name)
			b.ReportMetric(state.goroutines, name+"-goroutines/"+state.name)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// A footprint is what each of many locks costs in a state.
type footprint struct {
	name              string
	bytes, goroutines float64
}

func measureMany(b *testing.B, open func(*lock.Session) []func() (func() error, error),
	session *lock.Session,
) []footprint {
	before := footprintNow("")
	takes := open(session)
	for _, take := range takes {
		if err := handOff(take); err != nil {
			b.Fatal(err)
		}
	}
	idle := footprintNow("idle")
	releases := make([]func() error, len(takes))
	for i, take := range takes {
		release, err := take()
		if err != nil {
			b.Fatal(err)
		}
		releases[i] = release
	}
	held := footprintNow("held")
	for _, release := range releases {
		if err := release(); err != nil {
			b.Fatal(err)
		}
	}
	for _, f := range []*footprint{&idle, &held} {
		f.bytes = (f.bytes - before.bytes) / manyLocks
		f.goroutines = (f.goroutines - before.goroutines) / manyLocks
	}
	return []footprint{idle, held}
}

// footprintNow returns what the process uses.
func footprintNow(name string) footprint {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{name, float64(m.HeapAlloc + m.StackInuse), float64(runtime.NumGoroutine())}
}
