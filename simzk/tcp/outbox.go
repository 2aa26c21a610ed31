package tcp

import (
	"io"
	"sync"
	"time"
)

// Limits of the messages pending for a client.
const (
	// pauseBytes is the number of pending bytes above which no more requests are read from the
	// client.
	pauseBytes = 1 << 20
	// outboxMaxBytes is the number of pending bytes above which the connection is dropped. Only
	// watch events can exceed it. A message of any length is accepted while fewer bytes are
	// pending.
	outboxMaxBytes = 16 << 20
	// bufferKeptBytes is the largest buffer that is reused.
	bufferKeptBytes = 64 << 10
)

// An outbox queues messages for a connection, so that a slow client blocks only its own goroutines.
type outbox struct {
	mu      sync.Mutex
	changed *sync.Cond
	pending []byte
	writing int  // bytes taken but not yet written
	closed  bool // no more messages are accepted
	stalled bool // nothing is written
	paused  bool // nothing is written, and drain does not end
	aborted bool // nothing is written, and drain ends
	delay   time.Duration
	delayed []delayedMessage // the pending messages, if any of them was delayed
	timed   bool             // notify will be called
}

// A delayedMessage is the part of an outbox's bytes, up to an end, that is due at a time.
type delayedMessage struct {
	end int
	due time.Time
}

func newOutbox() *outbox {
	o := new(outbox)
	o.changed = sync.NewCond(&o.mu)
	return o
}

// put appends a message. It returns false if too many bytes are pending. A closed outbox drops the
// message and returns true.
func (o *outbox) put(message []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending)+o.writing > outboxMaxBytes {
		return false
	}
	if !o.closed {
		if o.delay > 0 && len(o.delayed) == 0 && len(o.pending) > 0 {
			o.delayed = append(o.delayed, delayedMessage{end: len(o.pending)})
		}
		o.pending = append(o.pending, message...)
		if o.delay > 0 || len(o.delayed) > 0 {
			o.delayed = append(o.delayed, delayedMessage{len(o.pending), time.Now().Add(o.delay)})
		}
		o.changed.Broadcast()
	}
	return true
}

// close stops accepting messages. Pending messages are still written.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
}

// abort drops the pending messages and stops accepting others.
func (o *outbox) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.aborted, o.pending, o.delayed = true, true, nil, nil
	o.changed.Broadcast()
}

// waitForRoom blocks while more than pauseBytes are pending.
func (o *outbox) waitForRoom() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.pending)+o.writing > pauseBytes && !o.closed {
		o.changed.Wait()
	}
}

// drain writes messages until the outbox is closed and empty, or until a write fails.
func (o *outbox) drain(w io.Writer) {
	var buffer []byte
	for {
		if buffer = o.take(buffer); len(buffer) == 0 {
			return
		}
		if _, err := w.Write(buffer); err != nil {
			o.close()
			return
		}
	}
}

// take returns the bytes to write next, or none at the end. It reuses the buffer, which has been
// written.
func (o *outbox) take(buffer []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing = 0
	o.changed.Broadcast()
	ready := o.ready()
	for ; ready == 0 && !o.ended(); ready = o.ready() {
		o.changed.Wait()
	}
	if cap(buffer) > bufferKeptBytes {
		buffer = nil
	}
	taken := o.pending[:ready]
	o.pending = append(buffer[:0], o.pending[ready:]...)
	o.writing = ready
	for i := range o.delayed {
		o.delayed[i].end -= ready
	}
	return taken
}

// ended reports whether no more bytes will be written. The caller holds o.mu.
func (o *outbox) ended() bool {
	return o.aborted || o.closed && !o.paused && len(o.pending) == 0
}

// ready returns how many bytes may be written now. If it is none because messages are delayed, the
// outbox changes when the first is due. A closed outbox drops what is stalled. The caller holds
// o.mu.
func (o *outbox) ready() int {
	switch {
	case o.paused:
		return 0
	case o.stalled && o.closed:
		o.pending, o.delayed = nil, nil
		return 0
	case o.stalled:
		return 0
	case len(o.delayed) == 0:
		return len(o.pending)
	}
	ready := 0
	for len(o.delayed) > 0 {
		if wait := time.Until(o.delayed[0].due); wait > 0 {
			if ready == 0 && !o.timed {
				o.timed = true
				time.AfterFunc(wait, o.notify)
			}
			break
		}
		ready = o.delayed[0].end
		o.delayed = o.delayed[1:]
	}
	return ready
}

func (o *outbox) notify() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timed = false
	o.changed.Broadcast()
}

// set changes how messages are written from now on.
func (o *outbox) set(n *network) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.delay, o.stalled, o.paused = n.delay, n.repliesStalled, n.paused
	o.changed.Broadcast()
}
