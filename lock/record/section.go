package record

import (
	"context"
	"errors"
	"slices"

	"github.com/interlock-sim/interlock/lock"
)

// A section is a critical section that Do records. The recorder's mutex guards it.
type section struct {
	attempt int32
	bound   bool // the attempt is known
	called  int64
	entered bool
	within  *contender // nil outside
	lost    bool       // the loss is recorded
}

// A sectionKey is the key of a recorder's section in a context.
type sectionKey struct{ recorder *Recorder }

var (
	errNotObserved = errors.New("record: the recorder does not observe the lock: " +
		"give it to lock.WithObserver")
	errOutside = errors.New("record: a read or a write without the context of Do")
)

// Do is Do of the lock, and records the critical section and what Unlock has returned. The recorder
// must observe the lock. The function is not called if the lock was lost before.
func (r *Recorder) Do(ctx context.Context, l lock.Locker, f func(context.Context) error) error {
	s := new(section)
	r.mu.Lock()
	s.called = r.time()
	r.mu.Unlock()
	return l.Do(context.WithValue(ctx, sectionKey{r}, s), func(inner context.Context) error {
		lease := lock.LeaseFrom(inner)
		if err := r.enter(s, lease); err != nil {
			return err
		}
		// The lease tells of its loss when the keeper may still wait for an answer.
		stop := context.AfterFunc(lease.Context(context.Background()), func() { r.lost(s, lease) })
		defer stop()
		defer r.leave(s) // also if the function panics
		err := f(inner)
		r.leave(s)
		unlocked := lease.Unlock(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.unlocked(s.attempt, r.time(), unlocked)
		return err
	})
}

// enter records that the process enters its critical section, or returns why the lease has ended.
// The time is from before the check, and no loss is recorded in between, so that a pause there does
// no harm.
func (r *Recorder) enter(s *section, lease *lock.Lease) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.time()
	if err := lease.Err(); err != nil {
		return err
	}
	c := r.nodes[lease.Node()]
	if c == nil {
		return errNotObserved
	}
	if !s.bound { // Its owner holds the lock already.
		r.attempts++
		s.bound, s.attempt = true, r.attempts
		r.write(event{At: s.called, Kind: "lock-call", Attempt: s.attempt, Op: c.mode})
		r.write(event{
			At: now, Kind: "lock-return", Attempt: s.attempt, Op: c.mode, Path: c.node,
			Zxid: lease.Token(),
		})
	}
	s.entered, s.within = true, c
	c.inside = append(c.inside, s)
	r.write(event{At: now, Kind: "enter", Attempt: s.attempt, Op: c.mode})
	return nil
}

// lost records that the lease of a process inside its critical section has ended.
func (r *Recorder) lost(s *section, lease *lock.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := lease.Err(); err != nil && s.within != nil {
		s.lost = true
		r.write(event{At: r.time(), Kind: "lost", Attempt: s.attempt, Err: err.Error()})
	}
}

// leave records that the process leaves its critical section and calls Unlock.
func (r *Recorder) leave(s *section) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.within == nil {
		return
	}
	s.within.inside = slices.DeleteFunc(s.within.inside,
		func(o *section) bool { return o == s })
	s.within = nil
	now := r.time()
	r.write(event{At: now, Kind: "leave", Attempt: s.attempt})
	r.write(event{At: now, Kind: "unlock-call", Attempt: s.attempt})
}

// Read records that the process has read a version of a resource, within the function of Do.
func (r *Recorder) Read(ctx context.Context, resource string, version int64) {
	r.access(ctx, event{Kind: "resource-read", Path: resource, Zxid: version})
}

// Wrote records that the process has made a version of a resource, within the function of Do; or
// that the resource has refused the write, with its error.
func (r *Recorder) Wrote(ctx context.Context, resource string, version int64, refused error) {
	r.access(ctx, event{
		Kind: "resource-write", Path: resource, Zxid: version,
		Err: text(refused),
	})
}

func (r *Recorder) access(ctx context.Context, e event) {
	s, ok := ctx.Value(sectionKey{r}).(*section)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !ok {
		r.err = firstOf(r.err, errOutside)
		return
	}
	e.At, e.Attempt = r.time(), s.attempt
	r.write(e)
}
