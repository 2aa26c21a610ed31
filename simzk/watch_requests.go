package simzk

import (
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// armWatch sets a one-shot watch. If the connection already has a persistent watch on the path,
// servers before 3.9 turn that into a one-shot watch (ZOOKEEPER-4466).
func (c *Cluster) armWatch(l *Link, request int32, kind watchKind, path string) {
	old := c.watches.find(l, kind, path)
	if old == nil {
		c.watches.arm(c.registerWatch(l, request, kind, path))
	} else if old.persists() && c.config.Version < V39 {
		c.watches.setMode(old, oneShot)
	}
}

// registerWatch numbers a one-shot watch. The request is the one that sets the watch, or 0 for a
// watch that the client hands over.
func (c *Cluster) registerWatch(l *Link, request int32, kind watchKind, path string) *watch {
	c.lastWatch++
	maker := l.process
	if request != 0 {
		maker = c.execution.maker
	}
	c.record(history.Event{
		At: c.now, Kind: history.WatchArmed, Process: maker, Connection: l.connection,
		Request: request,
		Watch:   c.lastWatch, Path: path, Name: kind.String(), Session: l.session.id,
		Server: c.serverNumber(l.server),
		Zxid:   c.armedAt(l.server),
	})
	w := c.watchArena.Next(watchArenaSize)
	w.number, w.link, w.thread, w.path, w.kind = c.lastWatch, l, maker, path, kind
	return w
}

// armedAt returns the state in which a watch is armed, as histories record it: the server's last
// applied zxid, or 0 in an ensemble without lag.
func (c *Cluster) armedAt(server int) int64 {
	if !c.config.Lag {
		return 0
	}
	return c.zxidOf(server)
}

// armPersistent sets a persistent watch on data and children. On a null path that works once: the
// server fails if it finds such a watch.
func (c *Cluster) armPersistent(l *Link, path string, mode watchMode) wire.Code {
	for _, kind := range [...]watchKind{childWatch, dataWatch} {
		old := c.watches.find(l, kind, path)
		switch {
		case old != nil && path == wire.Null:
			return wire.MarshallingError
		case old != nil:
			c.watches.setMode(old, mode)
			continue
		}
		c.lastWatch++
		c.watches.arm(&watch{number: c.lastWatch, link: l, path: path, kind: kind, mode: mode})
	}
	return wire.OK
}

// removeWatches removes the connection's watches that a request names; a check of watches only
// looks for any connection's.
func (c *Cluster) removeWatches(l *Link, r *wire.Request) wire.Code {
	found := false
	for _, kind := range [...]watchKind{childWatch, dataWatch} {
		if r.Path == wire.Null && c.watches.find(l, kind, r.Path) != nil {
			// The server fails on the watch that it finds, and keeps it.
			return wire.MarshallingError
		}
		if r.Mode == wire.ChildrenWatcher && kind != childWatch || r.Mode == wire.DataWatcher &&
			kind != dataWatch {
			continue
		}
		if r.Op == wire.OpCheckWatches && r.Path != "" && !strings.Contains(r.Path, "/") {
			return wire.MarshallingError // The server fails to find the path's parent.
		}
		if r.Op == wire.OpCheckWatches {
			watched := c.watches.watched(kind, r.Path)
			if !watched && r.Path != "" && r.Path[0] != '/' &&
				c.watches.hasRecursive(kind, l.server) {
				return wire.MarshallingError // The server visits all parents, and finds no root.
			}
			found = found || watched
		} else if w := c.watches.remove(l, kind, r.Path); w != nil {
			c.recordWatchesGone(l, []*watch{w})
			found = true
		}
	}
	if !found {
		return wire.NoWatcher
	}
	return wire.OK
}

// setWatches handles SetWatches, by which a reconnected client hands over its pending watches.
// Events that it missed are sent now, as far as the tree shows them: a node that was created and
// deleted again leaves no trace (ZooKeeper programmer's guide, "Watches"). A watch that an earlier
// request of the connection has armed does not suppress these events. On a null path the request
// fails, unless the watch is persistent.
func (c *Cluster) setWatches(l *Link, w *wire.Watches) wire.Code {
	for kind, paths := range [...][]string{
		dataWatch: w.Data, existWatch: w.Exist,
		childWatch: w.Child,
	} {
		for _, path := range paths {
			if path == wire.Null {
				return wire.MarshallingError
			}
			c.setOrReplay(l, watchKind(kind), path, w.RelativeZxid)
		}
	}
	for mode, paths := range [...][]string{
		persistent: w.Persistent,
		recursive:  w.Recursive,
	} {
		for _, path := range paths {
			if code := c.armPersistent(l, path, watchMode(mode)); code != wire.OK {
				return code
			}
		}
	}
	return wire.OK
}

// setOrReplay sets a one-shot watch, or sends the event that the client has missed since a zxid.
func (c *Cluster) setOrReplay(l *Link, kind watchKind, path string, since int64) {
	stat, exists := c.treeOf(l).Stat(path)
	switch {
	case !exists && kind != existWatch:
		c.replayEvent(l, kind, path, wire.EventDeleted)
	case exists && kind == existWatch:
		c.replayEvent(l, kind, path, wire.EventCreated)
	case kind == dataWatch && stat.Mzxid > since:
		c.replayEvent(l, kind, path, wire.EventDataChanged)
	case kind == childWatch && stat.Pzxid > since:
		c.replayEvent(l, kind, path, wire.EventChildrenChanged)
	default:
		c.armWatch(l, 0, kind, path)
	}
}

// replayEvent sends a client an event that it missed.
func (c *Cluster) replayEvent(l *Link, kind watchKind, path string, event wire.EventType) {
	c.queueEvents(event, path, nil, c.zxidOf(l.server), []*watch{c.registerWatch(l, 0, kind, path)})
}
