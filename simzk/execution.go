package simzk

import (
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An execution is the [operation.Server] that executes a request.
type execution struct {
	cluster *Cluster
	link    *Link
	number  int32 // of the request
	maker   int32 // the process or the thread that makes the request
	write   bool  // the request is a write
}

// Tree returns the znodes as the connection's server sees them, or for a write the leader.
func (e *execution) Tree() *tree.Tree {
	if e.write {
		return e.cluster.tree
	}
	return e.cluster.treeOf(e.link)
}

// Since39 reports whether the server behaves like release 3.9.
func (e *execution) Since39() bool { return e.cluster.config.Version >= V39 }

// Session returns the id of the connection's session.
func (e *execution) Session() int64 { return e.link.session.id }

// Identities returns the identities of the client.
func (e *execution) Identities() []wire.Identity { return e.link.identities }

// Authenticate adds an identity.
func (e *execution) Authenticate(id wire.Identity) {
	if id.Scheme == "digest" && id.ID == e.cluster.config.SuperDigest {
		e.link.authenticate(tree.Super)
	}
	e.link.authenticate(id)
}

// Commit proposes a write.
func (e *execution) Commit(r *wire.Request) tree.Result {
	c, l := e.cluster, e.link
	if !e.write {
		panic("simzk: an operation that is not a write commits")
	}
	w := tree.Write{
		Op: r.Op, Zxid: c.zxid, TimeMillis: c.millis(), Session: l.session.id,
		Identities: l.identities,
		Path:       r.Path, Data: r.Data, ACL: r.ACL, Flags: r.Flags, Version: r.Version,
		TTLMillis: r.TTLMillis, Ops: r.Ops, NoEphemerals: c.ephemeralsRefused(l, r),
	}
	if _, lives := c.findSession(l.session.id); !lives {
		return tree.Result{Code: wire.SessionExpired} // The client's server does not know that yet.
	}
	result := c.tree.Apply(&w)
	c.proposeWrite(&w, e.maker)
	return result
}

// Reconfigure changes the members of the ensemble.
func (e *execution) Reconfigure(r *wire.Reconfig) operation.Answer {
	return e.cluster.reconfigure(e.link, r)
}

// WatchData sets a one-shot watch on a node's data.
func (e *execution) WatchData(path string) { e.arm(dataWatch, path) }

// WatchCreation sets a one-shot watch on a node's creation.
func (e *execution) WatchCreation(path string) { e.arm(existWatch, path) }

// WatchChildren sets a one-shot watch on a node's children.
func (e *execution) WatchChildren(path string) { e.arm(childWatch, path) }

func (e *execution) arm(kind watchKind, path string) {
	e.cluster.armWatch(e.link, e.number, kind, path)
}

// AddWatch sets a persistent watch.
func (e *execution) AddWatch(path string, descendants bool) wire.Code {
	mode := persistent
	if descendants {
		mode = recursive
	}
	return e.cluster.armPersistent(e.link, path, mode)
}

// RemoveWatches removes or checks watches.
func (e *execution) RemoveWatches(r *wire.Request) wire.Code {
	return e.cluster.removeWatches(e.link, r)
}

// SetWatches takes over a client's watches.
func (e *execution) SetWatches(w *wire.Watches) wire.Code { return e.cluster.setWatches(e.link, w) }
