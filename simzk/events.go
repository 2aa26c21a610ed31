package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// publish records the changes of a write, and fires the watches that they trigger at one server, or
// everywhere.
func (c *Cluster) publish(changes []tree.Change, process int32, zxid int64, at int) {
	for i := range changes {
		change := &changes[i]
		c.record(history.Event{
			At: c.now, Kind: kindOf(change.Op), Process: process, Path: change.Path, Zxid: zxid,
			Session: change.Owner, Server: c.serverNumber(max(c.leader, 0)),
		})
		c.fireChange(change, at, zxid)
	}
}

// kindOf returns the kind of event for a change.
func kindOf(op wire.Op) history.Kind {
	switch op {
	case wire.OpCreate:
		return history.NodeCreated
	case wire.OpDelete:
		return history.NodeDeleted
	}
	return history.NodeChanged
}

// fireChanges fires the watches that changes trigger at a server.
func (c *Cluster) fireChanges(changes []tree.Change, at int, zxid int64) {
	for i := range changes {
		c.fireChange(&changes[i], at, zxid)
	}
}

// fireChange fires the watches of the node first, then its parent's.
func (c *Cluster) fireChange(change *tree.Change, at int, zxid int64) {
	path := change.Path
	switch change.Op {
	case wire.OpCreate:
		c.queueEvents(wire.EventCreated, path, change.ACL, zxid, c.watches.trigger(dataWatch, path,
			wire.EventCreated, at))
	case wire.OpDelete:
		c.queueEvents(wire.EventDeleted, path, change.ACL, zxid,
			append(c.watches.trigger(dataWatch, path, wire.EventDeleted, at),
				c.watches.trigger(childWatch, path, wire.EventDeleted, at)...))
	case wire.OpSetData:
		c.queueEvents(wire.EventDataChanged, path, change.ACL, zxid, c.watches.trigger(dataWatch,
			path,
			wire.EventDataChanged, at))
		return
	}
	parent := tree.Parent(path)
	c.queueEvents(wire.EventChildrenChanged, parent, change.ParentACL, zxid,
		c.watches.trigger(childWatch, parent, wire.EventChildrenChanged, at))
}

// queueEvents queues one event for each connection among the watches: a connection with both a data
// and a child watch on a deleted node receives one event. A connection without read permission
// receives none, and its watch is removed all the same (CVE-2024-23944).
func (c *Cluster) queueEvents(event wire.EventType, path string, acl []wire.ACL, zxid int64,
	watches []*watch,
) {
	for i, w := range watches {
		readable := tree.Readable(acl, w.link.identities)
		fired := watches[i : i+1 : i+1]
		switch {
		case w.mode != oneShot:
			fired = nil // Histories contain one-shot watches only.
		case readable:
			c.record(history.Event{
				At: c.now, Kind: history.WatchFired, Process: w.owner(),
				Connection: w.link.connection, Watch: w.number,
				Path: path, Zxid: zxid, Name: eventName(event),
			})
		default:
			c.recordWatchesGone(w.link, fired)
		}
		first := slices.IndexFunc(watches, func(other *watch) bool { return other.link == w.link })
		if !readable || w.link.crashed.Load() {
			// A request served after the process's crash has set the watch.
			continue
		}
		if first < i {
			last := &w.link.toClient[len(w.link.toClient)-1]
			last.watches = append(last.watches, fired...)
			continue
		}
		w.link.post(Message{Event: event, Path: path, Zxid: zxid, watches: fired})
	}
}
