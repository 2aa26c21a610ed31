package operation

import "github.com/interlock-sim/interlock/simzk/wire"

var (
	getChildren = Operation{
		Op: wire.OpGetChildren, Name: "getChildren", Verb: "children", Cons: "GETC",
		Methods: []string{"Children", "CreateProtectedEphemeralSequential"},
		Codec: wire.Codec{
			Request: watchedRequest,
			Reply:   []wire.Field{wire.FieldChildren},
			Multi:   wire.ReadInMulti,
			Result:  []wire.Field{wire.FieldChildren},
		},
		Execute: executeGetChildren,
		Case:    func(g Generator) *wire.Request { return randomRead(g, wire.OpGetChildren) },
		Weight:  5,
	}
	// getChildren2 also returns the stat.
	getChildren2 = Operation{
		Op: wire.OpGetChildren2, Name: "getChildren2", Verb: "children", Cons: "GETC",
		Methods: []string{"Children", "CreateProtectedEphemeralSequential"},
		Codec: wire.Codec{
			Request: watchedRequest,
			Reply:   []wire.Field{wire.FieldChildren, wire.FieldStat},
		},
		Execute: executeGetChildren,
		Case:    func(g Generator) *wire.Request { return randomRead(g, wire.OpGetChildren2) },
		Weight:  6,
	}
)

func executeGetChildren(s Server, r *wire.Request) Answer {
	answer := Answer{Result: s.Tree().Children(r.Path, s.Identities())}
	if r.Watch && answer.Code == wire.OK {
		s.WatchChildren(r.Path)
	}
	return answer
}
