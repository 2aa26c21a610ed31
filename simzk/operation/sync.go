package operation

import (
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// sync returns the path. A server delays the reply until it has applied all transactions.
var sync = Operation{
	Op: wire.OpSync, Name: "sync", Cons: "SYNC",
	Methods: []string{"Sync"},
	Codec:   wire.Codec{Request: pathRequest, Reply: []wire.Field{wire.FieldPath}},
	Execute: func(_ Server, r *wire.Request) Answer {
		return Answer{Result: tree.Result{Path: r.Path}}
	},
	DropsStat: true,
	Case: func(g Generator) *wire.Request {
		return &wire.Request{Op: wire.OpSync, Path: g.PathOrNull()}
	},
	Weight: 2,
}
