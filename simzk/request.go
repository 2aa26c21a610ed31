package simzk

import (
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An Exchange is a request of a client, and later the server's reply to it.
type Exchange struct {
	wire.Request
	Number     int32  // of the process, in order of transmission
	Thread     int32  // of the process that makes the request; 0 if it has only one
	age        uint64 // set at transmission
	arrives    time.Duration
	malformed  bool   // the body could not be decoded
	cachedHash uint64 // result of stateHash; 0 if not computed yet

	connect  *wire.ConnectRequest // of a handshake over the wire
	Session  int64                // of a handshake: requested, then granted
	Timeout  time.Duration        // of a handshake: granted
	LastZxid int64                // of a handshake: the last zxid that the client has seen
	opened   bool                 // of a handshake: the session is new
	reopens  bool                 // createSession on a connection that has a session

	// The reply.
	Result     tree.Result
	zxid       int64
	count      int32
	identities []wire.Identity
}

// maker returns the process or the thread that makes the request by the link.
func (r *Exchange) maker(l *Link) int32 {
	if r.Thread != 0 {
		return r.Thread
	}
	return l.process
}

// verb returns the name of the operation in histories.
func (r *Exchange) verb() string { return operation.Verb(&r.Request) }

// A Message is what the server sends to a client: the reply to a request, a watch event, or the end
// of the connection.
type Message struct {
	Reply   *Exchange
	Event   wire.EventType // 0 for the end of the connection
	Path    string
	watches []*watch // that fired
	Zxid    int64
	age     uint64
	arrives time.Duration
}

// Hash returns 64 bits over what the message shows to the client's caller. It omits the zxid in the
// header of a reply, which matters only to the client library; see [End.Key].
func (m *Message) Hash() uint64 {
	if m.Reply == nil {
		return mix(mix(uint64(m.Event)<<48, uint64(m.Zxid)), xxhash.Sum64String(m.Path))
	}
	r := m.Reply
	h := mix(uint64(uint32(r.Op))<<32|uint64(uint32(r.Number)),
		uint64(uint32(r.Result.Code))^uint64(r.Session))
	for _, name := range r.Result.Children {
		h = mix(h, xxhash.Sum64String(name))
	}
	h = mix(mix(h, xxhash.Sum64String(r.Result.Path)), xxhash.Sum64(r.Result.Data))
	if len(r.Result.Results) > 0 || r.count != 0 {
		h = mix(h, uint64(m.Zxid)) // Together with the tree, it determines the reply.
	}
	if stat := &r.Result.Stat; !operation.Of(r.Op).Write && stat.Czxid != 0 {
		h = mix(h, uint64(stat.Ctime)^uint64(stat.Mtime)<<32)
		h = mix(mix(mix(h, uint64(stat.Czxid)), uint64(stat.Mzxid)), uint64(stat.Pzxid))
		h = mix(mix(h, uint64(uint32(stat.Version))<<32|uint64(uint32(stat.Cversion))),
			uint64(stat.EphemeralOwner))
	}
	return h
}

func mix(a, b uint64) uint64 { return hash64.Mix(a, b) }

func fold(a, b uint64) uint64 { return hash64.Fold(a, b) }
