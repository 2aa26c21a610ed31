package operation

import "github.com/interlock-sim/interlock/simzk/wire"

var (
	deleteNode = Operation{
		Op: wire.OpDelete, Name: "delete", Cons: "DELE",
		Methods: []string{"Delete"},
		Codec: wire.Codec{
			Request: []wire.Field{wire.FieldPath, wire.FieldVersion},
			Multi:   wire.WriteInMulti,
		},
		Execute: commit, Write: true, DropsStat: true,
		Case: randomDelete, Weight: 12,
	}
	// deleteContainer is for the leader's own use. From a client, the server decodes the whole
	// frame as the path, which is therefore invalid.
	deleteContainer = Operation{
		Op: wire.OpDeleteContainer, Name: "deleteContainer",
		Execute: func(Server, *wire.Request) Answer { return withCode(wire.BadArguments) },
		Write:   true,
	}
)

func randomDelete(g Generator) *wire.Request {
	return &wire.Request{Op: wire.OpDelete, Path: g.PathBelow(), Version: g.Version()}
}
