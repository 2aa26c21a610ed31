package tcp

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// TestOutbox checks that messages are written in order and that drain then ends.
func TestOutbox(t *testing.T) {
	o := newOutbox()
	var got bytes.Buffer
	var want []byte
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.drain(&got)
	}()
	for i := range 10_000 {
		message := bytes.Repeat([]byte{byte(i)}, i%97)
		want = append(want, message...)
		if !o.put(message) {
			t.Fatal("no room")
		}
		o.waitForRoom()
	}
	o.close()
	<-done
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes, want %d", got.Len(), len(want))
	}
	if !o.put([]byte("late")) {
		t.Error("put refuses a message after close")
	}
	o.waitForRoom() // must not block
}

// TestOutboxFull checks that an outbox accepts a message of any length below the limit and none
// above it.
func TestOutboxFull(t *testing.T) {
	o := newOutbox()
	if !o.put(make([]byte, 2*outboxMaxBytes)) || o.put([]byte("x")) {
		t.Error("an empty outbox refuses a message or a full one accepts one")
	}
	paused := make(chan struct{})
	go func() {
		defer close(paused)
		o.waitForRoom()
	}()
	o.close()
	<-paused
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

// TestOutboxBroken checks that a failed write ends drain and unblocks waiting callers.
func TestOutboxBroken(t *testing.T) {
	o := newOutbox()
	o.put(make([]byte, 2*pauseBytes))
	o.drain(broken{})
	o.waitForRoom()
	if !o.put(make([]byte, 10)) {
		t.Error("put refuses a message after a failed write")
	}
	o.drain(io.Discard)
}
