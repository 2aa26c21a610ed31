package tree

import "github.com/interlock-sim/interlock/simzk/wire"

func (t *Tree) setData(w *Write) Result {
	n, code := t.nodeForUpdate(w.Path, w.Identities, wire.PermWrite)
	switch {
	case code != wire.OK:
		return Result{Code: code}
	case w.Version != -1 && w.Version != n.stat.Version:
		return Result{Code: wire.BadVersion}
	}
	t.logNode(w.Path)
	grown := len(w.Data) - len(n.data)
	n.data = w.Data
	n.stat.DataLength = int32(len(w.Data))
	n.stat.Version++
	n.stat.Mzxid = w.Zxid
	n.stat.Mtime = w.TimeMillis
	t.rehash(w.Path, n)
	t.changes = append(t.changes, Change{
		Op: wire.OpSetData, Path: w.Path,
		Owner: n.stat.EphemeralOwner, ACL: n.acl,
	})
	stat := n.clientStat()
	t.countSize(w.Path, 0, grown)
	return Result{Path: w.Path, Stat: stat}
}

func (t *Tree) check(w *Write) Result {
	n, code := t.nodeForUpdate(w.Path, w.Identities, wire.PermRead)
	switch {
	case code != wire.OK:
		return Result{Code: code}
	case w.Version != -1 && w.Version != n.stat.Version:
		return Result{Code: wire.BadVersion}
	}
	return Result{Path: w.Path, Stat: n.clientStat()}
}
