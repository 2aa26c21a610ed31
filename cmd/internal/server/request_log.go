package server

import (
	"encoding/json"
	"errors"
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
	writer io.Writer     // nil without a log
	file   *os.File      // the writer, unless that is stderr
	wake   chan struct{} // has a value while lines may be pending
	done   chan struct{} // closed when the goroutine has ended
	err    error         // of writing; to be read when the goroutine has ended

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

// openRequestLog opens the log, to which lines are appended. The path is "-" for stderr, or empty
// for no log.
func openRequestLog(path string, stderr io.Writer) (*requestLog, error) {
	l := &requestLog{wake: make(chan struct{}, 1), done: make(chan struct{})}
	switch path {
	case "":
		return l, nil
	case "-":
		l.writer = stderr
	default:
		var err error
		l.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			return nil, err
		}
		l.writer = l.file
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
		if _, l.err = l.writer.Write(lines); l.err != nil {
			return
		}
	}
}

// close writes what is pending and closes the log. No request may be noted any more. It returns
// the error of the first write that failed, after which no more was written.
func (l *requestLog) close() error {
	if l.writer == nil {
		return nil
	}
	close(l.wake)
	<-l.done
	if l.file == nil {
		return l.err
	}
	return errors.Join(l.err, l.file.Close())
}
