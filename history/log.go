package history

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
)

// A Log holds the events of one run in their order. The zero value is an empty log. A Log is not
// safe for concurrent use.
type Log struct {
	events []Event
	buffer []byte // scratch for Hash
	marked Mark

	gathersFacts bool // see GatherFacts
	threads      int  // of each process; see SetThreads
}

// A Mark is a position in a log to which the log can be truncated. The zero value is the beginning.
type Mark struct {
	events int
	digest xxhash.Digest // of the events before; not initialized if there are none
}

// Mark returns the current end of the log. It takes time linear in the number of events since the
// last mark.
func (l *Log) Mark() Mark {
	m := l.marked
	if m.events == 0 {
		m.digest.Reset()
	}
	m.digest.Write(l.encoded(m.events))
	m.events = len(l.events)
	l.marked = m
	return m
}

// Return truncates the log to the mark. The mark must be one of this log, and no later than any
// mark to which the log has been truncated.
func (l *Log) Return(m Mark) { l.events, l.marked = l.events[:m.events], m }

// encoded returns the encoding of the events from the given one on. It is valid until the next
// call.
func (l *Log) encoded(from int) []byte {
	b := l.buffer[:0]
	for i := from; i < len(l.events); i++ {
		b = l.events[i].appendBinary(b)
	}
	l.buffer = b
	return b
}

// NewLog returns a log of the events, and takes ownership of the slice.
func NewLog(events []Event) *Log { return &Log{events: events} }

// Append adds an event at the end. It completes the children in the event's facts.
func (l *Log) Append(e Event) {
	if e.Facts != nil && l.gathersFacts {
		l.identify(&e)
	}
	l.events = append(l.events, e)
	if l.threads > 1 && e.StrikesThreads() {
		process := e.Process
		for t := 2; t <= l.threads; t++ {
			e.Process = ThreadNumber(process, t)
			l.events = append(l.events, e)
		}
	}
}

// Events returns all events. The log owns the slice: the caller must not change it, and it is valid
// until the next call of Append or Reset.
func (l *Log) Events() []Event { return l.events }

// Len returns the number of events.
func (l *Log) Len() int { return len(l.events) }

// Reset empties the log and keeps its memory for the next run.
func (l *Log) Reset() { l.events, l.marked = l.events[:0], Mark{} }

// Hash returns the trace hash: 64 bits over every field of every event except Ago, MayEndLock and
// the facts, in order. Equal logs have equal hashes on every machine. It takes time linear in the
// number of events since the last [Log.Mark].
func (l *Log) Hash() uint64 {
	if l.marked.events == 0 {
		return xxhash.Sum64(l.encoded(0))
	}
	digest := l.marked.digest
	digest.Write(l.encoded(l.marked.events))
	return digest.Sum64()
}

// appendBinary appends an unambiguous encoding, in which a length precedes every string.
func (e *Event) appendBinary(b []byte) []byte {
	b = append(b, byte(e.Kind))
	return e.appendFields(binary.AppendVarint(b, int64(e.At)))
}

// appendFields appends all fields except the kind and the time.
func (e *Event) appendFields(b []byte) []byte {
	b = appendVarint(b, int64(e.Process))
	if e.Attempt|e.Request|e.Watch == 0 { // the common case
		b = append(b, 0, 0, 0)
	} else {
		b = appendVarint(appendVarint(appendVarint(b, int64(e.Attempt)), int64(e.Request)),
			int64(e.Watch))
	}
	b = appendVarint(appendVarint(b, e.Zxid), e.Session)
	b = appendString(appendString(b, e.Op), e.Path)
	b = appendString(appendString(b, e.Name), e.Err)
	if e.Server != 0 {
		b = append(b, 0) // No event begins with 0: there is no kind 0.
		b = binary.AppendVarint(b, int64(e.Server))
	}
	if e.Bytes != 0 {
		b = append(b, 0, 0) // A server follows one 0, and there is no server 0.
		b = binary.AppendVarint(b, int64(e.Bytes))
	}
	if e.Peer != 0 {
		b = append(b, 0, 0, 0, e.Peer) // A length follows two 0, and no length is 0.
	}
	if e.Relaxes {
		b = append(b, 0, 0, 0, 0) // A peer follows three 0, and there is no peer 0.
	}
	if e.Validity != 0 {
		b = append(b, 0, 0, 0, 0, 0) // A kind follows four 0, or nine if the event also relaxes.
		b = binary.AppendVarint(b, int64(e.Validity))
	}
	if e.Connection != 0 {
		b = append(b, 0, 0, 0, 0, 0, 0) // A validity time follows five 0, and none is 0.
		b = binary.AppendVarint(b, int64(e.Connection))
	}
	return b
}

// appendVarint is [binary.AppendVarint] with a fast path for small numbers.
func appendVarint(b []byte, v int64) []byte {
	if uint64(v) < 1<<6 {
		return append(b, byte(v<<1))
	}
	return binary.AppendVarint(b, v)
}

// appendString appends the length of a string and the string.
func appendString(b []byte, s string) []byte {
	if s == "" {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// processesMax is the highest process number that Read accepts. A timeline has a column for each.
const processesMax = 10_000

// Write writes the log as JSON Lines, one line for each event.
func (l *Log) Write(w io.Writer) error {
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	for i := range l.events {
		if err := encoder.Encode(&l.events[i]); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// ErrTorn is the error of a log whose writer died while it wrote the last line.
var ErrTorn = errors.New("the last line is incomplete")

// Read reads a log that [Log.Write] wrote. It ignores unknown fields, so that an older reader
// accepts a newer file. If a line is not an event, the error gives the number of the line. If the
// last line ends within an event, Read returns the log of the lines before it, and an error that
// wraps [ErrTorn].
func Read(r io.Reader) (*Log, error) {
	log, ended := new(Log), true
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	scanner.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		ended = bytes.IndexByte(data, '\n') >= 0
		return bufio.ScanLines(data, atEOF)
	})
	for line := 1; scanner.Scan(); line++ {
		var e Event
		err := json.Unmarshal(scanner.Bytes(), &e)
		if syntax := (*json.SyntaxError)(nil); !ended && errors.As(err, &syntax) {
			return log, fmt.Errorf("line %d: %w", line, ErrTorn)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if e.Kind == 0 {
			return nil, fmt.Errorf("line %d: no kind of event", line)
		}
		if process, thread := ProcessOf(e.Process); e.Process < 0 || process > processesMax ||
			thread > ThreadsMax {
			return nil, fmt.Errorf("line %d: process %d is not from 0 to %d", line, e.Process,
				processesMax)
		}
		log.events = append(log.events, e)
	}
	return log, scanner.Err()
}
