package simzk

import (
	"cmp"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A WatchInfo describes a watch.
type WatchInfo struct {
	Server   int   // the server that keeps it
	Session  int64 // of the client that set it
	Path     string
	Children bool  // on children, not on data or existence
	Process  int   // that set it; 0 if the client is not a process of the run
	Number   int32 // unique in the run
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
		infos[i] = WatchInfo{
			Server: w.link.server, Path: w.path, Children: w.kind == childWatch,
			Process: w.link.Process(), Number: w.number,
		}
		if w.link.session != nil {
			infos[i].Session = w.link.session.id
		}
	}
	return infos
}

// ServerZxid returns the last transaction that a server has applied.
func (c *Cluster) ServerZxid(server int) int64 { return c.zxidOf(server) }

// Requests describes the requests that are sent and not yet served, the oldest first.
func (l *Link) Requests() []string {
	var texts []string
	for _, r := range l.toServer {
		texts = append(texts, DescribeRequest(&r.Request))
	}
	return texts
}

// Messages describes the messages from the server that are not yet delivered, the oldest first.
func (l *Link) Messages() []string {
	var texts []string
	for i := range l.toClient {
		switch m := &l.toClient[i]; {
		case m.Reply != nil:
			text := "reply to " + DescribeRequest(&m.Reply.Request)
			if m.Reply.Result.Code != wire.OK {
				text += ": " + m.Reply.Result.Code.String()
			}
			texts = append(texts, text)
		case m.Event != 0:
			texts = append(texts, "event "+m.Path+" "+eventName(m.Event))
		default:
			texts = append(texts, "end of the connection")
		}
	}
	return texts
}

// DescribeRequest returns the operation and the znode of a request.
func DescribeRequest(r *wire.Request) string {
	return strings.TrimRight(operation.Verb(r)+" "+r.Path, " ")
}
