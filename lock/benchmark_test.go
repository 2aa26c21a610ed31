package lock_test

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
)

// A meter counts what clients send and receive.
type meter struct{ requests, bytes atomic.Int64 }

// reset does nothing to a meter that is nil.
func (m *meter) reset() {
	if m != nil {
		m.requests.Store(0)
		m.bytes.Store(0)
	}
}

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

// A competitor is a kind of lock under measurement, with one contender or several, each with a
// session of its own.
type competitor struct {
	name string
	performer
	directory string // of the lock
	traffic   *meter // nil if it is not measured
	taken     int
	paces     []float64 // seconds for each hand-off, of each turn
}

// A performer performs the locks of a competitor.
type performer interface {
	// handOver lets all contenders take the lock and release it, so many times together.
	handOver(times int) (time.Duration, error)

	// queueUp lets the first contender take the lock, and starts the others, which wait for it.
	queueUp() error

	// drain lets the first contender release the lock, and waits until all others have had it once.
	drain() (time.Duration, error)
}

// run hands the lock over n times.
func (r *competitor) run(b *testing.B, times int) {
	elapsed, err := r.handOver(times)
	if err != nil {
		b.Fatal(r.name, ": ", err)
	}
	r.add(elapsed, times)
}

// add adds a turn.
func (r *competitor) add(elapsed time.Duration, times int) {
	r.taken += times
	r.paces = append(r.paces, elapsed.Seconds()/float64(times))
}

// warmUp connects the contenders, creates the directory of the lock, and lets Java compile.
func (r *competitor) warmUp(b *testing.B, contenders int) {
	r.run(b, max(2*contenders, 1000/r.share()))
	r.reset()
}

// reset forgets all turns.
func (r *competitor) reset() {
	r.taken, r.paces = 0, nil
	r.traffic.reset()
}

func (r *competitor) report(b *testing.B) {
	b.ReportMetric(1/r.pace(), r.name+"/s")
	if r.traffic != nil {
		b.ReportMetric(float64(r.traffic.requests.Load())/float64(r.taken), r.name+"-requests")
		b.ReportMetric(float64(r.traffic.bytes.Load())/float64(r.taken), r.name+"-bytes")
	}
}

// pace returns the seconds that a hand-off takes: the median of the turns, because other programs
// disturb some of them.
func (r *competitor) pace() float64 { return median(r.paces) }

func median(of []float64) float64 { return slices.Sorted(slices.Values(of))[len(of)/2] }

// goLocks performs locks of this process, with a function for each contender that takes the lock.
type goLocks struct {
	takes   []func() (release func() error, err error)
	release func() error // of the first contender, after queueUp
	waiting chan error   // the result of each waiter
}

func handOff(take func() (func() error, error)) error {
	release, err := take()
	if err != nil {
		return err
	}
	return release()
}

func (g *goLocks) handOver(times int) (time.Duration, error) {
	var left atomic.Int64
	left.Store(int64(times))
	began, results := time.Now(), make(chan error, len(g.takes))
	for _, take := range g.takes {
		go func() {
			var err error
			for err == nil && left.Add(-1) >= 0 {
				err = handOff(take)
			}
			results <- err
		}()
	}
	err := collectErrors(results, len(g.takes))
	return time.Since(began), err
}

func collectErrors(results <-chan error, n int) (first error) {
	for range n {
		if err := <-results; first == nil {
			first = err
		}
	}
	return first
}

func (g *goLocks) queueUp() (err error) {
	g.release, err = g.takes[0]()
	g.waiting = make(chan error, len(g.takes))
	for _, take := range g.takes[1:] {
		go func() { g.waiting <- handOff(take) }()
	}
	return err
}

func (g *goLocks) drain() (time.Duration, error) {
	began := time.Now()
	if err := g.release(); err != nil {
		return 0, err
	}
	err := collectErrors(g.waiting, len(g.takes)-1)
	return time.Since(began), err
}

// turns is the number of turns of each competitor.
const turns = 41

// benchmarkTimeout is long enough for a machine that is busy with other work.
const benchmarkTimeout = 30 * time.Second

