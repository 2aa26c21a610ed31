package history

import (
	"strings"
	"time"
)

// Facts describe an event beyond the fields that decide properties: the contents of a message, and
// the source line that sent it. A producer of events gathers them only for reports; see
// [Log.GatherFacts]. They are no part of the trace hash, and no checker reads them.
type Facts struct {
	// of a Send: the innermost call in the code under test, such as billing/lock.go:42, and the
	// name of its function. The file is relative to the root of the main module; one of another
	// module begins with that module's path and version, such as example.com/m@v1.2.0/lock.go:42.
	Line     string `json:"line,omitempty"`
	Function string `json:"function,omitempty"`

	// of a Reply to a listing, in the order of the reply; not nil if there are none
	Children []Child `json:"children,omitzero"`

	// of a Reply to a read of one znode
	Exists *bool `json:"exists,omitempty"`
	Stat   *Stat `json:"stat,omitempty"` // of a Reply, if the znode exists

	// of a Reply the data read, of a Send the data to write; at most [FactBytes] bytes
	Data string `json:"data,omitempty"`

	// of a Send: the version that the znode must have, unless any will do
	Version *int32 `json:"version,omitempty"`

	// of a Send and a Reply of a multi: its operations
	Operations []Operation `json:"operations,omitempty"`

	// of an Executed: the keys that the command changed without setting them anew
	Changes []Change `json:"changes,omitempty"`

	// of the last event of a history: the goroutines that were still blocked in the code under test
	Waits []Wait `json:"waits,omitempty"`
}

// FactBytes is the maximum length of the data in [Facts].
const FactBytes = 256

// A Child is a name in the reply to a listing.
type Child struct {
	Name    string `json:"name"`
	Process int32  `json:"process,omitempty"` // the creator; 0 if unknown
	Live    bool   `json:"live"`              // the znode exists when the reply arrives
}

// A Stat is what a reply says of a znode.
type Stat struct {
	Czxid   int64 `json:"czxid"`           // the transaction that created it
	Mzxid   int64 `json:"mzxid"`           // the transaction that last changed its data
	Version int32 `json:"version"`         // the number of changes of its data
	Owner   int64 `json:"owner,omitempty"` // the session of an ephemeral znode
}

// An Operation is a part of a multi.
type Operation struct {
	Op      string `json:"op"`
	Path    string `json:"path,omitempty"`
	Version *int32 `json:"version,omitempty"` // that the znode must have, unless any will do
	Data    string `json:"data,omitempty"`    // of a Send: to write; at most [FactBytes] bytes
	Err     string `json:"err,omitempty"`     // of a Reply
}

// A Change is a change of a key that is neither a KeySet nor its end.
type Change struct {
	Path string `json:"path"`
	// The process that had set the key may lose it: the key expires sooner, or may name another
	// owner.
	Contests bool `json:"contests,omitempty"`
}

// A Wait is a goroutine that is blocked in the code under test.
type Wait struct {
	Process int32 `json:"process"`
	// the blocking operation, such as "chan receive" or "select", or the call of the client library
	On       string `json:"on"`
	Line     string `json:"line,omitempty"`
	Function string `json:"function,omitempty"`
	// the time of the last event that the process caused or received
	Since time.Duration `json:"since_ns"`
}

// GatherFacts sets whether the producers of the log's events gather [Facts]. A log that gathers
// them is slower. The zero value of a Log gathers none; Reset keeps the setting.
func (l *Log) GatherFacts(on bool) { l.gathersFacts = on }

// GathersFacts reports whether the producers of the log's events gather [Facts].
func (l *Log) GathersFacts() bool { return l.gathersFacts }

// SetWaits stores the goroutines that are blocked at the end of the run in the facts of the last
// event. It has no effect on a log that is empty or gathers no facts.
func (l *Log) SetWaits(waits []Wait) {
	if !l.gathersFacts || len(l.events) == 0 || len(waits) == 0 {
		return
	}
	last := &l.events[len(l.events)-1]
	facts := Facts{}
	if last.Facts != nil {
		facts = *last.Facts
	}
	facts.Waits = waits
	last.Facts = &facts
}

// NoteChange stores a change of a key in the facts of the last Executed. It has no effect on a log
// that gathers no facts.
func (l *Log) NoteChange(c Change) {
	for i := len(l.events) - 1; l.gathersFacts && i >= 0; i-- {
		e := &l.events[i]
		if e.Kind != Executed {
			continue
		}
		if e.Facts == nil {
			e.Facts = new(Facts)
		}
		e.Facts.Changes = append(e.Facts.Changes, c)
		return
	}
}

// identify completes the children in the facts of an event that is about to be appended: who
// created each, and whether it exists. A child that was there before the history began is live
// unless the history deletes it.
func (l *Log) identify(e *Event) {
	for i := range e.Facts.Children {
		child := &e.Facts.Children[i]
		child.Process, child.Live = 0, true
		path := strings.TrimSuffix(e.Path, "/") + "/" + child.Name
		for n := len(l.events) - 1; n >= 0; n-- {
			if earlier := &l.events[n]; earlier.Path != path {
				continue
			} else if earlier.Kind == NodeCreated {
				child.Process = earlier.Process
				break
			} else if earlier.Kind == NodeDeleted {
				child.Live = false
			}
		}
	}
}
