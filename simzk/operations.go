package simzk

import (
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// Serve makes the server handle the oldest request from the client: it commits the change, queues
// the watch events that the change triggers, and then the reply. It panics if there is no request;
// see [Link.Servable].
func (c *Cluster) Serve(l *Link) {
	r := l.toServer[0]
	l.toServer = slices.Delete(l.toServer, 0, 1)
	if s := l.session; s != nil && (s.link == l || l.crashed.Load()) {
		c.touchSession(s, l)
	}
	switch {
	case r.Op == wire.OpCreateSession && !r.reopens:
		c.serveConnect(l, r)
	case l.session == nil:
		// An earlier request closed the session, or it has expired: the server does not reply.
	case r.Op == wire.OpCreateSession:
		c.serveReopen(l, r)
	case r.Op == wire.OpCloseSession:
		c.serveClose(l, r)
	case writes(r.Op) && l.session.link != l && !l.crashed.Load():
		// The session has moved to another connection: the leader rejects the write, and the
		// client's server closes the connection without a reply (ZOOKEEPER-710).
		c.zxid++
		c.closeConnection(l)
	default:
		c.handle(l, r)
	}
}

// handle executes a request and replies, unless the server would not.
func (c *Cluster) handle(l *Link, r *request) {
	result, after := c.execute(l, r)
	r.result = result
	if after == sendReply || after == replyAndClose {
		c.respond(l, r)
	}
	if after == replyAndClose || after == closeOnly {
		l.post(message{})
	}
}

// A connAction says how the server finishes a request.
type connAction uint8

const (
	sendReply connAction = iota
	replyAndClose
	closeOnly
	noReply // the connection stays open
)

// postReply sends a reply. The reply to CloseSession ends the connection's session and its watches.
func (c *Cluster) postReply(l *Link, r *request) {
	if r.Op == wire.OpCloseSession {
		l.session = nil
		c.recordWatchesGone(l, c.watches.drop(l))
	}
	c.record(history.Event{
		At: c.now, Kind: history.Serve, Process: l.process, Request: r.number,
		Op: r.verb(), Path: r.Path, Zxid: r.zxid, Err: r.result.Code.String(),
	})
	l.post(message{reply: r, zxid: r.zxid})
	for _, m := range l.heldEvents {
		l.post(m)
	}
	l.heldEvents = l.heldEvents[:0]
}

// writes reports whether an operation is a write, which the leader proposes to the ensemble.
func writes(op wire.Op) bool {
	switch op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL, wire.OpDelete,
		wire.OpSetData, wire.OpSetACL,
		wire.OpCheck, wire.OpMulti, wire.OpReconfig, wire.OpDeleteContainer:
		return true
	}
	return false
}

func failure(code wire.Code) (tree.Result, connAction) { return tree.Result{Code: code}, sendReply }

func (c *Cluster) execute(l *Link, r *request) (tree.Result, connAction) {
	switch {
	case r.Op == wire.OpCheck && c.config.Version >= V39, !implemented(r.Op):
		return tree.Result{Code: wire.Unimplemented}, replyAndClose
	case r.Op == wire.OpSASL && (r.malformed || r.Data == nil), r.Op == wire.OpAuth && r.malformed:
		// The server decodes these on arrival, and closes the connection on an error.
		return tree.Result{}, closeOnly
	case r.malformed && (r.Op == wire.OpReconfig || !writes(r.Op)):
		return failure(wire.MarshallingError)
	case writes(r.Op):
		return c.commit(l, r)
	}
	switch r.Op {
	case wire.OpGetData, wire.OpExists, wire.OpGetChildren, wire.OpGetChildren2:
		return c.read(l, r), sendReply
	case wire.OpSetWatches, wire.OpSetWatches2, wire.OpAddWatch, wire.OpRemoveWatches,
		wire.OpCheckWatches:
		return tree.Result{Code: c.manageWatches(l, r)}, sendReply
	case wire.OpAuth:
		return c.authenticate(l, r)
	}
	return c.readOther(l, r), sendReply
}

// implemented reports whether the server implements a request type. A server without SASL answers
// SASL requests without a token.
func implemented(op wire.Op) bool {
	switch op {
	case wire.OpPing, wire.OpSync, wire.OpGetData, wire.OpExists, wire.OpGetChildren,
		wire.OpGetChildren2, wire.OpGetACL,
		wire.OpGetEphemerals, wire.OpGetAllChildrenNumber, wire.OpWhoAmI, wire.OpMultiRead,
		wire.OpSetWatches,
		wire.OpSetWatches2, wire.OpAddWatch, wire.OpRemoveWatches, wire.OpCheckWatches, wire.OpAuth,
		wire.OpSASL:
		return true
	}
	return writes(op)
}

