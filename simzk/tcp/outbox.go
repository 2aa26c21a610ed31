package tcp

import (
	"io"
	"sync"
)

// The bounds of what waits for a client to read it.
const (
	// pauseAt is how many bytes may wait before no more requests are taken from the client.
	pauseAt = 1 << 20
	// outboxMax is how many bytes may wait before the connection is dropped, which only watch
	// events can bring about. A message that finds fewer waiting may be of any length.
	outboxMax = 16 << 20
	// bufferKept is the length up to which a buffer is kept for later.
	bufferKept = 64 << 10
)

// An outbox holds what is to be written to a connection, so that nobody waits for a slow client but
// the client's own goroutines.
type outbox struct {
	mu      sync.Mutex
	changed *sync.Cond
	pending []byte
	writing int  // bytes that have been taken and are not yet written
	ended   bool // nothing more comes in
}

func newOutbox() *outbox {
	o := new(outbox)
	o.changed = sync.NewCond(&o.mu)
	return o
}

// put appends a message and reports whether there was room.
func (o *outbox) put(message []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending)+o.writing > outboxMax {
		return false
	}
	if !o.ended {
		o.pending = append(o.pending, message...)
		o.changed.Broadcast()
	}
	return true
}

// end lets nothing more in. What is in still leaves.
func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.changed.Broadcast()
}

// pause waits while so much waits that the client had better read it before it asks for more.
func (o *outbox) pause() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.pending)+o.writing > pauseAt && !o.ended {
		o.changed.Wait()
	}
}

// drain writes what comes in until nothing more does, or until it cannot be written.
func (o *outbox) drain(w io.Writer) {
	var buffer []byte
	for {
		if buffer = o.take(buffer); len(buffer) == 0 {
			return
		}
		if _, err := w.Write(buffer); err != nil {
			o.end()
			return
		}
	}
}

// take returns what is to be written next, or nothing at the end. The buffer has been written.
func (o *outbox) take(buffer []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing = 0
	o.changed.Broadcast()
	for len(o.pending) == 0 && !o.ended {
		o.changed.Wait()
	}
	if cap(buffer) > bufferKept {
		buffer = nil
	}
	taken := o.pending
	o.pending, o.writing = buffer[:0], len(taken)
	return taken
}
