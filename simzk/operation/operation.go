// Package operation contains ZooKeeper's operations. Each has its own file, alone or with its
// family: its codec, what a server does with it, and how to generate a random request of it for
// comparisons with a real server. The table in table.go lists them.
package operation

import (
	"strconv"

	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An Operation is a type of request.
type Operation struct {
	Op   wire.Op
	Name string // in ZooKeeper's documentation
	Verb string // in histories; Name if empty
	Cons string // in the output of the four-letter word cons; empty if ZooKeeper has none
	Xid  int32  // the reserved xid of requests that clients do not number; 0 for others

	wire.Codec

	// Execute executes a request. It is nil if servers do not implement the operation, or handle
	// it as part of the session.
	Execute func(s Server, r *wire.Request) Answer
	// Write means that the leader decides on a request, which takes a zxid even if it fails.
	Write bool
	// GoneSince39 means that servers since release 3.9 do not implement the operation.
	GoneSince39 bool
	Malformed   Malformed // what a server does with a malformed request
	NoZxid      bool      // the header of the reply has the zxid 0
	// DropsStat means that the methods of the client library do not return the stat in the reply.
	DropsStat bool

	// Methods are the methods of go-zookeeper/zk that send a request. The method that also sets a
	// watch has a W after the name of the first.
	Methods []string

	// Case returns a random request for comparisons with a real server. It is nil if the cases of
	// another operation include this one. Weight is its relative frequency.
	Case   func(g Generator) *wire.Request
	Weight int

	watchVerb string // in histories, of a request that sets a watch
}

// Malformed is what a server does with a request whose record it cannot decode.
type Malformed uint8

// What servers do with a malformed request. Most fail with [wire.MarshallingError] when they
// execute it: a write has its zxid by then.
const (
	MalformedFails      Malformed = iota
	MalformedFailsEarly           // it takes no zxid
	MalformedCloses               // the server closes the connection without a reply
)

// A Server executes the requests of a connection.
type Server interface {
	// Tree returns the znodes as the server sees them; for a write, as the leader does. An
	// operation must not change them, except by Commit.
	Tree() *tree.Tree
	// Since39 reports whether the server behaves like release 3.9 instead of 3.8.
	Since39() bool
	// Session returns the id of the connection's session.
	Session() int64
	// Identities returns the identities of the client. The slice must not be changed.
	Identities() []wire.Identity
	// Authenticate adds an identity, and the superuser's if the digest is the superuser's.
	Authenticate(id wire.Identity)

	// Commit proposes a write to the ensemble. Only a write may call it, and only once. The type of
	// the request must be one of those that [tree.Write] lists; it may differ from the type of the
	// request that is executed.
	Commit(r *wire.Request) tree.Result
	// Reconfigure changes the members of the ensemble.
	Reconfigure(r *wire.Reconfig) Answer

	// WatchData sets a one-shot watch on a node's data and deletion, WatchCreation on its creation,
	// and WatchChildren on its children and deletion.
	WatchData(path string)
	WatchCreation(path string)
	WatchChildren(path string)
	// AddWatch sets a persistent watch.
	AddWatch(path string, recursive bool) wire.Code
	// RemoveWatches removes the watches that the mode of the request selects.
	RemoveWatches(r *wire.Request) wire.Code
	// SetWatches takes over the watches that a reconnected client hands over.
	SetWatches(w *wire.Watches) wire.Code
}

// An Answer is the outcome of a request.
type Answer struct {
	tree.Result
	Number     int32           // of descendants
	Identities []wire.Identity // of the client
	Then       Then
}

// Then says how a server finishes a request.
type Then uint8

// How a server finishes a request.
const (
	Reply Then = iota
	ReplyAndClose
	Close
	Ignore // no reply; the connection stays open
)

// withCode returns an answer that has only a code.
func withCode(code wire.Code) Answer { return Answer{Result: tree.Result{Code: code}} }

// Types from lowestOp to lowestOp+opCount-1 may be in the table.
const (
	lowestOp = -16
	opCount  = 256
)

var (
	byOp    [opCount]*Operation
	unknown Operation
)

func init() {
	for i := range byOp {
		byOp[i] = &unknown
	}
	for _, o := range table {
		i := int(o.Op) - lowestOp
		if byOp[i] != &unknown {
			panic("operation: two operations of type " + strconv.Itoa(int(o.Op)))
		}
		byOp[i] = o
		if o.Verb == "" {
			o.Verb = o.Name
		}
		o.watchVerb = o.Verb + "+watch"
	}
}

// Of returns the operation of a type; for an unknown type, an empty one. It must not be changed.
func Of(op wire.Op) *Operation {
	if i := int(op) - lowestOp; uint(i) < opCount {
		return byOp[i]
	}
	return &unknown
}

// Name returns ZooKeeper's name of a type, or its number if it is unknown.
func Name(op wire.Op) string {
	if o := Of(op); o != &unknown {
		return o.Name
	}
	return "op " + strconv.Itoa(int(op))
}

// Verb returns the name of a request in histories.
func Verb(r *wire.Request) string {
	switch o := Of(r.Op); {
	case o == &unknown:
		return Name(r.Op)
	case r.Watch:
		return o.watchVerb
	default:
		return o.Verb
	}
}
