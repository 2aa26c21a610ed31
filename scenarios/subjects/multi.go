package subjects

import (
	"context"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// Multi acquires several of three production locks at once. Each process passes two or three locks
// in an order of its own; all processes share /z, which is acquired last. Hence the processes
// contend in all combinations, and one process at a time holds all that it needs. Node and token
// are those of /z.
func Multi() scenarios.Subject {
	s := production("multi", "lock.Multi of up to three lock.Mutex, in different orders",
		func(p *scenarios.Process) (lockFunc, error) {
			session := newSession(p, p.Client)
			var lockers []lock.Locker
			for _, name := range [][]string{
				{"/a", "/b", "/z"},
				{"/z", "/b"},
				{"/b", "/z", "/a", "/b"},
			}[p.Number%3] {
				mutex, err := lock.NewMutex(session, p.Directory+name, options(p, lock.Ended)...)
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
	// A process confirms the locks it holds repeatedly while it waits for the rest, and a process
	// that needs fewer locks may overtake it.
	s.Limits.Requests = history.Unbounded
	s.Claims = without(s.Claims, history.NoStarvation)
	// Few processes queue for the same lock.
	s.Sometimes = []history.Sometimes{check.Contention, check.ExpiredWaiter, check.LostCreate}
	return s
}
