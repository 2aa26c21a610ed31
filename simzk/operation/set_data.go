package operation

import "github.com/interlock-sim/interlock/simzk/wire"

var setData = Operation{
	Op: wire.OpSetData, Name: "setData", Verb: "set", Cons: "SETD",
	Methods: []string{"Set"},
	Codec: wire.Codec{
		Request: []wire.Field{wire.FieldPath, wire.FieldData, wire.FieldVersion},
		Reply:   []wire.Field{wire.FieldStat},
		Multi:   wire.WriteInMulti,
		Result:  []wire.Field{wire.FieldStat},
	},
	Execute: commit, Write: true,
	Case: func(g Generator) *wire.Request {
		return &wire.Request{
			Op: wire.OpSetData, Path: g.Path(), Data: g.Data(), Version: g.Version(),
		}
	},
	Weight: 14,
}
