package model

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// addWatcher registers at the client the watch that a request has set at the server.
func (c *Conn) addWatcher(r *call) {
	w := watchKey{path: r.Path, kind: dataWatcher}
	switch {
	case r.Op == wire.OpExists && r.Result.Code == wire.NoNode:
		w.kind = existWatcher
	case r.Result.Code != wire.OK:
		return
	case r.Op == wire.OpGetChildren2:
		w.kind = childWatcher
	}
	c.keyCache.valid = false
	var events watchChannel
	if stub := c.stub; stub != nil {
		events.number = stub.newChannel()
		r.watch = events.number
	} else {
		events.channel = make(chan zk.Event, 1)
		r.events = events.channel
	}
	for i := range c.watchers {
		if c.watchers[i].watchKey == w {
			c.watchers[i].channels = append(c.watchers[i].channels, events)
			return
		}
	}
	c.watchers = append(c.watchers, watcher{
		watchKey: w, hash: xxhash.Sum64String(w.path),
		channels: append(c.channels.Next(watcherArenaSize)[:0], events),
	})
}

// handleEvent delivers a watch event to all its watchers.
func (c *Conn) handleEvent(m simzk.Message) {
	event := zk.Event{Type: zk.EventType(m.Event), State: zk.StateSyncConnected, Path: m.Path}
	c.emit(event)
	c.fireWatchers(event, func(w watchKey) bool {
		if w.path != m.Path {
			return false
		}
		switch m.Event {
		case wire.EventCreated:
			return w.kind == existWatcher
		case wire.EventDataChanged:
			return w.kind != childWatcher
		case wire.EventChildrenChanged:
			return w.kind == childWatcher
		}
		return true
	})
}

// fireWatchers sends the event to the channels of the matching watchers, closes the channels and
// removes the watchers.
func (c *Conn) fireWatchers(event zk.Event, matches func(watchKey) bool) {
	var buf [4]watcher
	fired := buf[:0]
	c.keyCache.valid = false
	c.watchers = slices.DeleteFunc(c.watchers, func(w watcher) bool {
		if matches(w.watchKey) {
			fired = append(fired, w)
			return true
		}
		return false
	})
	first := true
	for _, w := range fired {
		event.Path = w.path
		for _, events := range w.channels {
			if !first {
				c.cluster.Settle()
			}
			first = false
			c.fireChannel(events, event)
		}
	}
}

// fireChannel sends the single event of a watch.
func (c *Conn) fireChannel(events watchChannel, event zk.Event) {
	c.cluster.MarkWoken()
	if stub := c.stub; stub != nil {
		stub.fireChannel(events.number, event)
		return
	}
	events.channel <- event
	close(events.channel)
}

// rearm sends SetWatches for the watches that are still pending. The request queues behind those of
// the process, so a read can return a change before the change's watch event arrives; see
// docs/fidelity.md. A client that is closing may or may not send it; this one does not.
func (c *Conn) rearm() {
	switch {
	case len(c.watchers) == 0 || c.closed.Load():
		c.rearmTiming = rearmOnSession
	case c.rearmTiming == rearmNextLate && c.hasUnsentCall():
		c.rearmTiming = rearmAfterReply
	default:
		c.rearmTiming = rearmOnSession
		c.send(&call{Exchange: simzk.Exchange{Request: wire.Request{
			Op:      wire.OpSetWatches,
			Watches: c.pendingWatches(),
		}}})
	}
}

// CanDelayWatches reports whether [DelayWatches] applies to a client and has an effect: it is a
// model client that is reconnecting to its session and has both watches and waiting calls.
func CanDelayWatches(l *simzk.Link) bool {
	e, ok := l.End().(end)
	return ok && !l.Crashed() && e.conn.canDelayWatches()
}

// DelayWatches makes a model client send SetWatches too late at its next reconnect. go-zookeeper/zk
// sends it from a goroutine that reads the client's last zxid, possibly after the reply to a call
// that waited for the connection has raised it (https://github.com/go-zookeeper/zk/pull/35). The
// server then treats earlier changes as known to the client, and sends no event for them.
func DelayWatches(l *simzk.Link) { l.End().(end).conn.rearmTiming = rearmNextLate }

func (c *Conn) canDelayWatches() bool {
	return (c.phase == library.Dialing || c.phase == library.Connecting) &&
		c.rearmTiming == rearmOnSession &&
		c.SessionID() != 0 &&
		len(c.watchers) > 0 && c.hasUnsentCall() && !c.closing
}

// pendingWatches returns the watches that the client waits for, in canonical order.
func (c *Conn) pendingWatches() *wire.Watches {
	all := &wire.Watches{RelativeZxid: c.lastZxid}
	for _, w := range c.watchers {
		switch w.kind {
		case dataWatcher:
			all.Data = append(all.Data, w.path)
		case existWatcher:
			all.Exist = append(all.Exist, w.path)
		case childWatcher:
			all.Child = append(all.Child, w.path)
		}
	}
	library.SortWatches(all)
	return all
}

// invalidateWatches tells all watchers that their watch will not fire, in order of path. The real
// client iterates over a map.
func (c *Conn) invalidateWatches(err error) {
	slices.SortStableFunc(c.watchers,
		func(a, b watcher) int { return strings.Compare(a.path, b.path) })
	for _, w := range c.watchers {
		c.cluster.Record(c.Link, history.Event{
			Kind: history.WatchEvent, Path: w.path, Name: library.NotWatching, Err: err.Error(),
		})
		c.emit(zk.Event{
			Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: w.path,
			Err: err,
		})
	}
	c.fireWatchers(zk.Event{Type: zk.EventNotWatching, State: zk.StateDisconnected, Err: err},
		func(watchKey) bool { return true })
	c.cluster.Settle()
}
