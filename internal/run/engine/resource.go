package engine

import (
	"context"
	"errors"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
)

// A Guard says how the resource that a lock protects checks its users. Each process that holds the
// lock reads the resource when it enters its critical section, and writes a value based on that
// before it leaves.
type Guard uint8

// The ways to guard a resource.
const (
	NoResource Guard = iota // there is no resource
	// Unguarded lets everybody read and write: only the lock prevents lost updates.
	Unguarded
	// TokenChecked requires a fencing token for each read and write, and refuses one that is lower
	// than the highest it has seen.
	TokenChecked
)

// A Resource is what a lock protects, as one of its holders uses it. [Subject.Guard] selects a
// resource of the engine; a lock with a resource of its own, such as a znode written by guarded
// multis, returns it in its [Hold].
type Resource struct {
	Path string // of the znode; "" if the resource is none
	// returns the version; of a znode, the zxid of its last change
	Read func(context.Context) (int64, error)
	// returns the version that it made, 0 if unknown
	Write func(context.Context) (int64, error)
}

// ErrStaleToken is the error of a token-checked resource that refuses a stale token.
var ErrStaleToken = errors.New("the token is lower than one seen before")

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
func (r *Register) of(guard Guard, token int64, shared bool) *Resource {
	return &Resource{
		Read: func(context.Context) (int64, error) {
			if !r.admit(guard, token, shared) {
				return 0, ErrStaleToken
			}
			return r.version, nil
		},
		Write: func(context.Context) (int64, error) {
			if !r.admit(guard, token, shared) {
				return 0, ErrStaleToken
			}
			r.version++
			return r.version, nil
		},
	}
}

func (r *Register) admit(guard Guard, token int64, shared bool) bool {
	least := r.token
	if shared {
		least = r.written
	}
	if guard == TokenChecked && token < least {
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
func (p *Process) read(resource *Resource) bool {
	if resource == nil {
		return false
	}
	version, err := resource.Read(p.ctx)
	p.record(resourceEvent(history.ResourceRead, resource, version, err), holding)
	return err == nil
}

// write writes to the resource, unless the process was told meanwhile that it has lost the lock. A
// process that was paused, and for which no time has passed since, writes nevertheless: it had
// checked before the pause. That is the case that fencing tokens are for.
func (p *Process) write(resource *Resource) {
	if p.Lost && !p.Resuming {
		return
	}
	p.progress.Add(1)
	version, err := resource.Write(p.ctx)
	p.record(resourceEvent(history.ResourceWrite, resource, version, err), holding)
}

func resourceEvent(kind history.Kind, resource *Resource, version int64, err error) history.Event {
	e := history.Event{Kind: kind, Path: resource.Path, Zxid: version}
	if err != nil {
		e.Err = err.Error()
	}
	return e
}
