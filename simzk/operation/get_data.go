package operation

import "github.com/interlock-sim/interlock/simzk/wire"

var getData = Operation{
	Op: wire.OpGetData, Name: "getData", Verb: "get", Cons: "GETD",
	Methods: []string{"Get"},
	Codec: wire.Codec{
		Request: watchedRequest,
		Reply:   []wire.Field{wire.FieldData, wire.FieldStat},
		Multi:   wire.ReadInMulti,
		Result:  []wire.Field{wire.FieldData, wire.FieldStat},
	},
	Execute: executeGetData,
	Case:    func(g Generator) *wire.Request { return randomRead(g, wire.OpGetData) },
	Weight:  8,
}

// watchedRequest is the record of reads that may set a watch.
var watchedRequest = []wire.Field{wire.FieldPath, wire.FieldWatch}

func executeGetData(s Server, r *wire.Request) Answer {
	answer := Answer{Result: s.Tree().Get(r.Path, s.Identities())}
	if r.Watch && answer.Code == wire.OK {
		s.WatchData(r.Path)
	}
	return answer
}

// randomRead returns a read that may set a watch.
func randomRead(g Generator, op wire.Op) *wire.Request {
	return &wire.Request{Op: op, Path: g.PathOrNull(), Watch: percent(g, 60)}
}
