package conform

import (
	"encoding/binary"
	"fmt"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// handshake opens a further connection on both sides with a mutated first frame, and compares the
// responses. It closes the session that the servers open.
func (r *frameRound) handshake() *FrameDifference {
	request := newSession()
	if r.percent(20) {
		request.LastZxidSeen = 1 << 60
	}
	request.TimeoutMillis = oneOf[int32](r.generator, 0, -1, 1, 4000, 30000, 1<<30)
	frame := r.mutate(wire.AppendConnectRequest(nil, request))
	length := len(frame)
	if r.percent(10) {
		length = oneOf(r.generator, -1, wire.MaxFrame+1, 1<<31-1, -1<<31)
	}
	if wire.DecodeConnectRequest(frame, request) == nil && request.SessionID != 0 &&
		r.sides[reference].sessions[request.SessionID] !=
			r.sides[subject].sessions[request.SessionID] {
		return nil
	}
	r.stats.Frames++
	r.stats.Handshakes++
	var seen [2]string
	for i, s := range r.sides {
		seen[i] = s.firstFrame(length, frame)
	}
	if seen[subject] != seen[reference] {
		return r.difference(fmt.Sprintf("handshake of length %d", length), frame, seen[subject],
			seen[reference])
	}
	return nil
}

// firstFrame opens a connection with a first frame and describes the server's response.
func (s *side) firstFrame(length int, frame []byte) string {
	c := dial(s.host)
	c.write(append(binary.BigEndian.AppendUint32(nil, uint32(length)), frame...))
	response := c.frame()
	if c.err != nil {
		defer c.closeConnection()
		return "connection: " + outcome(c.err)
	}
	text := fmt.Sprintf("%d bytes", len(response))
	if err := wire.DecodeConnectResponse(response, &c.ConnectResponse); err != nil {
		c.closeConnection()
		return text + ", " + err.Error()
	}
	text += fmt.Sprintf(", timeout %d, session %t", c.TimeoutMillis, c.SessionID != 0)
	if c.SessionID == 0 {
		return text + ", " + awaitEnd(c).String()
	}
	c.close()
	return fmt.Sprintf("%s, closed %t", text, c.closed)
}
