package simzk

import (
	"cmp"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
)

// onEvent is called by the client's goroutines.
func (r *RealConn) onEvent(e zk.Event) {
	if e.Type != zk.EventSession && e.Type != zk.EventNotWatching {
		return // The history records watch events at their delivery.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessionEvents = append(r.sessionEvents, e)
}

// settle lets the client settle and records its session events.
func (r *RealConn) settle() {
	r.link.cluster.config.Settle()
	r.recordEvents()
}

// recordEvents appends the client's new session events to the history.
func (r *RealConn) recordEvents() {
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
func (r *RealConn) recordEvent(e zk.Event) {
	c := r.link.cluster
	if e.Type == zk.EventNotWatching {
		c.record(history.Event{
			At: c.now, Kind: history.WatchEvent, Process: r.link.process, Path: e.Path,
			Name: eventName(eventNotWatching), Err: e.Err.Error(),
		})
		return
	}
	session := r.zk.SessionID()
	c.record(history.Event{
		At: c.now, Kind: history.SessionState, Process: r.link.process,
		Name: stateNames[e.State], Session: session,
	})
	r.receivedHash = mix(r.receivedHash, uint64(e.State))
	if e.State == zk.StateDisconnected {
		r.receivedHash = mix(r.receivedHash, uint64(c.now)) // As [Conn] does.
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
