package scenarios

import (
	"context"
	"errors"

	"github.com/interlock-sim/interlock/history"
)

// A Guard says how the resource that a lock protects tells who may use it. Each process that has
// the lock reads the resource when it enters its critical section, and writes what rests on that
// before it leaves.
type Guard uint8

// The ways to guard a resource.
const (
	NoResource Guard = iota // there is none
	// whoever comes may read and write: only the lock keeps two from overwriting each other
	Unguarded
	// reads and writes carry the fencing token; one that is lower than the highest seen is refused
	TokenChecked
)

// A Resource is what a lock protects, as one of its holders uses it. The harness offers resources
// of its own by [Subject.Guard]; a lock that brings one, such as a znode that is written by guarded
// multis, gives it to its [Hold].
type Resource struct {
	Path string // of the znode that it is, empty if it is none
	// returns the version, which of a znode is the zxid of its last change
	Read  func(context.Context) (int64, error)
	Write func(context.Context) (int64, error) // returns the version that it made, 0 if not known
}

// ErrStaleToken is why a token-checked resource refuses its use.
var ErrStaleToken = errors.New("the token is lower than one that was seen before")

// A register is the harness's own resource, which all processes of a run share. Its versions count
// from 1. A token must be carried by reads as well as by writes: a resource that looks at the
// tokens of writes alone accepts the write of an older holder after a newer one has read.
type register struct {
	version int64
	token   int64 // the highest that was seen
}

// of returns the register as the holder with that token uses it.
func (r *register) of(guard Guard, token int64) *Resource {
	return &Resource{
		Read: func(context.Context) (int64, error) {
			if !r.admit(guard, token) {
				return 0, ErrStaleToken
			}
			return r.version, nil
		},
		Write: func(context.Context) (int64, error) {
			if !r.admit(guard, token) {
				return 0, ErrStaleToken
			}
			r.version++
			return r.version, nil
		},
	}
}

func (r *register) admit(guard Guard, token int64) bool {
	if guard == TokenChecked && token < r.token {
		return false
	}
	r.token = max(r.token, token)
	return true
}

// key folds the register's state into a state key.
func (r *register) key(key uint64) uint64 {
	return mix(mix(key, uint64(r.version)),
		uint64(r.token))
}

// read reads the resource, if there is one, and tells whether what was read may be the base of a
// write.
func (p *process) read(resource *Resource) bool {
	if resource == nil {
		return false
	}
	version, err := resource.Read(p.ctx)
	p.record(resourceEvent(history.ResourceRead, resource, version, err), holding)
	return err == nil
}

// write writes to the resource. A holder that was told meanwhile that it has lost the lock knows
// better, unless its process was paused and no time has passed since: it had looked right before,
// and goes on before it looks again. It is for that that resources check tokens.
func (p *process) write(resource *Resource) {
	if p.lost && !p.resuming {
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
