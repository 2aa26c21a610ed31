package operation

import "github.com/interlock-sim/interlock/simzk/wire"

var (
	getACL = Operation{
		Op: wire.OpGetACL, Name: "getACL", Cons: "GETA",
		Methods: []string{"GetACL"},
		Codec: wire.Codec{
			Request: pathRequest,
			Reply:   []wire.Field{wire.FieldACL, wire.FieldStat},
		},
		Execute: func(s Server, r *wire.Request) Answer {
			return Answer{Result: s.Tree().ACL(r.Path, s.Identities())}
		},
		Case: func(g Generator) *wire.Request {
			return &wire.Request{Op: wire.OpGetACL, Path: g.PathOrNull()}
		},
		Weight: 3,
	}
	setACL = Operation{
		Op: wire.OpSetACL, Name: "setACL", Cons: "SETA",
		Methods: []string{"SetACL"},
		Codec: wire.Codec{
			Request: []wire.Field{wire.FieldPath, wire.FieldACL, wire.FieldVersion},
			Reply:   []wire.Field{wire.FieldStat},
		},
		Execute: commit, Write: true,
		Case: randomSetACL, Weight: 3,
	}
)

// randomSetACL leaves most nodes open, and the root in particular. Otherwise few other requests
// would succeed.
func randomSetACL(g Generator) *wire.Request {
	r := &wire.Request{
		Op: wire.OpSetACL, Path: g.PathOrNull(), Version: g.Version(), ACL: Open,
	}
	if percent(g, 50) && (r.Path != "$" || percent(g, 10)) {
		r.ACL = g.ACL()
	}
	return r
}
