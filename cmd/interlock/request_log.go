package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/interlock-sim/interlock/simzk/tcp"
)

// A requestLog writes a line of JSON for each request. A goroutine of its own writes, so that a
// slow reader does not delay the servers.
type requestLog struct {
	writer io.WriteCloser // nil without a log
	wake   chan struct{}  // has a value while lines may be pending
	done   chan struct{}  // closed when the goroutine has ended

	mu      sync.Mutex
	pending []byte
}

// loggedRequest is a line of the log.
type loggedRequest struct {
	At      time.Time     `json:"at"`
	Took    time.Duration `json:"took_ns"`
	Server  int           `json:"server"`
	Session string        `json:"session"` // in hexadecimal
	Request string        `json:"request"`
	Result  string        `json:"result"` // "" for success
	Zxid    string        `json:"zxid"`   // in hexadecimal
}

// openRequestLog creates the log. The path is "-" for stderr, or empty for no log.
func openRequestLog(path string, stderr io.Writer) (*requestLog, error) {
	l := &requestLog{wake: make(chan struct{}, 1), done: make(chan struct{})}
	switch path {
	case "":
		return l, nil
	case "-":
		l.writer = nopCloser{stderr}
	default:
		file, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		l.writer = file
	}
	go l.write()
	return l, nil
}

// note appends a request.
func (l *requestLog) note(r *tcp.Request) {
	if l.writer == nil {
		return
	}
	line, err := json.Marshal(loggedRequest{
		At: r.At, Took: r.Took, Server: r.Server, Session: fmt.Sprintf("0x%x", uint64(r.Session)),
		Request: r.Request, Result: r.Result, Zxid: fmt.Sprintf("0x%x", uint64(r.Zxid)),
	})
	if err != nil {
		panic(err) // The fields are numbers and text.
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(append(l.pending, line...), '\n')
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// write writes pending lines until the log is closed or a write fails.
func (l *requestLog) write() {
	defer close(l.done)
	for range l.wake {
		l.mu.Lock()
		lines := l.pending
		l.pending = nil
		l.mu.Unlock()
		if _, err := l.writer.Write(lines); err != nil {
			return
		}
	}
}

// close writes what is pending and closes the log. No request may be noted any more.
func (l *requestLog) close() {
	if l.writer == nil {
		return
	}
	close(l.wake)
	<-l.done
	l.writer.Close()
}
