// Package record records what a service does with the locks of package lock, as a history that
// interlock verify judges. It is a separate package so that package lock does no input or output.
//
//	recorder := record.New(file, hostname)
//	defer recorder.Close()
//	mutex, err := lock.NewMutex(session, "/locks/billing", lock.WithObserver(recorder))
//
// One recorder serves any number of locks of a process, of all kinds. A lease counts as a critical
// section, from its grant to its end. [Recorder.Do] records the critical section itself, and what
// its process is told of a loss.
package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

const (
	// tick is the time between two writes of what was recorded, and between two signs of life.
	tick = 50 * time.Millisecond
	// late is the time without a sign of life from which on the process was paused.
	late = 100 * time.Millisecond
	// pendingMax is the most bytes that wait for the writer.
	pendingMax = 16 << 20
)

// A Recorder is a [lock.Observer] that writes a history in JSON Lines. It records pauses of the
// process too, such as those of its virtual machine. It uses the wall clock, which advances while a
// machine sleeps. Its methods may be called concurrently.
type Recorder struct {
	writer  io.Writer
	writing sync.Mutex // held by a call of the writer

	mu         sync.Mutex
	pending    bytes.Buffer // events that are not written yet
	err        error
	closed     bool
	now, alive int64 // the time of the last event, and of the last sign of life
	attempts   int32
	contenders map[*lock.Attempt]*contender
	nodes      map[string]*contender

	closing, ended chan struct{}
}

// New returns a recorder that writes to w. The text names the process in reports. A process that
// restarts may append to the history, but two running processes need two histories.
//
// The recorder writes in the background, so that a slow writer does not delay the lock; a process
// that is killed loses its last events. Close it to write the rest.
func New(w io.Writer, process string) *Recorder {
	r := &Recorder{
		writer: w, alive: time.Now().UnixNano(),
		contenders: make(map[*lock.Attempt]*contender), nodes: make(map[string]*contender),
		closing: make(chan struct{}), ended: make(chan struct{}),
	}
	r.write(event{At: r.time(), Kind: "started", Name: process})
	go r.run()
	return r
}

// run writes what was recorded, and notices pauses, until the recorder is closed.
func (r *Recorder) run() {
	defer close(r.ended)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-r.closing:
			r.writing.Lock()
			defer r.writing.Unlock()
			r.flush()
			return
		case <-ticker.C:
		}
		r.mu.Lock()
		r.time()
		r.mu.Unlock()
		if r.writing.TryLock() { // A slow writer must not look like a pause.
			go func() {
				defer r.writing.Unlock()
				r.flush()
			}()
		}
	}
}

// Err returns the first error of the writer. Nothing is written after it, because the line may be
// incomplete.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close writes the rest of the history and returns the first error. It does not close the writer.
// What happens later is not recorded.
func (r *Recorder) Close() error {
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	r.mu.Unlock()
	if first {
		close(r.closing)
	}
	<-r.ended
	return r.Err()
}

// flush passes pending events to the writer. The caller holds r.writing.
func (r *Recorder) flush() {
	r.mu.Lock()
	lines := bytes.Clone(r.pending.Bytes())
	r.pending.Reset()
	failed := r.err != nil
	r.mu.Unlock()
	if failed || len(lines) == 0 {
		return
	}
	if _, err := r.writer.Write(lines); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = err
	}
}

// time returns the time of an event, which never goes back. If the process was paused until now, it
// records the pause. The caller holds r.mu.
func (r *Recorder) time() int64 {
	r.now = max(r.now, time.Now().UnixNano())
	if began := r.alive; r.now-began > int64(late) {
		r.alive = r.now
		r.write(event{At: began, Kind: "fault", Name: "pause"})
		r.write(event{At: r.now, Kind: "resumed"})
	}
	r.alive = r.now
	return r.now
}

// An event is a line of the history; see docs/production.md.
type event struct {
	At      int64  `json:"at_ns"` // since 1970
	Kind    string `json:"kind"`
	Process int32  `json:"process"` // verify numbers the processes
	Attempt int32  `json:"attempt,omitempty"`
	Zxid    int64  `json:"zxid,omitempty"`
	Op      string `json:"op,omitempty"`
	Path    string `json:"path,omitempty"`
	Name    string `json:"name,omitempty"`
	Err     string `json:"err,omitempty"`
}

var errSlow = errors.New("record: the writer is too slow")

// write adds an event to the pending ones. The caller holds r.mu.
func (r *Recorder) write(e event) {
	if r.err != nil || r.closed {
		return
	}
	if r.pending.Len() > pendingMax {
		r.err = errSlow
		return
	}
	e.Process = 1
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // Strings and integers can always be marshalled.
	}
	r.pending.Write(append(line, '\n'))
}
