package tcp

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// TestOutbox writes what was put, in order, and ends when that is done.
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
		o.pause()
	}
	o.end()
	<-done
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes, not %d", got.Len(), len(want))
	}
	if !o.put([]byte("late")) {
		t.Error("a message after the end is a reason to drop the connection")
	}
	o.pause() // must not wait
}

// TestOutboxFull puts a message of any length where little waits, and none where much does.
func TestOutboxFull(t *testing.T) {
	o := newOutbox()
	if !o.put(make([]byte, 2*outboxMax)) || o.put([]byte("x")) {
		t.Error("there is room where there should be none, or none where there should be")
	}
	paused := make(chan struct{})
	go func() {
		defer close(paused)
		o.pause()
	}()
	o.end()
	<-paused
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

// TestOutboxBroken ends when nothing can be written, so that nobody waits for it.
func TestOutboxBroken(t *testing.T) {
	o := newOutbox()
	o.put(make([]byte, 2*pauseAt))
	o.drain(broken{})
	o.pause()
	if !o.put(make([]byte, 10)) {
		t.Error("an outbox that has ended is full")
	}
	o.drain(io.Discard)
}