func newMutexCompetitor(ctx context.Context, b *testing.B, name, path, address string,
	contenders int,
) *competitor {
	locks, traffic := new(goLocks), new(meter)
	for range contenders {
		mutex := must(lock.NewMutex(openSession(b, address, benchmarkTimeout, traffic.dial), path))
		locks.takes = append(locks.takes, func() (func() error, error) {
			lease, err := mutex.Lock(ctx)
			if err != nil {
				return nil, err
			}
			return func() error { return lease.Unlock(background) }, nil
		})
	}
	return &competitor{name: name, performer: locks, directory: path, traffic: traffic}
}

func newLockCompetitor(b *testing.B, address string, contenders int) *competitor {
	locks, traffic := new(goLocks), new(meter)
	for range contenders {
		conn := openSession(b, address, benchmarkTimeout, traffic.dial).Client.(*zk.Conn)
		theirs := zk.NewLock(conn, "/zklock", zk.WorldACL(zk.PermAll))
		locks.takes = append(locks.takes, func() (func() error, error) {
			return theirs.Unlock, theirs.Lock()
		})
	}
	return &competitor{name: "zk.Lock", performer: locks, directory: "/zklock", traffic: traffic}
}

// newCompetitors returns a Mutex, whose context cannot end because the others have none, zk.Lock,
// and the locks of Curator and kazoo if they are installed.
func newCompetitors(b *testing.B, address string, contenders int) []*competitor {
	all := []*competitor{
		newMutexCompetitor(background, b, "Mutex", "/mutex", address, contenders),
		newLockCompetitor(b, address, contenders),
		newRivalCompetitor(b, "Curator", curator, address, contenders),
		newRivalCompetitor(b, "kazoo", kazoo, address, contenders),
	}
	return slices.DeleteFunc(all, func(r *competitor) bool { return r == nil })
}

// takeTurns lets the competitors perform in turns, since the speed of a shared machine varies. The
// order rotates, and is reversed in every second turn.
func takeTurns(competitors []*competitor, turns int, perform func(r *competitor, turn int)) {
	n := len(competitors)
	for turn := range turns {
		for i := range competitors {
			if turn%2 == 1 {
				i = n - 1 - i
			}
			perform(competitors[(turn/2+i)%n], turn)
		}
	}
}

// reportPaces reports how much faster the first competitor hands over than each other.
func reportPaces(b *testing.B, competitors []*competitor) {
	for _, other := range competitors[1:] {
		b.ReportMetric(competitors[0].fasterThan(other), "×"+other.name)
	}
	b.ReportMetric(0, "ns/op")
}

// fasterThan returns the speed as a multiple of the other's: the median of those in each turn.
func (r *competitor) fasterThan(other *competitor) float64 {
	var ratios []float64
	for turn, pace := range r.paces {
		ratios = append(ratios, other.paces[turn]/pace)
	}
	return median(ratios)
}

// share is the divisor of a competitor's hand-offs. Those of other languages are slow.
func (r *competitor) share() int {
	if r.traffic == nil {
		return 8
	}
	return 1
}

// BenchmarkZooKeeper compares Mutex with the locks of go-zookeeper/zk, Curator and kazoo on a real
// ZooKeeper server: hand-offs per second, with requests and bytes for each, including the release.
// The critical section is empty. Mutex is measured with a context that cannot end, like the others,
// and with one that can (cancellable). × is the speed of Mutex as a multiple of the other's.
func BenchmarkZooKeeper(b *testing.B) {
	address := startZooKeeper(b)
	for _, contenders := range []int{1, 8, 64} {
		b.Run(map[int]string{1: "1-contender", 8: "8-contenders", 64: "64-contenders"}[contenders],
			func(b *testing.B) {
				ctx, cancel := context.WithCancel(background)
				defer cancel()
				competitors := append(newCompetitors(b, address, contenders),
					newMutexCompetitor(ctx, b, "cancellable", "/cancellable", address, contenders))
				for _, r := range competitors {
					r.warmUp(b, contenders)
				}
				b.ResetTimer()
				takeTurns(competitors, turns, func(r *competitor, turn int) {
					r.run(b, max(1, (b.N*(turn+1)/turns-b.N*turn/turns)/r.share()))
				})
				b.StopTimer()
				cancellable := competitors[len(competitors)-1]
				competitors = competitors[:len(competitors)-1]
				for _, r := range competitors {
					r.report(b)
				}
				reportPaces(b, competitors)
				b.ReportMetric(cancellable.fasterThan(competitors[1]), "×zk.Lock-cancellable")
			})
	}
}
