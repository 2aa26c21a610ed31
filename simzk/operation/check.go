package operation

import "github.com/interlock-sim/interlock/simzk/wire"

// check tests a node's version. It is meant for multis, where the cases of multi have it.
var check = Operation{
	Op: wire.OpCheck, Name: "check", Cons: "CHEC",
	Codec: wire.Codec{
		Request: []wire.Field{wire.FieldPath, wire.FieldVersion},
		Reply:   []wire.Field{wire.FieldStat},
		Multi:   wire.WriteInMulti,
	},
	Execute: executeCheck, Write: true, GoneSince39: true,
}

// executeCheck executes a check outside of a multi. A 3.8 server fails to encode the reply to a
// successful one.
func executeCheck(s Server, r *wire.Request) Answer {
	answer := commit(s, r)
	if answer.Code == wire.OK {
		answer.Then = Ignore
	}
	return answer
}
