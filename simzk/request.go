package simzk

import (
	"cmp"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/go-zookeeper/zk"
)

// A request is one call of a client on its way to the server and back.
type request struct {
	number  int32 // of the process, in the order in which requests were collected
	op      Op
	path    string
	data    []byte
	version int32
	flags   int32
	age     uint64 // set when it is sent

	session   int64      // of OpConnect: asked for, then granted
	watches   []watching // of OpSetWatches
	sinceZxid int64      // of OpSetWatches: the last zxid that the client has seen

	// The answer: set before done receives.
	result Result
	zxid   int64
	err    error
	events <-chan zk.Event // where the watch that the call has set will tell

	done chan struct{} // receives once; closed without a value when the run is torn down. Nil for the client's own requests.
}

// compareRequests orders requests of one process that were sent at the same time.
func compareRequests(a, b *request) int {
	return cmp.Or(cmp.Compare(a.op, b.op), strings.Compare(a.path, b.path), strings.Compare(string(a.data), string(b.data)),
		cmp.Compare(a.version, b.version), cmp.Compare(a.flags, b.flags))
}

// A message is what the server sends to a client: the reply to a request, or a watch event.
type message struct {
	reply   *request
	event   zk.EventType
	path    string
	watches []*watch // that the event uses up
	zxid    int64
	age     uint64
}

func (m *message) hash() uint64 {
	if m.reply != nil {
		r := m.reply
		h := mix(mix(uint64(r.op)<<32|uint64(uint32(r.number)), uint64(m.zxid)), uint64(uint32(r.result.Code)))
		for _, name := range r.result.Children {
			h = mix(h, xxhash.Sum64String(name))
		}
		return mix(mix(h, xxhash.Sum64String(r.result.Path)), uint64(r.result.Stat.Mzxid)^uint64(r.session))
	}
	return mix(mix(uint64(m.event)<<48, uint64(m.zxid)), xxhash.Sum64String(m.path))
}
