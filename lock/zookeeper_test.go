package lock_test

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/conform"
)

// startZooKeeper starts a real ZooKeeper server and returns its address. If none is installed it
// skips the test, or fails it if INTERLOCK_REQUIRE_ZOOKEEPER=1.
func startZooKeeper(tb testing.TB) string {
	tb.Helper()
	address, stop, err := conform.StartReal(context.Background(), tb.TempDir())
	if errors.Is(err, conform.ErrNotInstalled) && os.Getenv("INTERLOCK_REQUIRE_ZOOKEEPER") != "1" {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Error(err)
		}
	})
	return address
}

// clientBuffer suffices for what the tests send. The client's default would cost 3 MB per
// connection.
const clientBuffer = 64 << 10

// openSession connects a client, which is closed with the test, and returns its session.
func openSession(tb testing.TB, address string, timeout time.Duration,
	dialer zk.Dialer,
) *lock.Session {
	tb.Helper()
	session, err := lock.OpenSession(timeout, func(callback zk.EventCallback) (*zk.Conn,
		<-chan zk.Event, error,
	) {
		return zk.Connect([]string{address}, timeout, zk.WithEventCallback(callback),
			zk.WithDialer(dialer),
			zk.WithLogger(silent{}), zk.WithMaxBufferSize(clientBuffer),
			zk.WithMaxConnBufferSize(clientBuffer))
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(session.Client.(*zk.Conn).Close)
	return session
}

// A meter counts what clients send and receive.
type meter struct{ requests, bytes atomic.Int64 }

func (m *meter) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	return &metered{conn, m}, err
}

// metered is a connection whose traffic is counted.
type metered struct {
	net.Conn
	meter *meter
}

// pingFrame is the size of a ping with its length. Pings are not counted.
const pingFrame = 12

// Write writes one request: the client sends each at once.
func (c *metered) Write(p []byte) (int, error) {
	if len(p) > pingFrame {
		c.meter.requests.Add(1)
		c.meter.bytes.Add(int64(len(p)))
	}
	return c.Conn.Write(p)
}

func (c *metered) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.meter.bytes.Add(int64(n))
	return n, err
}

// A competitor is a kind of lock under measurement, with one contender per function, each with a
// session of its own.
type competitor struct {
	name string
	meter
	handOffs []func() error // each takes the lock and releases it
	taken    int
	elapsed  time.Duration
}

// run hands the lock over n times.
func (r *competitor) run(b *testing.B, times int) {
	var left atomic.Int64
	left.Store(int64(times))
	began := time.Now()
	var contenders sync.WaitGroup
	for _, handOff := range r.handOffs {
		contenders.Go(func() {
			for left.Add(-1) >= 0 {
				if err := handOff(); err != nil {
					b.Error(r.name, err)
					return
				}
			}
		})
	}
	contenders.Wait()
	r.elapsed += time.Since(began)
	r.taken += times
}

func (r *competitor) report(b *testing.B) {
	b.ReportMetric(float64(r.taken)/r.elapsed.Seconds(), r.name+"/s")
	b.ReportMetric(float64(r.requests.Load())/float64(r.taken), r.name+"-requests")
	b.ReportMetric(float64(r.bytes.Load())/float64(r.taken), r.name+"-bytes")
}

// turns is the number of turns of each competitor. Each contender should hold the lock many times
// in one turn, since contenders return in the same order only after a while.
const turns = 21

// benchmarkTimeout is long enough for a machine that is busy with other work.
const benchmarkTimeout = 30 * time.Second

func newMutexCompetitor(ctx context.Context, b *testing.B, name, path, address string,
	contenders int,
) *competitor {
	r := &competitor{name: name}
	for range contenders {
		mutex := must(lock.NewMutex(openSession(b, address, benchmarkTimeout, r.dial), path,
			benchmarkTimeout))
		r.handOffs = append(r.handOffs, func() error {
			lease, err := mutex.Lock(ctx)
			if err != nil {
				return err
			}
			return lease.Unlock(background)
		})
	}
	return r
}

func newLockCompetitor(b *testing.B, address string, contenders int) *competitor {
	r := &competitor{name: "zk.Lock"}
	for range contenders {
		conn := openSession(b, address, benchmarkTimeout, r.dial).Client.(*zk.Conn)
		theirs := zk.NewLock(conn, "/zklock", zk.WorldACL(zk.PermAll))
		r.handOffs = append(r.handOffs, func() error {
			if err := theirs.Lock(); err != nil {
				return err
			}
			return theirs.Unlock()
		})
	}
	return r
}

// BenchmarkZooKeeper compares Mutex with the lock of go-zookeeper/zk on a real ZooKeeper server:
// hand-offs per second, with requests and bytes for each, including the release. The critical
// section is empty. Mutex is measured with a context that cannot end, like zk.Lock, and with one
// that can. The competitors take turns, and each goes first in every third turn, since the speed of
// a shared machine varies.
func BenchmarkZooKeeper(b *testing.B) {
	address := startZooKeeper(b)
	for _, contenders := range []int{1, 8, 64} {
		b.Run(map[int]string{1: "1-contender", 8: "8-contenders", 64: "64-contenders"}[contenders],
			func(b *testing.B) {
				ctx, cancel := context.WithCancel(background)
				defer cancel()
				mutex := newMutexCompetitor(background, b, "Mutex", "/mutex", address, contenders)
				cancellable := newMutexCompetitor(ctx, b, "cancellable", "/cancellable", address,
					contenders)
				theirs := newLockCompetitor(b, address, contenders)
				competitors := []*competitor{mutex, cancellable, theirs}
				for _, r := range competitors {
					r.run(b, 2*contenders) // connect, and create the directory
					r.taken, r.elapsed = 0, 0
					r.requests.Store(0)
					r.bytes.Store(0)
				}
				b.ResetTimer()
				for turn := range turns {
					times := b.N*(turn+1)/turns - b.N*turn/turns
					for i := range competitors {
						competitors[(turn+i)%len(competitors)].run(b, times)
					}
				}
				b.StopTimer()
				mutex.report(b)
				theirs.report(b)
				b.ReportMetric(theirs.elapsed.Seconds()/mutex.elapsed.Seconds(), "×")
				b.ReportMetric(theirs.elapsed.Seconds()/cancellable.elapsed.Seconds(),
					"×cancellable")
				b.ReportMetric(0, "ns/op")
			})
	}
}
