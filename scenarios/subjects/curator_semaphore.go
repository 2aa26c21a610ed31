package subjects

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// CuratorSemaphore is InterProcessSemaphoreV2 of Apache Curator 5.4 with one lease, which must have
// the properties of a lock:
//
//	lease = semaphore.acquire(); … semaphore.returnLease(lease);
//
// It breaks as [Curator] does, whose mutex it contains, and in two ways of its own:
//   - A process may lose its session, and with it the mutex, before it creates its lease. Then two
//     leases exist, and each of their processes waits for the other for ever.
//   - If the release of the mutex throws an exception, acquire does too, and keeps the lease.
func CuratorSemaphore() scenarios.Subject {
	s := curatorSubject("curator-semaphore",
		"broken: InterProcessSemaphoreV2 of Apache Curator 5.4, with one lease", nil)
	s.Claims = without(s.Claims, history.Reentrancy)
	// An acquire is one of the mutex and one of the lease. The first also creates two containers.
	s.Limits.Requests = 2*s.Limits.Requests + 4
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		return scenarios.LockerFunc(newCuratorSemaphore(p).acquire), nil
	}
	return s
}

// A curatorSemaphore is InterProcessSemaphoreV2.
type curatorSemaphore struct {
	client     *curatorClient
	lock       *curatorMutex
	leasesPath string
	maxLeases  int
}

func newCuratorSemaphore(p *scenarios.Process) *curatorSemaphore {
	client := newCuratorClient(p)
	return &curatorSemaphore{
		client: client, lock: newCuratorMutex(p, client, p.Directory+"/locks"),
		leasesPath: p.Directory + "/leases", maxLeases: 1,
	}
}

func (s *curatorSemaphore) acquire(ctx context.Context) (*scenarios.Hold, error) {
	for retries := 0; ; retries++ {
		lease, err := s.acquireLease(ctx)
		switch {
		case err == nil:
			return &scenarios.Hold{Node: lease, Unlock: func(ctx context.Context) error {
				s.returnLease(ctx, lease)
				return nil
			}}, nil
		case err != errLeaseGone:
			return nil, err
		case !s.client.allowRetry(ctx, retries):
			return nil, zk.ErrNoNode
		}
	}
}

// errLeaseGone says that the lease is not among the nodes, as after the end of a session.
var errLeaseGone = errors.New("the lease is gone")

// acquireLease is internalAcquire1Lease.
func (s *curatorSemaphore) acquireLease(ctx context.Context) (lease string, err error) {
	if err := mustBeTrue(s.lock.acquire(ctx, waitForever)); err != nil {
		return "", err
	}
	defer func() {
		// In Java, an exception of the release replaces the first one, and the lease stays.
		if releaseErr := s.lock.release(ctx); releaseErr != nil {
			err = releaseErr
		}
	}()
	lease, err = s.client.createProtected(ctx, s.leasesPath+"/lease-", zk.FlagEphemeralSequential)
	if err == nil && lease == "" {
		err = errNullPath
	}
	if err != nil {
		return "", err
	}
	if err = s.awaitLease(ctx, lease[strings.LastIndexByte(lease, '/')+1:]); err != nil {
		s.returnLease(ctx, lease)
	}
	return lease, err
}

// awaitLease waits until there are no more nodes than leases.
func (s *curatorSemaphore) awaitLease(ctx context.Context, node string) error {
	for {
		children, events, err := s.client.childrenWatched(ctx, s.leasesPath)
		switch {
		case err != nil:
			return err
		case !slices.Contains(children, node):
			return errLeaseGone
		case len(children) <= s.maxLeases:
			return nil
		}
		select {
		case <-events:
		case <-s.client.connectionChange():
		case <-ctx.Done():
		}
		if err := ctxError(ctx); err != nil {
			return err
		}
	}
}

// returnLease deletes the lease's node. Exceptions are only printed.
func (s *curatorSemaphore) returnLease(ctx context.Context, lease string) {
	_ = s.client.deleteGuaranteed(ctx, lease)
}
