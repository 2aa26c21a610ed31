package simzk

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

// A Code is the outcome of an operation as ZooKeeper puts it on the wire (KeeperException.Code).
type Code int32

// The codes that the simulated server answers.
const (
	OK                      Code = 0
	BadArguments            Code = -8
	NoNode                  Code = -101
	BadVersion              Code = -103
	NoChildrenForEphemerals Code = -108
	NodeExists              Code = -110
	NotEmpty                Code = -111
)

// String returns the name of the code, as a history shows it. OK is the empty string.
func (c Code) String() string {
	switch c {
	case OK:
		return ""
	case BadArguments:
		return "bad arguments"
	case NoNode:
		return "no node"
	case BadVersion:
		return "bad version"
	case NoChildrenForEphemerals:
		return "no children for ephemerals"
	case NodeExists:
		return "node exists"
	case NotEmpty:
		return "not empty"
	}
	return fmt.Sprintf("code %d", int32(c))
}

// Err returns the error with which go-zookeeper/zk reports the code, or nil for OK.
func (c Code) Err() error {
	switch c {
	case OK:
		return nil
	case BadArguments:
		return zk.ErrBadArguments
	case NoNode:
		return zk.ErrNoNode
	case BadVersion:
		return zk.ErrBadVersion
	case NoChildrenForEphemerals:
		return zk.ErrNoChildrenForEphemerals
	case NodeExists:
		return zk.ErrNodeExists
	case NotEmpty:
		return zk.ErrNotEmpty
	}
	return fmt.Errorf("simzk: %v", c)
}
