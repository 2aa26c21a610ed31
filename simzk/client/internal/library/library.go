// Package library has what the model client and the real client share: properties of
// go-zookeeper/zk v1.0.4 that a client's end of a link depends on.
package library

import (
	"encoding/binary"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/internal/base/hash64"
)

// A Phase is the state of the client's connection.
type Phase uint8

// The phases of a client.
const (
	Connected      Phase = iota // with a session
	Dialing                     // waiting to try again
	Connecting                  // handshake sent
	Authenticating              // with a session, resending credentials before anything else
	Terminated                  // closed by the process
)

// ReconnectDelay is the pause after the client has tried every server on its list: with a single
// server, after every attempt.
const ReconnectDelay = time.Second

// NotWatching is the name in histories of the client's own event for a watch that will not fire.
const NotWatching = "not-watching"

// HostName returns the client's address of a server.
func HostName(server int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(2181+server)) }

// GUIDs counts the GUIDs that a client has used for the names of protected nodes.
type GUIDs struct{ atomic.Uint64 }

// Next returns the next GUID of a process's client. Any goroutine may call it.
func (g *GUIDs) Next(process int) []byte {
	half := hash64.Mix(uint64(process), g.Add(1))
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, half),
		hash64.Mix(half, half))
}

// LateCalls counts the calls of a client after the end of the run; see [simzk.Link.ShutDown].
type LateCalls struct{ atomic.Int32 }

// maxLateCalls is the number of calls that a process may make after the end of the run. Otherwise a
// busy loop would keep virtual time from advancing.
const maxLateCalls = 1000

// Count counts a call, and blocks forever beyond the limit.
func (c *LateCalls) Count() {
	if c.Add(1) > maxLateCalls {
		select {}
	}
}
