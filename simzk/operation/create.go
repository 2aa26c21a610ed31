package operation

import (
	"slices"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// The creates differ in the reply: all but the first return the stat. In a multi, servers before
// 3.9 answer create2 as create.
var (
	create = Operation{
		Op: wire.OpCreate, Name: "create", Cons: "CREA",
		Methods: []string{"Create", "CreateProtectedEphemeralSequential"},
		Codec: wire.Codec{
			Request: createRequest,
			Reply:   []wire.Field{wire.FieldPath},
			Multi:   wire.WriteInMulti,
			Result:  []wire.Field{wire.FieldPath},
		},
		Execute: commit, Write: true, DropsStat: true,
		Case: randomCreate, Weight: 16,
	}
	create2 = Operation{
		Op: wire.OpCreate2, Name: "create2", Verb: "create", Cons: "CREA",
		Methods: []string{"Create", "CreateProtectedEphemeralSequential"},
		Codec:   createdWithStat(createRequest),
		Execute: commit, Write: true,
	}
	createContainer = Operation{
		Op: wire.OpCreateContainer, Name: "createContainer", Cons: "CREA",
		Methods: []string{"CreateContainer"},
		Codec:   createdWithStat(createRequest),
		Execute: commit, Write: true, DropsStat: true,
	}
	createTTL = Operation{
		Op: wire.OpCreateTTL, Name: "createTTL", Cons: "CREA",
		Methods: []string{"CreateTTL"},
		Codec:   createdWithStat(slices.Concat(createRequest, []wire.Field{wire.FieldTTL})),
		Execute: commit, Write: true, DropsStat: true,
	}
)

// createRequest is proto.CreateRequest, which is also the start of proto.CreateTTLRequest.
var createRequest = []wire.Field{wire.FieldPath, wire.FieldData, wire.FieldACL, wire.FieldFlags}

// createdWithStat returns the codec of a create that returns the stat.
func createdWithStat(request []wire.Field) wire.Codec {
	created := []wire.Field{wire.FieldPath, wire.FieldStat}
	return wire.Codec{
		Request: request, Reply: created, Multi: wire.WriteInMulti, Result: created,
	}
}

// commit executes a write that the tree has.
func commit(s Server, r *wire.Request) Answer { return Answer{Result: s.Commit(r)} }

// randomCreate returns a create of any type.
func randomCreate(g Generator) *wire.Request {
	r := &wire.Request{Op: wire.OpCreate, Path: g.PathBelow()}
	r.Data, r.ACL = g.Data(), g.NewNodeACL()
	switch n := g.IntN(100); {
	case n < 8 && g.Supports().Containers:
		r.Op, r.Flags = wire.OpCreateContainer, wire.Container
	case n < 16 && g.Supports().TTL:
		r.Op = wire.OpCreateTTL
		r.Flags, r.TTLMillis = randomTTL(g)
	default:
		r.Op, r.Flags = oneOf(g, wire.OpCreate, wire.OpCreate, wire.OpCreate2), randomFlags(g)
	}
	if Sequential(r) && percent(g, 80) {
		r.Path = oneOf(g, "$", "$/a", "$/b", "$/a/b") + oneOf(g, "/", "/n-", "/a")
	}
	return r
}

// Sequential reports whether a request has the flags of a sequential node.
func Sequential(r *wire.Request) bool {
	return r.Flags == wire.PersistentSequential || r.Flags == wire.EphemeralSequential ||
		r.Flags == wire.PersistentSeqTTL
}

func randomFlags(g Generator) int32 {
	switch n := g.IntN(100); {
	case n < 45:
		return wire.Persistent
	case n < 65:
		return wire.Ephemeral
	case n < 80:
		return wire.PersistentSequential
	case n < 94:
		return wire.EphemeralSequential
	case n < 97 && g.Supports().Containers: // the flag makes a container inside a multi
		return wire.Container
	case n < 98 && g.Supports().TTL:
		return wire.PersistentTTL
	}
	return oneOf[int32](g, -1, 7, 99)
}

// randomTTL returns flags and a TTL in milliseconds that exceeds the run's duration. Some are
// invalid. Flags without a TTL are never combined with -1: release 3.8.0 accepts them, ends, and
// fails again on every restart with that log.
func randomTTL(g Generator) (flags int32, milliseconds int64) {
	const longest = 0xffffffffff
	flags, milliseconds = oneOf(g, wire.PersistentTTL, wire.PersistentSeqTTL),
		longest-g.Int64N(1000)
	switch n := g.IntN(100); {
	case n < 5:
		flags = oneOf(g, wire.Persistent, wire.Ephemeral, wire.PersistentSequential, wire.Container)
	case n < 10:
		milliseconds = oneOf[int64](g, 0, -1, longest+1)
	}
	return flags, milliseconds
}
