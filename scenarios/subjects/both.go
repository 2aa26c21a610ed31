package subjects

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/scenarios"
)

// secondDirectory returns the directory of the lock that lockBoth takes first.
func (r *recipeLock) secondDirectory() string { return r.directory + "-2" }

// lockBoth takes two locks, all or none. Node and token of the hold are those of the one that is
// taken last.
func (r *recipeLock) lockBoth(ctx context.Context) (*scenarios.Hold, error) {
	_, err := r.client.Create(r.secondDirectory(), nil, 0, openACL)
	if err != nil && err != zk.ErrNodeExists {
		return nil, err
	}
	first := &recipeLock{
		recipe: r.recipe, client: r.client, directory: r.secondDirectory(), timeout: r.timeout,
	}
	var taken []*recipeLock
	failed := ctx.Err()
	for _, one := range []*recipeLock{first, r} {
		if failed != nil && !r.acquiresOn {
			break
		}
		if err := one.attempt(ctx); err == nil {
			taken = append(taken, one)
		} else {
			failed = errors.Join(failed, err)
		}
		failed = errors.Join(failed, ctx.Err())
	}
	if failed != nil {
		releaseAll(taken)
		return nil, failed
	}
	h := r.hold()
	h.Unlock = func(context.Context) error { return releaseAll(taken) }
	return h, nil
}

// releaseAll releases locks in reverse order.
func releaseAll(taken []*recipeLock) error {
	var failed error
	for i := len(taken) - 1; i >= 0; i-- {
		failed = errors.Join(failed, taken[i].release())
	}
	return failed
}
