package simzk

// An Op is an operation that a client can ask of the server.
type Op uint8

// The operations.
const (
	OpConnect Op = iota + 1
	OpClose
	OpCreate
	OpDelete
	OpSet
	OpGet
	OpGetWatch
	OpExists
	OpExistsWatch
	OpChildren
	OpChildrenWatch
	OpSync
	OpSetWatches

	ops
)

var opNames = [ops]string{
	OpConnect: "connect", OpClose: "close",
	OpCreate: "create", OpDelete: "delete", OpSet: "set",
	OpGet: "get", OpGetWatch: "get+watch", OpExists: "exists", OpExistsWatch: "exists+watch",
	OpChildren: "children", OpChildrenWatch: "children+watch",
	OpSync: "sync", OpSetWatches: "set-watches",
}

// String returns the name of the operation, as a history shows it.
func (o Op) String() string {
	if o > 0 && o < ops {
		return opNames[o]
	}
	return "unknown operation"
}

// SetsWatch tells whether the operation asks for a watch.
func (o Op) SetsWatch() bool { return o == OpGetWatch || o == OpExistsWatch || o == OpChildrenWatch }
