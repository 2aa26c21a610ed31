package simzk

import (
	"cmp"
	"slices"
)

// A WatchInfo describes a watch.
type WatchInfo struct {
	Server   int   // the server that keeps it
	Session  int64 // of the client that set it
	Path     string
	Children bool // on children, not on data or existence
}

// WatchList returns all watches, by path and then in order of registration.
func (c *Cluster) WatchList() []WatchInfo {
	var list []*watch
	for _, table := range [...]map[string][]*watch{c.watches.data, c.watches.child} {
		for _, watches := range table {
			list = append(list, watches...)
		}
	}
	slices.SortFunc(list, func(a, b *watch) int {
		return cmp.Or(cmp.Compare(a.path, b.path),
			compareWatches(a, b))
	})
	infos := make([]WatchInfo, len(list))
	for i, w := range list {
		infos[i] = WatchInfo{Server: w.link.server, Path: w.path, Children: w.kind == childWatch}
		if w.link.session != nil {
			infos[i].Session = w.link.session.id
		}
	}
	return infos
}
