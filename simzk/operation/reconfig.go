package operation

import "github.com/interlock-sim/interlock/simzk/wire"

// reconfig changes the members of the ensemble, and returns the new configuration.
var reconfig = Operation{
	Op: wire.OpReconfig, Name: "reconfig", Cons: "RECO",
	Codec: wire.Codec{
		Request: []wire.Field{wire.FieldReconfig},
		Reply:   []wire.Field{wire.FieldData, wire.FieldStat},
	},
	Execute: func(s Server, r *wire.Request) Answer { return s.Reconfigure(r.Reconfig) },
	Write:   true, Malformed: MalformedFailsEarly,
}
