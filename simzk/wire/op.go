package wire

import "strconv"

// An Op is the type of a request (ZooDefs.OpCode).
type Op int32

// The types of requests.
const (
	OpNotification         Op = 0
	OpCreate               Op = 1
	OpDelete               Op = 2
	OpExists               Op = 3
	OpGetData              Op = 4
	OpSetData              Op = 5
	OpGetACL               Op = 6
	OpSetACL               Op = 7
	OpGetChildren          Op = 8
	OpSync                 Op = 9
	OpPing                 Op = 11
	OpGetChildren2         Op = 12
	OpCheck                Op = 13
	OpMulti                Op = 14
	OpCreate2              Op = 15
	OpReconfig             Op = 16
	OpCheckWatches         Op = 17
	OpRemoveWatches        Op = 18
	OpCreateContainer      Op = 19
	OpDeleteContainer      Op = 20
	OpCreateTTL            Op = 21
	OpMultiRead            Op = 22
	OpAuth                 Op = 100
	OpSetWatches           Op = 101
	OpSASL                 Op = 102
	OpGetEphemerals        Op = 103
	OpGetAllChildrenNumber Op = 104
	OpSetWatches2          Op = 105
	OpAddWatch             Op = 106
	OpWhoAmI               Op = 107
	OpCreateSession        Op = -10
	OpCloseSession         Op = -11
	OpError                Op = -1 // in the reply to a multi
)

// Reserved xids of requests that clients do not number, and of events.
const (
	XidEvent      int32 = -1
	XidPing       int32 = -2
	XidAuth       int32 = -4
	XidSetWatches int32 = -8
)

// String returns the name of the type as in ZooKeeper's documentation.
func (o Op) String() string {
	switch o {
	case OpNotification:
		return "notification"
	case OpCreate:
		return "create"
	case OpDelete:
		return "delete"
	case OpExists:
		return "exists"
	case OpGetData:
		return "getData"
	case OpSetData:
		return "setData"
	case OpGetACL:
		return "getACL"
	case OpSetACL:
		return "setACL"
	case OpGetChildren:
		return "getChildren"
	case OpSync:
		return "sync"
	case OpPing:
		return "ping"
	case OpGetChildren2:
		return "getChildren2"
	case OpCheck:
		return "check"
	case OpMulti:
		return "multi"
	case OpCreate2:
		return "create2"
	case OpReconfig:
		return "reconfig"
	case OpCheckWatches:
		return "checkWatches"
	case OpRemoveWatches:
		return "removeWatches"
	case OpCreateContainer:
		return "createContainer"
	case OpDeleteContainer:
		return "deleteContainer"
	case OpCreateTTL:
		return "createTTL"
	case OpMultiRead:
		return "multiRead"
	case OpAuth:
		return "auth"
	case OpSetWatches:
		return "setWatches"
	case OpSASL:
		return "sasl"
	case OpGetEphemerals:
		return "getEphemerals"
	case OpGetAllChildrenNumber:
		return "getAllChildrenNumber"
	case OpSetWatches2:
		return "setWatches2"
	case OpAddWatch:
		return "addWatch"
	case OpWhoAmI:
		return "whoAmI"
	case OpCreateSession:
		return "createSession"
	case OpCloseSession:
		return "closeSession"
	case OpError:
		return "error"
	}
	return "op " + strconv.Itoa(int(o))
}