// read answers a read of one node and sets the requested watch.
func (c *Cluster) read(l *Link, r *request) tree.Result {
	switch r.Op {
	case wire.OpGetData:
		result := c.treeOf(l).Get(r.Path, l.identities)
		if r.Watch && result.Code == wire.OK {
			c.armWatch(l, r.number, dataWatch, r.Path)
		}
		return result
	case wire.OpExists:
		return c.exists(l, r)
	}
	result := c.treeOf(l).Children(r.Path, l.identities)
	if r.Watch && result.Code == wire.OK {
		c.armWatch(l, r.number, childWatch, r.Path)
	}
	return result
}

func (c *Cluster) exists(l *Link, r *request) tree.Result {
	if strings.IndexByte(r.Path, 0) >= 0 {
		return tree.Result{Code: wire.BadArguments}
	}
	result := c.treeOf(l).Exists(r.Path, l.identities)
	switch {
	case !r.Watch:
	case result.Code == wire.OK:
		c.armWatch(l, r.number, dataWatch, r.Path)
	case result.Code == wire.NoNode:
		c.armWatch(l, r.number, existWatch, r.Path)
	}
	return result
}

// readOther answers all other requests that change nothing.
func (c *Cluster) readOther(l *Link, r *request) (result tree.Result) {
	switch r.Op {
	case wire.OpSync:
		// [Cluster.respond] does the waiting.
		result.Path = r.Path
	case wire.OpGetACL:
		result = c.treeOf(l).ACL(r.Path, l.identities)
	case wire.OpGetAllChildrenNumber:
		var count int
		count, result.Code = c.treeOf(l).Descendants(r.Path, l.identities)
		r.count = int32(count)
	case wire.OpGetEphemerals:
		for _, path := range c.treeOf(l).Ephemerals(l.session.id) {
			if all := strings.TrimSpace(r.Path); all == "" || all == "/" || all == wire.Null ||
				strings.HasPrefix(path, r.Path) {
				result.Children = append(result.Children, path)
			}
		}
	case wire.OpWhoAmI:
		for _, id := range l.identities {
			user := id.ID
			if id.Scheme == "digest" {
				user, _, _ = strings.Cut(id.ID, ":")
			}
			r.identities = append(r.identities, wire.Identity{Scheme: id.Scheme, ID: user})
		}
	case wire.OpMultiRead:
		return c.multiRead(l, r)
	}
	return result
}

func (c *Cluster) multiRead(l *Link, r *request) tree.Result {
	results := make([]wire.Result, len(r.Ops))
	for i := range r.Ops {
		one := &request{Request: r.Ops[i], number: r.number}
		if one.Op != wire.OpGetData && one.Op != wire.OpGetChildren || one.Path == wire.Null {
			return tree.Result{Code: wire.MarshallingError, Results: results[:i]}
		}
		got := c.read(l, one)
		if results[i] = (wire.Result{Op: wire.OpError, Code: got.Code}); got.Code == wire.OK {
			results[i] = wire.Result{
				Op: one.Op, Data: got.Data, Stat: got.Stat,
				Children: got.Children,
			}
		}
	}
	return tree.Result{Results: results}
}

// authenticate adds the client's claimed identity. Only digests need proof, and the proof is the
// digest itself.
func (c *Cluster) authenticate(l *Link, r *request) (tree.Result, connAction) {
	switch {
	case r.Scheme == "digest" && r.Data != nil:
		credentials := wire.Text(r.Data)
		user, _, _ := strings.Cut(credentials, ":")
		sum := sha1.Sum([]byte(credentials))
		id := user + ":" + base64.StdEncoding.EncodeToString(sum[:])
		if id == c.config.SuperDigest {
			l.authenticate(tree.Super)
		}
		l.authenticate(wire.Identity{Scheme: "digest", ID: id})
	case r.Scheme == "ip":
	default:
		return tree.Result{Code: wire.AuthFailed}, replyAndClose
	}
	return tree.Result{}, sendReply
}

