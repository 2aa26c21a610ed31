package tree

import (
	"maps"
	"slices"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A NodeInfo describes a znode.
type NodeInfo struct {
	Path string
	Data []byte // must not be changed
	Stat wire.Stat
}

// NodeList returns all znodes by path, whatever their ACLs allow.
func (t *Tree) NodeList() []NodeInfo {
	var list []NodeInfo
	for _, path := range slices.Sorted(maps.Keys(t.nodes)) {
		if path != rootAliasPath {
			n := t.nodes[path]
			list = append(list, NodeInfo{Path: path, Data: n.data, Stat: n.clientStat()})
		}
	}
	return list
}
