// Package wire implements ZooKeeper's client protocol: its records, their encoding (jute) and its
// frames. It follows zookeeper.jute of release 3.8 and depends on no client library or server.
package wire

// A Stat is the metadata of a znode. Times are in milliseconds since 1970.
type Stat struct {
	Czxid          int64 // the transaction that created the node
	Mzxid          int64 // the transaction that last changed its data
	Ctime          int64
	Mtime          int64
	Version        int32 // number of changes of the data
	Cversion       int32 // number of changes of the children
	Aversion       int32 // number of changes of the ACL
	EphemeralOwner int64 // the session that owns the node, 0 if it is not ephemeral
	DataLength     int32
	NumChildren    int32
	Pzxid          int64 // the transaction that last created or deleted a child
}

// An ACL is an entry of an access control list: it grants permissions to an identity.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

// The permissions of an [ACL].
const (
	PermRead   int32 = 1
	PermWrite  int32 = 2
	PermCreate int32 = 4
	PermDelete int32 = 8
	PermAdmin  int32 = 16
	PermAll    int32 = 31
)

// An Identity is an authenticated identity of a connection.
type Identity struct {
	Scheme string
	ID     string
}

// The flags of a create (CreateMode).
const (
	Persistent           int32 = 0
	Ephemeral            int32 = 1
	PersistentSequential int32 = 2
	EphemeralSequential  int32 = 3
	Container            int32 = 4
	PersistentTTL        int32 = 5
	PersistentSeqTTL     int32 = 6
)

// IsEphemeral reports whether the flags of a create are those of an ephemeral node.
func IsEphemeral(flags int32) bool { return flags == Ephemeral || flags == EphemeralSequential }

// The modes of OpAddWatch.
const (
	PersistentWatch int32 = 0
	RecursiveWatch  int32 = 1
)

// The types of watches that OpRemoveWatches and OpCheckWatches name.
const (
	ChildrenWatcher int32 = 1
	DataWatcher     int32 = 2
	AnyWatcher      int32 = 3
)

// A ConnectRequest opens or resumes a session.
type ConnectRequest struct {
	ProtocolVersion int32
	LastZxidSeen    int64
	TimeoutMillis   int32
	SessionID       int64 // 0 for a new session
	Password        []byte
	ReadOnly        bool
	HasReadOnly     bool // the record includes ReadOnly; old clients omit it
}

// A ConnectResponse answers a [ConnectRequest]. A session id of 0 means that the session has
// expired.
type ConnectResponse struct {
	ProtocolVersion int32
	TimeoutMillis   int32
	SessionID       int64
	Password        []byte
	ReadOnly        bool
	HasReadOnly     bool // the record includes ReadOnly; servers omit it for old clients
}

// A Request is a request on an established session. Op determines which fields are used.
type Request struct {
	Xid int32 // 0 inside a multi
	Op  Op

	Path      string // [Null] is null, as in all strings
	Data      []byte // nil is null. OpAuth: the credentials; OpSASL: the token
	ACL       []ACL
	Flags     int32 // of the creates
	Version   int32 // of OpDelete, OpSetData, OpSetACL and OpCheck
	Watch     bool
	TTLMillis int64    // of OpCreateTTL
	Mode      int32    // of OpAddWatch, OpRemoveWatches and OpCheckWatches
	Scheme    string   // of OpAuth
	Type      int32    // of OpAuth; servers ignore it
	Watches   *Watches // of OpSetWatches and OpSetWatches2
	Ops       []Request
	Reconfig  *Reconfig
}

// Watches are the watches that a client re-registers after a reconnect.
type Watches struct {
	RelativeZxid int64 // the last transaction seen by the client
	Data         []string
	Exist        []string
	Child        []string
	Persistent   []string // of OpSetWatches2 only
	Recursive    []string // of OpSetWatches2 only
}

// Reconfig is a requested change of the ensemble's members. Absent fields are [Null]; an empty
// NewMembers would request an ensemble without members.
type Reconfig struct {
	Joining    string
	Leaving    string
	NewMembers string
	Version    int64 // of the configuration to change; -1 for any
}

// A Reply answers a [Request]. The request's type determines which fields are used. An error reply
// has no fields after Code.
type Reply struct {
	Xid  int32
	Zxid int64 // the last transaction applied by the server
	Code Code

	Path string // of OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL and OpSync
	Stat Stat
	// of OpGetData, nil is null; OpReconfig: the configuration; OpSASL: the token
	Data       []byte
	ACL        []ACL
	Children   []string // of OpGetChildren, OpGetChildren2 and OpGetEphemerals
	Number     int32    // of OpGetAllChildrenNumber
	Identities []Identity
	Results    []Result // of OpMulti and OpMultiRead
}

// A Result is the outcome of one operation of a multi. Its Op is OpError if the operation failed or
// was skipped.
type Result struct {
	Op   Op
	Code Code

	Path     string
	Stat     Stat
	Data     []byte
	Children []string
}

// An EventType is the kind of change reported by a watch.
type EventType int32

// The types of events.
const (
	EventCreated         EventType = 1
	EventDeleted         EventType = 2
	EventDataChanged     EventType = 3
	EventChildrenChanged EventType = 4
)

// StateSyncConnected is the state in events from servers.
const StateSyncConnected int32 = 3

// An Event notifies a client of a fired watch.
type Event struct {
	Type  EventType
	State int32
	Path  string
	Zxid  int64 // of the transaction, from servers since 3.9; -1 from older ones
}
