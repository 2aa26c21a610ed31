package lock

import (
	"context"
	"log/slog"
	"time"
)

// An Observer is told what becomes of a lock's contenders. It is what metrics and traces hang on.
// Observe is called by the goroutine that does what the event says, and holds it up; it must not
// call the lock, nor panic: most of those goroutines are the lock's own, where nobody can recover.
// Goroutines of several contenders call it at the same time.
type Observer interface {
	Observe(Event)
}

// An Event is something that became of a contender.
type Event struct {
	Kind EventKind
	Path string // of the lock
	Node string // the contender's, empty while it has none

	// Context is that of the call that sent the contender, with its values but without its end.
	// Traces find their parent there.
	Context context.Context

	Token int64 // of Granted, Ended and Revoked
	// of Waiting: how many contenders it waits for, 0 where it has not looked for more than the
	// nearest: see [Mutex.Lock]
	Ahead int
	// of Granted and Failed: since Lock was called; of Ended: since the lock was granted
	Elapsed time.Duration
	// of Retried and Abandoned: what failed; of Failed: why; of Ended: why the lock was lost, nil
	// if it was unlocked
	Err error
}

// An EventKind says what became of a contender.
type EventKind string

// The kinds of events, in the order in which they mostly happen.
const (
	Queued  EventKind = "queued"  // its node was made
	Waiting EventKind = "waiting" // it waits, having looked for those before it
	Granted EventKind = "granted" // it has its turn
	// it will not have its turn: it was cancelled or refused, or tried in vain
	Failed    EventKind = "failed"
	Revoked   EventKind = "revoked"   // somebody has asked for the lock
	Ended     EventKind = "ended"     // the lock was unlocked or lost
	Retried   EventKind = "retried"   // a request failed and is tried again
	Removed   EventKind = "removed"   // its node is gone
	Abandoned EventKind = "abandoned" // its node could not be removed
)

// observe tells the observers of an event.
func (c *contender) observe(e Event) {
	if len(c.observers) == 0 {
		return
	}
	e.Path, e.Node, e.Context = c.path, c.node, c.ctx
	for _, o := range c.observers {
		o.Observe(e)
	}
}

// A logObserver writes events into a log.
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
			level = slog.LevelWarn // A call that fails tells its caller.
		}
		attributes = append(attributes, slog.Any("error", e.Err))
	}
	o.logger.LogAttrs(e.Context, level, "lock "+string(e.Kind), attributes...)
}
