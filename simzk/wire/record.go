// Package wire is ZooKeeper's client protocol: the records that client and server exchange, their
// encoding (jute) and their frames. It is written from ZooKeeper's protocol description,
// zookeeper.jute of release 3.8, and knows neither a client library nor a server.
package wire

// A Stat is what is known of a znode beside its data. Times are in milliseconds since 1970.
type Stat struct {
	Czxid          int64 // the transaction that created the node
	Mzxid          int64 // the transaction that last changed its data
	Ctime          int64
	Mtime          int64
	Version        int32 // changes of the data
	Cversion       int32 // changes of the children
	Aversion       int32 // changes of the ACL
	EphemeralOwner int64 // the session that the node belongs to, 0 if to none
	DataLength     int32
	NumChildren    int32
	Pzxid          int64 // the transaction that last created or deleted a child
}

// An ACL grants permissions to whoever has an identity.
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

// An Identity is what a connection has authenticated as.
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

// A ConnectRequest opens a session, or asks for one that the client has.
type ConnectRequest struct {
	ProtocolVersion int32
	LastZxidSeen    int64
	TimeoutMillis   int32
	SessionID       int64 // 0 for a new session
	Password        []byte
	ReadOnly        bool
	HasReadOnly     bool // the record ends with ReadOnly; that of old clients does not
}

// A ConnectResponse answers a [ConnectRequest]. A session id of 0 says that the session is no more.
type ConnectResponse struct {
	ProtocolVersion int32
	TimeoutMillis   int32
	SessionID       int64
	Password        []byte
	ReadOnly        bool
	HasReadOnly     bool // the record ends with ReadOnly; a server answers old clients without it
}

// A Request is any request after the first. Which fields it has depends on its type.
type Request struct {
	Xid int32 // 0 within a multi
	Op  Op

	Path      string // [Null] is null, as of all strings
	Data      []byte // nil is null. Of OpAuth: the credentials; of OpSASL: the token
	ACL       []ACL
	Flags     int32 // of the creates
	Version   int32 // of OpDelete, OpSetData, OpSetACL and OpCheck
	Watch     bool
	TTLMillis int64    // of OpCreateTTL
	Mode      int32    // of OpAddWatch, OpRemoveWatches and OpCheckWatches
	Scheme    string   // of OpAuth
	Type      int32    // of OpAuth; no server looks at it
	Watches   *Watches // of OpSetWatches and OpSetWatches2
	Ops       []Request
	Reconfig  *Reconfig
}

// Watches are the watches that a client hands over after a reconnect.
type Watches struct {
	RelativeZxid int64 // the last transaction that the client has seen
	Data         []string
	Exist        []string
	Child        []string
	Persistent   []string // of OpSetWatches2 only
	Recursive    []string // of OpSetWatches2 only
}

// Reconfig asks for other members of the ensemble. What it does not speak of is [Null]: a list of
// all members that is empty asks for an ensemble of none.
type Reconfig struct {
	Joining    string
	Leaving    string
	NewMembers string
	Version    int64 // of the configuration that is to be changed; -1 for any
}

// A Reply answers a [Request]. Which fields it has depends on the request's type; after an error it
// has none.
type Reply struct {
	Xid  int32
	Zxid int64 // the last transaction that the server has applied
	Code Code

	Path string // of OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL and OpSync
	Stat Stat
	// of OpGetData; nil is null. Of OpReconfig: the configuration; of OpSASL: the token
	Data       []byte
	ACL        []ACL
	Children   []string // of OpGetChildren, OpGetChildren2 and OpGetEphemerals
	Number     int32    // of OpGetAllChildrenNumber
	Identities []Identity
	Results    []Result // of OpMulti and OpMultiRead
}

// A Result is the outcome of one operation of a multi. Its Op is OpError if the operation failed or
// was not tried.
type Result struct {
	Op   Op
	Code Code

	Path     string
	Stat     Stat
	Data     []byte
	Children []string
}

// An EventType says what has happened to a znode.
type EventType int32

// The types of events.
const (
	EventCreated         EventType = 1
	EventDeleted         EventType = 2
	EventDataChanged     EventType = 3
	EventChildrenChanged EventType = 4
)

// StateSyncConnected is the state that servers put into events.
const StateSyncConnected int32 = 3

// An Event tells a client of a watch that has fired.
type Event struct {
	Type  EventType
	State int32
	Path  string
	Zxid  int64 // of the transaction, from servers since 3.9; -1 from older ones
}
