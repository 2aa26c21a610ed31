package simzk

import (
	"encoding/binary"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/internal/hash64"
)

// phase is the state of the client's connection.
type phase uint8

const (
	connected      phase = iota // with a session
	dialing                     // waiting to try again
	connecting                  // handshake sent
	authenticating              // with a session, resending credentials before anything else
	terminated                  // closed by the process
)

// reconnectDelay is the pause after the client has tried every server on its list: with a single
// server, after every attempt.
const reconnectDelay = time.Second

// notWatching is the name in histories of the client's own event for a watch that will not fire.
const notWatching = "not-watching"

// hostName returns the client's address of a server.
func hostName(server int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(2181+server)) }

// A guidCount is the number of GUIDs that a client has used for the names of protected nodes.
type guidCount struct{ atomic.Uint64 }

// next returns the next GUID of a process's client. Any goroutine may call it.
func (g *guidCount) next(process int) []byte {
	half := hash64.Mix(uint64(process), g.Add(1))
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, half),
		hash64.Mix(half, half))
}

// lateCalls counts the calls of a client after the end of the run; see [Link.ShutDown].
type lateCalls struct{ atomic.Int32 }

// maxLateCalls is the number of calls that a process may make after the end of the run. Otherwise a
// busy loop would keep virtual time from advancing.
const maxLateCalls = 1000

// count counts a call, and blocks forever beyond the limit.
func (c *lateCalls) count() {
	if c.Add(1) > maxLateCalls {
		select {}
	}
}
