package subjects

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/scenarios"
)

// singleBarrier is ZooKeeper's barrier recipe, which begins to wait with an empty write.
var singleBarrier = recipe{singleBarrier: true}

// A singleBarrierRecipe is one process's handle on a single barrier by the recipe.
type singleBarrierRecipe struct{ *recipeLock }

func (r singleBarrierRecipe) path() string { return r.directory + "/barrier" }

// Lock sets the barrier.
func (r singleBarrierRecipe) Lock(context.Context) (*scenarios.Hold, error) {
	if _, err := r.client.Create(r.path(), nil, 0, openACL); err != nil {
		r.remove() // It may have been created.
		return nil, err
	}
	return &scenarios.Hold{Unlock: func(context.Context) error { r.remove(); return nil }}, nil
}

// remove removes the barrier.
func (r singleBarrierRecipe) remove() {
	for {
		if err := r.client.Delete(r.path(), -1); err == nil || err == zk.ErrNoNode {
			return
		}
		time.Sleep(retryDelay)
	}
}

// LockShared waits until the barrier is removed. The loss of the session ends the attempt.
func (r singleBarrierRecipe) LockShared(ctx context.Context) (*scenarios.Hold, error) {
	session := r.client.SessionID()
	passed := &scenarios.Hold{Unlock: func(context.Context) error { return nil }}
	if !r.staleBarrier {
		_, err := r.client.Multi(&zk.CheckVersionRequest{Path: r.path(), Version: -1})
		if errors.Is(err, zk.ErrNoNode) {
			return passed, nil
		}
		if err != nil {
			return nil, err
		}
	}
	for {
		exists, _, events, err := r.client.ExistsW(r.path())
		switch {
		case err != nil:
			return nil, err
		case r.client.SessionID() != session:
			return nil, zk.ErrSessionExpired
		case !exists:
			return passed, nil
		}
		var event zk.Event
		select {
		case event = <-events:
		case <-ctx.Done():
		}
		if event.Err != nil && r.heedsDeletion {
			<-ctx.Done() // the defect: it waits for another event
		}
		switch { // Both may have been ready.
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case event.Err != nil:
			return nil, event.Err
		}
	}
}
