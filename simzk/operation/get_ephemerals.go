package operation

import (
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// getEphemerals lists the ephemeral nodes of the client's session below a path.
var getEphemerals = Operation{
	Op: wire.OpGetEphemerals, Name: "getEphemerals", Cons: "GETE",
	Codec:   wire.Codec{Request: pathRequest, Reply: []wire.Field{wire.FieldChildren}},
	Execute: executeGetEphemerals,
	Case: func(g Generator) *wire.Request {
		return &wire.Request{Op: wire.OpGetEphemerals, Path: g.ValidPath()}
	},
	Weight: 1,
}

func executeGetEphemerals(s Server, r *wire.Request) (answer Answer) {
	for _, path := range s.Tree().Ephemerals(s.Session()) {
		if all := strings.TrimFunc(r.Path, blank); all == "" || all == "/" || all == wire.Null ||
			strings.HasPrefix(path, r.Path) {
			answer.Children = append(answer.Children, path)
		}
	}
	return answer
}

// blank reports whether Java's String.trim removes a character.
func blank(r rune) bool { return r <= ' ' }
