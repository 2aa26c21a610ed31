package operation

import (
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// whoAmI returns the identities of the client, without the digests of passwords.
var whoAmI = Operation{
	Op: wire.OpWhoAmI, Name: "whoAmI", Cons: "HOMI",
	Codec:   wire.Codec{Reply: []wire.Field{wire.FieldIdentities}},
	Execute: executeWhoAmI,
	Case:    func(Generator) *wire.Request { return &wire.Request{Op: wire.OpWhoAmI} },
	Weight:  1,
}

func executeWhoAmI(s Server, _ *wire.Request) (answer Answer) {
	for _, id := range s.Identities() {
		user := id.ID
		if id.Scheme == "digest" {
			user, _, _ = strings.Cut(id.ID, ":")
		}
		answer.Identities = append(answer.Identities,
			wire.Identity{Scheme: id.Scheme, ID: user})
	}
	return answer
}
