package lock_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// pauses are the random pauses of each contender between a release and its next attempt.
var pauses = []struct {
	contenders int
	most       time.Duration
}{{8, 5 * time.Millisecond}, {64, 10 * time.Millisecond}, {64, 40 * time.Millisecond}}

// BenchmarkZooKeeperPauses is BenchmarkZooKeeper with contenders that do not return at once, for
// Mutex and zk.Lock.
func BenchmarkZooKeeperPauses(b *testing.B) {
	address := startZooKeeper(b)
	for _, pause := range pauses {
		b.Run(fmt.Sprintf("%d-contenders-%v", pause.contenders, pause.most), func(b *testing.B) {
			competitors := []*competitor{
				newMutexCompetitor(background, b, "Mutex", "/mutex", address, pause.contenders),
				newLockCompetitor(b, address, pause.contenders),
			}
			for _, r := range competitors {
				r.performer.(*goLocks).pauseUpTo(pause.most)
				r.warmUp(b, pause.contenders)
			}
			b.ResetTimer()
			takeTurns(competitors, turns, func(r *competitor, turn int) {
				r.run(b, max(1, b.N*(turn+1)/turns-b.N*turn/turns))
			})
			b.StopTimer()
			for _, r := range competitors {
				r.report(b)
			}
			reportPaces(b, competitors)
		})
	}
}

// pauseUpTo lets each contender pause before it takes the lock. The pauses of all kinds of locks are
// the same.
func (g *goLocks) pauseUpTo(most time.Duration) {
	for i, take := range g.takes {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		g.takes[i] = func() (func() error, error) {
			time.Sleep(time.Duration(random.Int64N(int64(most))))
			return take()
		}
	}
}
