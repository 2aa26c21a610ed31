package tree

import "github.com/interlock-sim/interlock/simzk/wire"

// Configure replaces the data of /zookeeper/config. It uses the Data, Zxid, TimeMillis and
// Identities of the write. The node's version stays -1, as in ZooKeeper.
func (t *Tree) Configure(w *Write) Result {
	n := t.nodes[configPath]
	t.touch()
	t.changes = t.changes[:0]
	if !permitted(n.acl, w.Identities, wire.PermWrite) {
		return Result{Code: wire.NoAuth}
	}
	n.data, n.stat.DataLength = w.Data, int32(len(w.Data))
	n.stat.Version, n.stat.Mzxid, n.stat.Mtime = -1, w.Zxid, w.TimeMillis
	t.rehash(configPath, n)
	t.changes = append(t.changes, Change{Op: wire.OpSetData, Path: configPath, ACL: n.acl})
	return Result{Path: configPath, Stat: n.clientStat(), Data: n.data}
}
