package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// The outputs of a read without a version.
const (
	Absent  = -1 // the znode does not exist
	Present = -2 // the znode exists, in an unknown version
)

// Tree is ZooKeeper's tree as seen by writes and synced reads. Each znode is checked by itself: its
// state is the number of times that its data were set since it was created, or [Absent], as an
// int64. Tree accepts
//   - [Create], which is refused if the znode exists;
//   - [Delete] and [Write], which are refused if it does not;
//   - [Read], whose output has the version, [Absent] or [Present].
//
// Other reads are not linearizable, because a server may reply from an older state. They are
// ordered within each session; see guarantee.SessionReads.
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

// byPath partitions the operations by their znode, in the order of the first operations.
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
