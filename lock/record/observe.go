package record

import (
	"fmt"

	"github.com/interlock-sim/interlock/lock"
)

// A contender is an attempt at a lock, from its first event until its node is gone.
type contender struct {
	attempt int32
	mode    string
	node    string
	section *section   // its critical section, if Do records it
	inside  []*section // also those in which its owner has taken the lock again
	ended   bool
	lost    error // why the lease ended, unless it was unlocked
}

// Observe records an event of a lock. Give the recorder to the lock after all other observers: they
// may delay a grant, which counts from when it is recorded.
func (r *Recorder) Observe(e lock.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.time()
	c := r.contenders[e.Attempt]
	if c == nil {
		if e.Kind != lock.Queued && e.Kind != lock.Failed {
			return
		}
		c = r.begin(e, now)
	}
	switch e.Kind {
	case lock.Queued:
		delete(r.nodes, c.node)
		c.node = e.Node
		r.nodes[c.node] = c
		r.write(event{At: now, Kind: "node-created", Attempt: c.attempt, Path: e.Node})
	case lock.Granted:
		r.write(event{
			At: now, Kind: "lock-return", Attempt: c.attempt, Op: c.mode, Path: e.Node,
			Zxid: e.Token,
		})
		if c.section == nil {
			r.write(event{At: now, Kind: "enter", Attempt: c.attempt, Op: c.mode})
		}
	case lock.Failed:
		r.write(event{
			At: now, Kind: "lock-return", Attempt: c.attempt, Op: c.mode,
			Err: text(e.Err),
		})
		r.forget(e.Attempt, c)
	case lock.Downgraded:
		r.downgrade(c, now)
	case lock.Ended:
		c.ended, c.lost = true, e.Err
		r.end(c, now)
	case lock.Removed, lock.Abandoned:
		if c.section == nil || !c.section.entered {
			r.unlocked(c.attempt, now, firstOf(c.lost, e.Err))
		}
		r.forget(e.Attempt, c)
	}
}

// begin records the call of Lock with which an attempt began.
func (r *Recorder) begin(e lock.Event, now int64) *contender {
	r.attempts++
	c := &contender{attempt: r.attempts, mode: mode(e.Attempt)}
	r.contenders[e.Attempt] = c
	if s, ok := e.Context.Value(sectionKey{r}).(*section); ok && !s.bound {
		s.bound, s.attempt, c.section = true, c.attempt, s
	}
	r.write(event{
		At: now - int64(e.Elapsed), Kind: "lock-call", Attempt: c.attempt, Op: c.mode,
	})
	return c
}

func (r *Recorder) forget(a *lock.Attempt, c *contender) {
	delete(r.contenders, a)
	delete(r.nodes, c.node)
}

// downgrade records that a contender is inside as a reader from now on.
func (r *Recorder) downgrade(c *contender, now int64) {
	c.mode = sharedMode
	if c.section == nil && !c.ended {
		r.write(event{At: now, Kind: "enter", Attempt: c.attempt, Op: c.mode})
	}
	for _, s := range c.inside {
		if !s.lost {
			r.write(event{At: now, Kind: "enter", Attempt: s.attempt, Op: c.mode})
		}
	}
}

// end records the end of a lease, unless Do does so.
func (r *Recorder) end(c *contender, now int64) {
	switch {
	case c.section != nil && c.section.entered:
	case c.lost != nil:
		r.write(event{At: now, Kind: "lost", Attempt: c.attempt, Err: c.lost.Error()})
	default:
		if c.section == nil {
			r.write(event{At: now, Kind: "leave", Attempt: c.attempt})
		}
		r.write(event{At: now, Kind: "unlock-call", Attempt: c.attempt})
	}
}

func (r *Recorder) unlocked(attempt int32, now int64, err error) {
	r.write(event{At: now, Kind: "unlock-return", Attempt: attempt, Err: text(err)})
}

// The modes of attempts as in package history, where that of an exclusive one is empty.
const (
	sharedMode    = "shared"
	semaphoreMode = "place of %d"
)

func mode(a *lock.Attempt) string {
	switch {
	case a.Shared:
		return sharedMode
	case a.Places > 1:
		return fmt.Sprintf(semaphoreMode, a.Places)
	}
	return ""
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
