package operation

import (
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

var exists = Operation{
	Op: wire.OpExists, Name: "exists", Cons: "EXIS",
	Methods: []string{"Exists"},
	Codec:   wire.Codec{Request: watchedRequest, Reply: []wire.Field{wire.FieldStat}},
	Execute: executeExists,
	Case:    func(g Generator) *wire.Request { return randomRead(g, wire.OpExists) },
	Weight:  9,
}

func executeExists(s Server, r *wire.Request) Answer {
	if strings.IndexByte(r.Path, 0) >= 0 {
		return withCode(wire.BadArguments)
	}
	answer := Answer{Result: s.Tree().Exists(r.Path, s.Identities())}
	switch {
	case !r.Watch:
	case answer.Code == wire.OK:
		s.WatchData(r.Path)
	case answer.Code == wire.NoNode:
		s.WatchCreation(r.Path)
	}
	return answer
}
