package operation

import "github.com/interlock-sim/interlock/simzk/wire"

// The operations on persistent watches, and on the watches of a connection.
var (
	addWatch = Operation{
		Op: wire.OpAddWatch, Name: "addWatch", Cons: "ADDW",
		Codec: wire.Codec{
			Request: modeRequest,
			// proto.ErrorResponse
			Reply: []wire.Field{wire.FieldOK},
		},
		Execute: executeAddWatch,
		Case: func(g Generator) *wire.Request {
			return &wire.Request{Op: wire.OpAddWatch, Path: g.Path(), Mode: randomMode(g, 0, 1)}
		},
		Weight: 5,
	}
	removeWatches = Operation{
		Op: wire.OpRemoveWatches, Name: "removeWatches", Cons: "REMW",
		Codec:   wire.Codec{Request: modeRequest},
		Execute: executeRemoveWatches,
		Case:    func(g Generator) *wire.Request { return randomWatches(g, wire.OpRemoveWatches) },
		Weight:  4,
	}
	checkWatches = Operation{
		Op: wire.OpCheckWatches, Name: "checkWatches", Cons: "CHKW",
		Codec:   wire.Codec{Request: modeRequest},
		Execute: executeRemoveWatches,
		Case:    func(g Generator) *wire.Request { return randomWatches(g, wire.OpCheckWatches) },
		Weight:  3,
	}
)

var modeRequest = []wire.Field{wire.FieldPath, wire.FieldMode}

func executeAddWatch(s Server, r *wire.Request) Answer {
	if r.Mode != wire.PersistentWatch && r.Mode != wire.RecursiveWatch {
		return withCode(wire.MarshallingError)
	}
	return withCode(s.AddWatch(r.Path, r.Mode == wire.RecursiveWatch))
}

func executeRemoveWatches(s Server, r *wire.Request) Answer {
	if r.Mode < wire.ChildrenWatcher || r.Mode > wire.AnyWatcher {
		return withCode(wire.MarshallingError)
	}
	return withCode(s.RemoveWatches(r))
}

func randomWatches(g Generator, op wire.Op) *wire.Request {
	return &wire.Request{Op: op, Path: g.PathOrNull(), Mode: randomMode(g, 1, 2, 3)}
}

// randomMode returns one of the valid modes and rarely an invalid one.
func randomMode(g Generator, modes ...int32) int32 {
	if percent(g, 2) {
		return oneOf[int32](g, -1, 9)
	}
	return oneOf(g, modes...)
}
