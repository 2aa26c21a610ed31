package model

import (
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// clientError returns go-zookeeper/zk's error for a code, or nil for OK.
func clientError(code wire.Code) error {
	switch code {
	case wire.OK:
		return nil
	case wire.BadArguments:
		return zk.ErrBadArguments
	case wire.NoNode:
		return zk.ErrNoNode
	case wire.NoAuth:
		return zk.ErrNoAuth
	case wire.BadVersion:
		return zk.ErrBadVersion
	case wire.NoChildrenForEphemerals:
		return zk.ErrNoChildrenForEphemerals
	case wire.NodeExists:
		return zk.ErrNodeExists
	case wire.NotEmpty:
		return zk.ErrNotEmpty
	case wire.InvalidACL:
		return zk.ErrInvalidACL
	case wire.SessionExpired:
		return zk.ErrSessionExpired
	case wire.AuthFailed:
		return zk.ErrAuthFailed
	case wire.ReconfigDisabled:
		return zk.ErrReconfigDisabled
	}
	return fmt.Errorf("unknown error: %v", int32(code))
}
