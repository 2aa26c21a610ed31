package engine

import (
	"context"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Register is the engine's own resource, shared by all processes of a run. Its versions count
// from 1. Reads carry a token too: a resource that checks only writes accepts the write of an older
// holder after a newer one has read.
type Register struct {
	version int64
	token   int64 // the highest seen
	written int64 // the highest seen of a holder that shares the lock with nobody
}

// of returns the register as the holder of the token uses it. Holders that share the lock come in
// any order, so their tokens are compared with those of the others only.
func (r *Register) of(guard scenarios.Guard, token int64, shared bool) *scenarios.Resource {
	return &scenarios.Resource{
		Read: func(context.Context) (int64, error) {
			if !r.admit(guard, token, shared) {
				return 0, scenarios.ErrStaleToken
			}
			return r.version, nil
		},
		Write: func(context.Context) (int64, error) {
			if !r.admit(guard, token, shared) {
				return 0, scenarios.ErrStaleToken
			}
			r.version++
			return r.version, nil
		},
	}
}

func (r *Register) admit(guard scenarios.Guard, token int64, shared bool) bool {
	least := r.token
	if shared {
		least = r.written
	}
	if guard == scenarios.TokenChecked && token < least {
		return false
	}
	r.token = max(r.token, token)
	if !shared {
		r.written = max(r.written, token)
	}
	return true
}

// Key folds the register's state into a state key.
func (r *Register) Key(key uint64) uint64 {
	key = hash64.Mix(hash64.Mix(key, uint64(r.version)), uint64(r.token))
	if r.written == r.token {
		return key
	}
	return hash64.Mix(key, uint64(r.written))
}

// read reads the resource, if there is one, and reports whether a write may be based on what it
// read.
func (p *Process) read(resource *scenarios.Resource) bool {
	if resource == nil {
		return false
	}
	version, err := resource.Read(p.Context)
	p.record(resourceEvent(history.ResourceRead, resource, version, err), holding)
	return err == nil
}

// write writes to the resource, unless the process was told meanwhile that it has lost the lock. A
// process that was paused, and for which no time has passed since, writes nevertheless: it had
// checked before the pause. That is the case that fencing tokens are for.
func (p *Process) write(resource *scenarios.Resource) {
	if p.Lost && !p.Resuming {
		return
	}
	p.progress.Add(1)
	version, err := resource.Write(p.Context)
	p.record(resourceEvent(history.ResourceWrite, resource, version, err), holding)
}

func resourceEvent(kind history.Kind, resource *scenarios.Resource, version int64,
	err error,
) history.Event {
	e := history.Event{Kind: kind, Path: resource.Path, Zxid: version}
	if err != nil {
		e.Err = err.Error()
	}
	return e
}
