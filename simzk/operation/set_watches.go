package operation

import "github.com/interlock-sim/interlock/simzk/wire"

// The requests by which a reconnected client hands over its watches. The second one has persistent
// watches too.
var (
	setWatches = Operation{
		Op: wire.OpSetWatches, Name: "setWatches", Verb: "set-watches", Cons: "SETW",
		Xid:     wire.XidSetWatches,
		Codec:   wire.Codec{Request: []wire.Field{wire.FieldWatches}},
		Execute: executeSetWatches,
		Case:    RandomSetWatches, Weight: 3,
	}
	setWatches2 = Operation{
		Op: wire.OpSetWatches2, Name: "setWatches2", Verb: "set-watches", Cons: "STW2",
		Xid:     wire.XidSetWatches,
		Codec:   wire.Codec{Request: []wire.Field{wire.FieldAllWatches}},
		Execute: executeSetWatches,
	}
)

func executeSetWatches(s Server, r *wire.Request) Answer {
	return withCode(s.SetWatches(r.Watches))
}

// RandomSetWatches returns the request that a client sends after a reconnect. Clients with watches
// also send it.
func RandomSetWatches(g Generator) *wire.Request {
	paths := func(choose func() string) []string {
		var list []string
		for range g.IntN(4) {
			list = append(list, choose())
		}
		return list
	}
	r := &wire.Request{Op: wire.OpSetWatches, Watches: &wire.Watches{
		RelativeZxid: -g.Int64N(30),
		Data:         paths(g.PathOrNull), Exist: paths(g.PathOrNull), Child: paths(g.PathOrNull),
	}}
	if percent(g, 50) {
		r.Op, r.Watches.Persistent, r.Watches.Recursive = wire.OpSetWatches2, paths(g.Path),
			paths(g.Path)
	}
	return r
}