// commit executes a write. As in ZooKeeper, a failed write consumes a zxid too.
func (c *Cluster) commit(l *Link, r *request) (tree.Result, connAction) {
	c.zxid++
	switch {
	case r.malformed:
		return failure(wire.MarshallingError)
	case r.Op == wire.OpReconfig:
		return c.reconfigure(l, r)
	case r.Op == wire.OpDeleteContainer:
		// The server decodes the whole frame as the path, which is therefore invalid.
		return failure(wire.BadArguments)
	}
	w := tree.Write{
		Op: r.Op, Zxid: c.zxid, TimeMillis: c.millis(), Session: l.session.id,
		Identities: l.identities,
		Path:       r.Path, Data: r.Data, ACL: r.ACL, Flags: r.Flags, Version: r.Version,
		TTLMillis: r.TTLMillis, Ops: r.Ops,
	}
	if _, lives := c.findSession(l.session.id); !lives {
		return failure(wire.SessionExpired) // The client's server does not know that yet.
	}
	if c.mutation == losesWrites && r.Op == wire.OpCreate && c.zxid%4 == 0 {
		return tree.Result{Path: r.Path}, sendReply
	}
	result := c.tree.Apply(&w)
	c.proposeWrite(&w, l.process)
	if c.mutation == repeatsWrites && r.Op == wire.OpCreate {
		c.zxid++
		w.Zxid = c.zxid
		result = c.tree.Apply(&w)
		c.proposeWrite(&w, l.process)
	}
	switch {
	case r.Op == wire.OpMulti:
		c.finishMulti(&result)
	case r.Op == wire.OpCheck && result.Code == wire.OK:
		return result, noReply // A 3.8 server fails to encode the reply to a successful check.
	}
	return result, sendReply
}

// finishMulti converts the results of a multi for the reply. Errors are in the results; the reply
// itself has an error code only if there are no results.
func (c *Cluster) finishMulti(result *tree.Result) {
	if len(result.Results) > 0 {
		result.Code = wire.OK
	}
	for i := range result.Results {
		switch one := &result.Results[i]; one.Op {
		case wire.OpCreate2:
			if c.config.Version < V39 {
				one.Op = wire.OpCreate
			}
		case wire.OpCreateContainer, wire.OpCreateTTL:
			one.Op = wire.OpCreate2
		}
	}
}

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
				At: c.now, Kind: history.WatchFired, Process: w.link.process, Watch: w.number,
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
		c.postEvent(w, message{event: event, path: path, zxid: zxid, watches: fired})
	}
}

// postEvent sends a watch's event, subject to the cluster's mutation.
func (c *Cluster) postEvent(w *watch, m message) {
	switch {
	case c.mutation == losesEvents && w.number%2 == 0:
	case c.mutation == delaysEvents:
		w.link.heldEvents = append(w.link.heldEvents, m)
	default:
		w.link.post(m)
	}
	if c.mutation == firesTwice && w.mode == oneShot {
		c.watches.arm(w)
	}
}

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
	c.record(history.Event{
		At: c.now, Kind: history.WatchArmed, Process: l.process, Request: request,
		Watch: c.lastWatch, Path: path, Name: kind.String(), Session: l.session.id,
		Server: c.serverNumber(l.server),
		Zxid:   c.armedAt(l.server),
	})
	w := c.watchArena.next(watchArenaSize)
	w.number, w.link, w.path, w.kind = c.lastWatch, l, path, kind
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

// manageWatches handles the requests that only manage watches.
func (c *Cluster) manageWatches(l *Link, r *request) wire.Code {
	switch r.Op {
	case wire.OpSetWatches, wire.OpSetWatches2:
		return c.setWatches(l, r)
	case wire.OpAddWatch:
		if r.Mode != wire.PersistentWatch && r.Mode != wire.RecursiveWatch {
			return wire.MarshallingError
		}
		return c.armPersistent(l, r.Path, persistent+watchMode(r.Mode))
	case wire.OpRemoveWatches, wire.OpCheckWatches:
		return c.removeWatches(l, r)
	}
	return wire.OK
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

func (c *Cluster) removeWatches(l *Link, r *request) wire.Code {
	if r.Mode < wire.ChildrenWatcher || r.Mode > wire.AnyWatcher {
		return wire.MarshallingError
	}
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
			found = found || c.watches.watched(kind, r.Path)
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
func (c *Cluster) setWatches(l *Link, r *request) wire.Code {
	relative := r.Watches.RelativeZxid
	if c.mutation == losesMissedEvents {
		relative = c.zxid
	}
	for kind, paths := range [...][]string{
		dataWatch: r.Watches.Data, existWatch: r.Watches.Exist,
		childWatch: r.Watches.Child,
	} {
		for _, path := range paths {
			if path == wire.Null {
				return wire.MarshallingError
			}
			c.setOrReplay(l, watchKind(kind), path, relative)
		}
	}
	for mode, paths := range [...][]string{
		persistent: r.Watches.Persistent,
		recursive:  r.Watches.Recursive,
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
	case !exists && kind != existWatch && c.mutation == losesMissedEvents:
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
