package real

import (
	"cmp"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
)

// onEvent is called by the client's goroutines.
func (r *Conn) onEvent(e zk.Event) {
	if e.Type != zk.EventSession && e.Type != zk.EventNotWatching {
		return // The history records watch events at their delivery.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessionEvents = append(r.sessionEvents, e)
}

// settle lets the client settle and records its session events.
func (r *Conn) settle() {
	r.cluster.Settle()
	r.recordEvents()
}

// recordEvents appends the client's new session events to the history.
func (r *Conn) recordEvents() {
	r.mu.Lock()
	events := r.sessionEvents
	r.sessionEvents = nil
	r.mu.Unlock()
	// On expiry, the client iterates over a map of watches.
	for i := 0; i < len(events); i++ {
		j := i
		for j < len(events) && events[j].Type == zk.EventNotWatching {
			j++
		}
		slices.SortFunc(events[i:j],
			func(a, b zk.Event) int { return cmp.Compare(a.Path, b.Path) })
		i = max(i, j-1)
	}
	for _, e := range events {
		r.recordEvent(e)
	}
}

// recordEvent appends a session event to the history.
func (r *Conn) recordEvent(e zk.Event) {
	c := r.cluster
	if e.Type == zk.EventNotWatching {
		c.Record(r.link, history.Event{
			Kind: history.WatchEvent, Path: e.Path, Name: library.NotWatching, Err: e.Err.Error(),
		})
		return
	}
	session := r.zk.SessionID()
	c.Record(r.link, history.Event{
		Kind: history.SessionState, Name: stateNames[e.State], Session: session,
	})
	r.receivedHash = hash64.Mix(r.receivedHash, uint64(e.State))
	if e.State == zk.StateDisconnected {
		r.receivedHash = hash64.Mix(r.receivedHash, uint64(c.Now())) // As [model.Conn] does.
		r.failInFlight()
	}
	r.state = e.State
}

// stateNames are the names of session states in histories.
var stateNames = map[zk.State]string{
	zk.StateDisconnected: "disconnected", zk.StateConnecting: "connecting",
	zk.StateConnected:  "connected",
	zk.StateHasSession: "has-session", zk.StateExpired: "expired",
}
