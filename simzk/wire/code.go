package wire

import "strconv"

// A Code is the outcome of a request (KeeperException.Code).
type Code int32

// The codes that simulated servers answer. Real servers have more, such as the code for an exceeded
// quota.
const (
	OK                      Code = 0
	RuntimeInconsistency    Code = -2
	MarshallingError        Code = -5
	Unimplemented           Code = -6
	BadArguments            Code = -8
	NewConfigNoQuorum       Code = -13
	NoNode                  Code = -101
	NoAuth                  Code = -102
	BadVersion              Code = -103
	NoChildrenForEphemerals Code = -108
	NodeExists              Code = -110
	NotEmpty                Code = -111
	SessionExpired          Code = -112
	InvalidACL              Code = -114
	AuthFailed              Code = -115
	EphemeralOnLocalSession Code = -120
	NoWatcher               Code = -121
	ReconfigDisabled        Code = -123
)

// String returns the name of the code as histories show it. OK is the empty string.
func (c Code) String() string {
	switch c {
	case OK:
		return ""
	case RuntimeInconsistency:
		return "runtime inconsistency"
	case MarshallingError:
		return "marshalling error"
	case Unimplemented:
		return "unimplemented"
	case BadArguments:
		return "bad arguments"
	case NewConfigNoQuorum:
		return "new configuration without quorum"
	case NoNode:
		return "no node"
	case NoAuth:
		return "no authority"
	case BadVersion:
		return "bad version"
	case NoChildrenForEphemerals:
		return "no children for ephemerals"
	case NodeExists:
		return "node exists"
	case NotEmpty:
		return "not empty"
	case SessionExpired:
		return "session expired"
	case InvalidACL:
		return "invalid ACL"
	case AuthFailed:
		return "authentication failed"
	case EphemeralOnLocalSession:
		return "ephemeral node of a local session"
	case NoWatcher:
		return "no watcher"
	case ReconfigDisabled:
		return "reconfiguration disabled"
	}
	return "code " + strconv.Itoa(int(c))
}
