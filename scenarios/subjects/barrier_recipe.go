package subjects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/scenarios"
)

// barrierParties is the number of processes in a round of the barrier of the recipes.
const barrierParties = 2

// barrier is a double barrier without retries: a process that finds enough nodes without data
// writes the names of the first of them into each, in one multi.
var barrier = recipe{barrier: true, steps: replacing(func(s *steps) {
	s.lock = (*recipeLock).enterBarrier
})}

// enterBarrier waits until the process's node names the nodes of its round.
func (r *recipeLock) enterBarrier(ctx context.Context) (*scenarios.Hold, error) {
	session := r.client.SessionID()
	members, err := r.gather(ctx, session)
	if err != nil {
		// The node of an ended session may still exist for a while, and would count.
		for !r.countsQuitter && r.deleteOwned(session) != nil {
			time.Sleep(retryDelay)
		}
		return nil, err
	}
	h := r.hold()
	h.Unlock = func(context.Context) error { return r.leaveBarrier(members) }
	return h, nil
}

// gather creates a node and returns the names of the nodes in its round, once that has begun.
func (r *recipeLock) gather(ctx context.Context, session int64) ([]string, error) {
	if err := r.createMember(session); err != nil {
		return nil, err
	}
	for {
		data, _, events, err := r.client.GetW(r.node)
		if err != nil {
			return nil, err
		}
		if len(data) > 0 {
			return strings.Split(string(data), ","), nil
		}
		outside, err := r.outside()
		if err != nil {
			return nil, err
		}
		if len(outside) >= barrierParties {
			if err := r.beginRound(outside[:barrierParties]); err != nil {
				return nil, err
			}
			continue
		}
		var event zk.Event
		select {
		case event = <-events:
		case <-ctx.Done():
		}
		switch { // Both may have been ready.
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case event.Err != nil && r.entersWoken:
			return nil, nil // the defect: whatever has woken it
		case event.Err != nil:
			return nil, event.Err
		}
	}
}

// createMember creates a node of a name that no other attempt has. It does not retry, because the
// first node may be in a round, and a call must not count twice; for the same reason it fails if
// the session has changed.
func (r *recipeLock) createMember(session int64) (err error) {
	r.attempts++
	r.node, err = r.client.Create(fmt.Sprintf("%s/n-%x-%d", r.directory, session, r.attempts), nil,
		zk.FlagEphemeral, openACL)
	if r.session = r.client.SessionID(); err == nil && r.session != session {
		err = zk.ErrSessionExpired
	}
	return err
}

// outside returns the names of the nodes that are in no round, in order.
func (r *recipeLock) outside() ([]string, error) {
	names, _, err := r.client.Children(r.directory)
	if err != nil {
		return nil, err
	}
	var outside []string
	for _, name := range names {
		data, _, err := r.client.Get(r.directory + "/" + name)
		switch {
		case err == zk.ErrNoNode:
		case err != nil:
			return nil, err
		case len(data) == 0:
			outside = append(outside, name)
		}
	}
	slices.Sort(outside)
	return outside, nil
}

// beginRound begins a round of the nodes, unless one of them is gone or in a round.
func (r *recipeLock) beginRound(names []string) error {
	var writes []any
	for _, name := range names {
		writes = append(writes, &zk.SetDataRequest{
			Path: r.directory + "/" + name, Data: []byte(strings.Join(names, ",")),
		})
	}
	_, err := r.client.Multi(writes...)
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
		return nil
	}
	return err
}

// leaveBarrier deletes the process's node and waits until no node of the round is left.
func (r *recipeLock) leaveBarrier(members []string) error {
	if err := r.release(); err != nil {
		return err
	}
	enough := 0
	if r.lastLeaver {
		enough = 1 // the defect: it takes the last node for its own
	}
	for {
		left, events, err := r.remaining(members)
		switch {
		case err != nil:
			time.Sleep(retryDelay)
		case left <= enough:
			return nil
		default:
			<-events
		}
	}
}

// remaining returns how many of the nodes exist, and a watch on one of them.
func (r *recipeLock) remaining(names []string) (left int, watch <-chan zk.Event, err error) {
	for _, name := range names {
		exists, _, events, err := r.client.ExistsW(r.directory + "/" + name)
		if err != nil {
			return 0, nil, err
		}
		if exists {
			left, watch = left+1, events
		}
	}
	return left, watch, nil
}
