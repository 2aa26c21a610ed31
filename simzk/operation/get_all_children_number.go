package operation

import "github.com/interlock-sim/interlock/simzk/wire"

// getAllChildrenNumber counts the descendants of a node.
var getAllChildrenNumber = Operation{
	Op: wire.OpGetAllChildrenNumber, Name: "getAllChildrenNumber", Cons: "GETACN",
	Codec:   wire.Codec{Request: pathRequest, Reply: []wire.Field{wire.FieldNumber}},
	Execute: executeGetAllChildrenNumber,
	Case: func(g Generator) *wire.Request {
		return &wire.Request{Op: wire.OpGetAllChildrenNumber, Path: g.PathOrNull()}
	},
	Weight: 1,
}

func executeGetAllChildrenNumber(s Server, r *wire.Request) (answer Answer) {
	var count int
	count, answer.Code = s.Tree().Descendants(r.Path, s.Identities())
	answer.Number = int32(count)
	return answer
}
