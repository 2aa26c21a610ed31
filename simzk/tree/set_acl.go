package tree

import "github.com/interlock-sim/interlock/simzk/wire"

func (t *Tree) setACL(w *Write) Result {
	if !ValidPath(w.Path, false) {
		return Result{Code: wire.BadArguments}
	}
	acl, code := t.fixACL(w.ACL, w.Identities)
	if code != wire.OK {
		return Result{Code: code}
	}
	n, code := t.nodeForUpdate(w.Path, w.Identities, wire.PermAdmin)
	switch {
	case code != wire.OK:
		return Result{Code: code}
	case w.Version != -1 && w.Version != n.stat.Aversion:
		return Result{Code: wire.BadVersion}
	}
	n.acl = acl
	n.stat.Aversion++
	t.rehash(w.Path, n)
	return Result{Path: w.Path, Stat: n.clientStat()}
}
