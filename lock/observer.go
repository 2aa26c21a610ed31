package lock

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"
)

// An Observer receives the events of a lock's contenders, for metrics and traces. Observe is called
// synchronously, and concurrently by the goroutines of several contenders. It must not call the
// lock, and it must not panic: most of these goroutines belong to the lock, and nobody can recover
// there.
type Observer interface {
	Observe(Event)
}

// An Event is a change of a contender's state.
type Event struct {
	Kind EventKind
	Path string // of the lock
	Node string // of the contender, empty while it has none

	// Attempt is what the contender asks for. All events of a contender have the same pointer.
	Attempt *Attempt

	// Context carries the values of the call's context, for traces, but does not end with it.
	Context context.Context

	Token int64 // of Granted, Ended and Revoked
	Ahead int   // of Waiting: the number of contenders before it that block it
	// of Queued, Granted and Failed: since Lock was called; of Ended: since the grant
	Elapsed time.Duration
	// of Retried and Abandoned: the failure; of Failed and Forfeited: the reason; of Ended: why the
	// lock was lost, or nil if it was unlocked
	Err error
}

// An Attempt is what a contender asks for.
type Attempt struct {
	Shared bool // it reads, or takes part in a barrier
	Places int  // of the semaphore, or 1
}

// An EventKind is the kind of an event.
type EventKind string

// The kinds of events, in their usual order.
const (
	Queued  EventKind = "queued"  // its node was made
	Waiting EventKind = "waiting" // it waits for the contenders before it
	Granted EventKind = "granted" // it holds the lock
	// the attempt failed: it was cancelled or refused, or TryLock found the lock taken
	Failed     EventKind = "failed"
	Revoked    EventKind = "revoked"    // Revoke was called
	Downgraded EventKind = "downgraded" // it is about to admit readers
	Ended      EventKind = "ended"      // the lock was unlocked or lost
	Retried    EventKind = "retried"    // a request failed and is retried
	Forfeited  EventKind = "forfeited"  // its node is about to be removed, and it queues again
	Removed    EventKind = "removed"    // its node was removed
	Abandoned  EventKind = "abandoned"  // its node could not be removed
)

// observe passes an event to the observers.
func (c *contender) observe(e Event) {
	if e.Kind == Waiting {
		c.noteBlocked(true)
	}
	if len(c.observers) == 0 {
		return
	}
	e.Path, e.Node, e.Attempt, e.Context = c.path, c.node, &c.asked, c.ctx
	for _, o := range c.observers {
		if o.has(e.Kind) {
			o.Observe(e)
		}
	}
}

// A subscription is an observer of some kinds of events, or of all if there are none.
type subscription struct {
	Observer
	kinds []EventKind
}

func (s subscription) has(kind EventKind) bool {
	return len(s.kinds) == 0 || slices.Contains(s.kinds, kind)
}

// noteBlocked tells a call of TryLockFor whether others are before the contender.
func (c *contender) noteBlocked(is bool) {
	if blocked, ok := c.ctx.Value(blockedKey{}).(*atomic.Bool); ok {
		blocked.Store(is)
	}
}

// observeQueued passes to the observers that the contender has a node, once for each node. The
// contender may have found it after the reply to its create was lost.
func (c *contender) observeQueued() {
	if c.node != "" && !c.queued {
		c.queued = true
		c.observe(Event{Kind: Queued, Elapsed: time.Since(c.started)})
	}
}

// observeEnd passes the end of a tenure to the observers when it comes: the keeper may then be
// waiting for an answer. The function that it returns waits until they have it.
func (c *contender) observeEnd(t *tenure) (wait func()) {
	if !slices.ContainsFunc(c.observers, func(s subscription) bool { return s.has(Ended) }) {
		return func() {}
	}
	began, observed := time.Now(), make(chan struct{})
	context.AfterFunc(t.ctx, func() {
		defer close(observed)
		c.observe(Event{Kind: Ended, Token: t.token, Elapsed: time.Since(began), Err: t.loss()})
	})
	return func() { <-observed }
}

// A logObserver logs events.
type logObserver struct{ logger *slog.Logger }

func (o logObserver) Observe(e Event) {
	level := slog.LevelDebug
	attributes := []slog.Attr{slog.String("path", e.Path), slog.String("node", e.Node)}
	switch e.Kind {
	case Waiting:
		if e.Ahead > 0 {
			attributes = append(attributes, slog.Int("ahead", e.Ahead))
		}
	case Failed:
		attributes = append(attributes, slog.Duration("elapsed", e.Elapsed))
	case Granted, Ended:
		attributes = append(attributes, slog.Int64("token", e.Token),
			slog.Duration("elapsed", e.Elapsed))
	}
	if e.Err != nil {
		if e.Kind != Failed {
			level = slog.LevelWarn // The caller gets the error of a failed call.
		}
		attributes = append(attributes, slog.Any("error", e.Err))
	}
	o.logger.LogAttrs(e.Context, level, "lock "+string(e.Kind), attributes...)
}
