package operation

import (
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

var (
	// multi executes all of its writes or none.
	multi = Operation{
		Op: wire.OpMulti, Name: "multi", Cons: "MULT",
		Methods: []string{"Multi"},
		Codec: wire.Codec{
			Request: []wire.Field{wire.FieldOperations},
			Reply:   []wire.Field{wire.FieldResults},
		},
		Execute: executeMulti, Write: true,
		Case: randomMulti, Weight: 9,
	}
	multiRead = Operation{
		Op: wire.OpMultiRead, Name: "multiRead", Cons: "MLTR",
		Codec: wire.Codec{
			Request: []wire.Field{wire.FieldOperations},
			Reply:   []wire.Field{wire.FieldResults},
		},
		Execute: executeMultiRead,
		Case:    randomMultiRead, Weight: 3,
	}
	// failed is the type of the result of a failed operation in a multi.
	failed = Operation{Op: wire.OpError, Name: "error"}
)

// executeMulti converts the results for the reply. Errors are in the results; the reply itself has
// an error code only if there are no results.
func executeMulti(s Server, r *wire.Request) Answer {
	answer := commit(s, r)
	if len(answer.Results) > 0 {
		answer.Code = wire.OK
	}
	for i := range answer.Results {
		switch one := &answer.Results[i]; one.Op {
		case wire.OpCreate2:
			if !s.Since39() {
				one.Op = wire.OpCreate
			}
		case wire.OpCreateContainer, wire.OpCreateTTL:
			one.Op = wire.OpCreate2
		}
	}
	return answer
}

func executeMultiRead(s Server, r *wire.Request) Answer {
	results := make([]wire.Result, len(r.Ops))
	for i := range r.Ops {
		op := r.Ops[i]
		op.Watch = false // ZooKeeper ignores it here.
		read := Of(op.Op)
		if read.Multi != wire.ReadInMulti || op.Path == wire.Null {
			return Answer{
				Result: tree.Result{Code: wire.MarshallingError, Results: results[:i]},
			}
		}
		got := read.Execute(s, &op)
		if results[i] = (wire.Result{Op: wire.OpError, Code: got.Code}); got.Code == wire.OK {
			results[i] = wire.Result{
				Op: op.Op, Data: got.Data, Stat: got.Stat, Children: got.Children,
			}
		}
	}
	return Answer{Result: tree.Result{Results: results}}
}

func randomMulti(g Generator) *wire.Request {
	r := &wire.Request{Op: wire.OpMulti}
	for range g.IntN(6) {
		op := randomWrite(g)
		if percent(g, 15) {
			op = &wire.Request{Op: wire.OpCheck, Path: g.Path(), Version: g.Version()}
		}
		if percent(g, 1) {
			op = &wire.Request{Op: wire.OpGetData, Path: g.Path()}
		}
		r.Ops = append(r.Ops, *op)
	}
	return r
}

func randomMultiRead(g Generator) *wire.Request {
	r := &wire.Request{Op: wire.OpMultiRead}
	for range g.IntN(5) {
		op := &wire.Request{
			Op: oneOf(g, wire.OpGetData, wire.OpGetChildren), Path: g.Path(), Watch: percent(g, 30),
		}
		if percent(g, 1) {
			op = &wire.Request{Op: wire.OpDelete, Path: g.Path(), Version: anyVersion}
		}
		r.Ops = append(r.Ops, *op)
	}
	return r
}
