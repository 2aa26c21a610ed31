package subjects

import (
	"context"
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// Multi is three production locks taken at once. Each process takes two of them, in an order of its
// own, and the third, which all have in common and which comes last: so they meet in every way, and
// one process at a time has what it needs. Its node and token are those of the lock that all have
// in common.
func Multi() scenarios.Subject {
	s := production("multi", "lock.Multi of three lock.Mutex, given in any order",
		func(p *scenarios.Process) (lockFunc, error) {
			var lockers []lock.Locker
			for _, name := range [][]string{
				{"/a", "/b", "/z"},
				{"/z", "/b"},
				{"/b", "/z", "/a", "/b"},
			}[p.Number%3] {
				mutex, err := lock.NewMutex(p.Client, p.Directory+name, p.SessionTimeout,
					lock.WithRandom(p.Random))
				if err != nil {
					return nil, err
				}
				lockers = append(lockers, mutex)
			}
			multi, err := lock.NewMulti(lockers...)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				leases, err := multi.Lock(ctx)
				if err != nil {
					return nil, err
				}
				last := leases.Leases()[len(leases.Leases())-1]
				return &scenarios.Hold{
					Unlock: leases.Unlock, Done: leases.Done(), Node: last.Node(),
					Token: last.Token(),
				}, nil
			}, nil
		})
	// What a process has of its locks is confirmed again and again while it waits for the rest, and
	// whoever asks for fewer may get there first.
	s.Limits.Requests = history.Unbounded
	s.Claims = slices.DeleteFunc(s.Claims,
		func(p history.Property) bool { return p == history.NoStarvation })
	// few queue for the same lock
	s.Sometimes = []history.Sometimes{history.Contention, history.ExpiredWaiter, history.LostCreate}
	return s
}
