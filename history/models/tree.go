package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// What a read can tell besides a version.
const (
	Absent  = -1 // the znode does not exist
	Present = -2 // it does, in a version that was not asked for
)

// Tree is ZooKeeper's tree as its writes and synced reads see it. Its state is that of one znode,
// for each is checked by itself: the number of times that its data were set since it was created,
// or [Absent], as an int64. It takes
//   - [Create], which is refused where the znode exists;
//   - [Delete] and [Write], which are refused where it does not;
//   - [Read], whose output has the version, [Absent] or [Present].
//
// Other reads are not linearizable: a server may answer out of an older state. What holds of them
// is that each session sees the states in their order; see history.CheckSessionReads.
//
// Source: the consistency guarantees of the ZooKeeper Programmer's Guide.
var Tree = porcupine.Model{
	Partition: byPath,
	Init:      func() any { return int64(Absent) },
	Step: func(state, input, output any) (bool, any) {
		version, in, out := state.(int64), input.(Input), output.(Output)
		exists := version != Absent
		switch in.Verb {
		case Create:
			if out.Refused {
				return exists, version
			}
			return !exists, int64(0)
		case Delete:
			if out.Refused {
				return !exists, version
			}
			return exists, int64(Absent)
		case Write:
			if out.Refused {
				return !exists, version
			}
			return exists, version + 1
		case Read:
			return out.Version == version || out.Version == Present && exists, version
		}
		return false, version
	},
	Hash:              func(state any) uint64 { return uint64(state.(int64)) },
	DescribeOperation: describe,
	DescribeState: func(state any) string {
		if version := state.(int64); version != Absent {
			return fmt.Sprintf("exists, version %d", version)
		}
		return "does not exist"
	},
}

// byPath parts the operations by their znode, in the order in which the znodes first appear.
func byPath(operations []porcupine.Operation) [][]porcupine.Operation {
	var parts [][]porcupine.Operation
	places := make(map[string]int)
	for _, o := range operations {
		path := o.Input.(Input).Path
		place, known := places[path]
		if !known {
			place = len(parts)
			places[path] = place
			parts = append(parts, nil)
		}
		parts[place] = append(parts[place], o)
	}
	return parts
}
