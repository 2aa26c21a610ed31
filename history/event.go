// Package history records the events of a run in a log, and names the properties that locks claim.
// Package history/check decides them.
//
// The package does not depend on the source of the events: a simulation, or a service in
// production.
package history

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Kind is the kind of an [Event].
type Kind uint8

// The Kinds of events. The comment names the fields that each uses beside At, Kind and Process.
const (
	_ Kind = iota

	// Events between a process and its lock.

	LockCall // the process calls Lock. Attempt, Op (the mode)
	// Lock returned. Attempt, Op (the mode), Err, Validity; Path and Zxid of its node; Name of a
	// lock without nodes
	LockReturn
	Enter        // the process enters its critical section. Attempt, Op (the mode)
	Leave        // the process leaves its critical section. Attempt
	Lost         // the process is notified that it has lost the lock. Attempt
	UnlockCall   // the process calls Unlock. Attempt
	UnlockReturn // Unlock returned. Attempt, Err
	Finished     // the process has completed its script

	// Messages between a process and the ensemble.

	Send  // a request leaves the process. Request, Op, Path
	Reply // a reply reaches the process. Request, Op, Path, Zxid, Err
	// a watch event reaches the process. Watch, Path, Name (the event's type), Zxid (of the
	// trigger)
	WatchEvent
	SessionState // the client library reports a state of the connection. Name, Session

	// Events in the ensemble. Process is the one whose request or session caused the event.

	Serve // the server has handled a request. Request, Op, Path, Zxid, Err
	// Path, Zxid, Session (the ephemeral owner, 0 for a persistent node); with several servers
	// Server (the leader)
	NodeCreated
	NodeDeleted // Path, Zxid, Session (the ephemeral owner)
	NodeChanged // the data of a node were set. Path, Zxid
	// a watch was registered. Watch, Path, Session, Name (data, exist or child); Request, 0 if a
	// client sets the watch again; with several servers Server, and Zxid, the last that it had
	// applied
	WatchArmed
	// a watch was triggered and its event queued. Watch, Path, Zxid, Name (the event's type)
	WatchFired
	WatchGone      // a watch ended with the connection that carried it. Watch, Path
	SessionOpened  // Session, Zxid
	SessionExpired // Session, Zxid
	SessionClosed  // Session, Zxid
	Logged         // a follower has logged a proposal that is not committed yet. Server, Zxid
	Applied        // a follower has applied a transaction. Server, Zxid
	// a server has become the leader. Server, Zxid (of the first transaction of its epoch)
	Leading

	// Events of the harness.

	// a fault was injected. Name, Op (the phase of the lock), Server (of a fault of a server),
	// Server and Peer (of a fault of a link)
	Fault
	// a link or a server was healed. Server, Peer; of a link between servers the direction from
	// Server to Peer
	Healed
	Resumed   // a paused process continues
	Crashed   // the process stopped permanently
	Tick      // time passed
	FairPhase // from here on no fault strikes and the schedule is fair

	// Further events between a process and its lock, and events of a holder. They come last because
	// trace hashes depend on the numbers of kinds.

	ReenterCall   // the holder calls Lock again. Attempt
	ReenterReturn // that call returned. Attempt, Err
	Exited        // the holder has undone one reentry. Attempt, Err
	// the process has read the protected resource. Attempt, Path, Zxid (the version read), Err if
	// refused
	ResourceRead
	// the process has written the resource, or was refused. Attempt, Path, Zxid (the version
	// written), Err
	ResourceWrite

	// Messages between a process and a server that is no ZooKeeper, and events in such a server.
	// With several servers each has Server.

	Command  // a command leaves the process. Op
	Executed // the server has executed the command. Op, Name (the result)
	Answer   // the result reaches the process. Op, Name (the result)
	// the process has set a key. Path, Zxid (how many keys were set before, on all servers)
	KeySet
	KeyDeleted // the process has deleted a key. Path, Zxid (of its KeySet)
	KeyExpired // the time of a key is over. Path, Zxid (of its KeySet)
	KeyLost    // a fault has undone a KeySet. Path, Zxid (of the KeySet)

	// the holder has asked to extend the validity time of the lock. Attempt, Err; Validity
	Extended

	// the recorder of a service has started: from here on, its log is of another process. Name
	Started

	// the process has seen the leader of an election. Attempt; Zxid (the fencing token of the
	// leader's term, 0 if nobody leads), Path (of the leader's node), Name (of the leader)
	Observed

	// The process calls the lock, within its Lock, with a time limit: the call must give up when
	// that is over, and at once without one. Attempt; Validity (the limit)
	TimedCall
	TimedReturn // that call returned. Attempt, Err

	// The process gives up its place in the queue, within its Lock, and queues again later. Attempt
	Forfeited

	Kinds
)

var kindNames = [Kinds]string{
	LockCall: "lock-call", LockReturn: "lock-return", Enter: "enter", Leave: "leave", Lost: "lost",
	UnlockCall: "unlock-call", UnlockReturn: "unlock-return", Finished: "finished",
	Send: "send", Reply: "reply", WatchEvent: "watch-event", SessionState: "session-state",
	Serve: "serve", NodeCreated: "node-created", NodeDeleted: "node-deleted",
	NodeChanged: "node-changed",
	WatchArmed:  "watch-armed", WatchFired: "watch-fired", WatchGone: "watch-gone",
	SessionOpened: "session-opened", SessionExpired: "session-expired",
	SessionClosed: "session-closed",
	ReenterCall:   "reenter-call", ReenterReturn: "reenter-return", Exited: "exited",
	ResourceRead: "resource-read", ResourceWrite: "resource-write",
	Logged: "logged", Applied: "applied", Leading: "leading",
	Fault: "fault", Healed: "healed", Resumed: "resumed", Crashed: "crashed", Tick: "tick",
	FairPhase: "fair-phase",
	Command:   "command", Executed: "executed", Answer: "answer", KeySet: "key-set",
	KeyDeleted: "key-deleted", KeyExpired: "key-expired", KeyLost: "key-lost",
	Extended: "extended", Started: "started", Observed: "observed",
	TimedCall: "timed-call", TimedReturn: "timed-return", Forfeited: "forfeited",
}

// String returns the name of the kind in a trace file.
func (k Kind) String() string {
	if k > 0 && k < Kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// AtServer reports whether events of the kind are between a process and a server that is no
// ZooKeeper, or in such a server.
func (k Kind) AtServer() bool { return Command <= k && k <= KeyLost }

// OfKey reports whether events of the kind change a key.
func (k Kind) OfKey() bool { return KeySet <= k && k <= KeyLost }

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText sets the kind to the one with the name, or returns an error that names it.
func (k *Kind) UnmarshalText(text []byte) error {
	for i := Kind(1); i < Kinds; i++ {
		if kindNames[i] == string(text) {
			*k = i
			return nil
		}
	}
	return fmt.Errorf("unknown kind of event %q", text)
}

// InServer reports whether an event of the kind happens in a server: in ZooKeeper's ensemble, or in
// another server ([Kind.AtServer]).
func (k Kind) InServer() bool {
	return Serve <= k && k <= Leading || k == Executed || KeySet <= k && k <= KeyLost
}

// ConnectionLost is the Name of an Executed that ends a transaction because the server has lost the
// connection of the process.
const ConnectionLost = "connection lost"

// OpenFails begins the Err of a LockReturn if the process never called Lock, because it could not
// open its handle on the lock. Its LockCall stands for that attempt.
const OpenFails = "Subject.Open fails: "

// FailsToOpen reports whether the event ends an attempt at a lock that could not be opened.
func (e *Event) FailsToOpen() bool {
	return e.Kind == LockReturn && strings.HasPrefix(e.Err, OpenFails)
}

// An Event is one event of a history. Its Kind decides which fields are used. The order of the log
// is the order of the events; At gives the time between them.
type Event struct {
	At   time.Duration `json:"at_ns"` // virtual time since the run began
	Kind Kind          `json:"kind"`
	// the server at the other end of the link, from 1; 0 if the event concerns no link
	Peer uint8 `json:"peer,omitempty"`
	// of a Fault: from here on a session may end before its timeout, and a sync may be stale
	Relaxes bool `json:"relaxes,omitempty"`
	// of a Tick: a lock may have ended by its own clock, because a message was in flight or the
	// service stores data that can expire. Of an Executed: the command may have changed data, or
	// set the same again. Not in the trace hash
	MayEndLock bool `json:"may_end_lock,omitempty"`
	// the process, from 1, or one of its threads (see [ProcessOf]); 0 if the event concerns the
	// ensemble alone
	Process int32 `json:"process,omitempty"`
	// the process's attempt at the lock, from 1
	Attempt int32 `json:"attempt,omitempty"`
	Request int32 `json:"request,omitempty"` // the process's request, from 1
	// of messages between a process and the ensemble, and of watches: the connection, from 2; 0 if
	// it is the process's first or only one
	Connection int32 `json:"connection,omitempty"`
	Watch      int32 `json:"watch,omitempty"` // the watch, numbered from 1 over the whole run
	// the server, from 1; 0 if the ensemble has only one
	Server int32 `json:"server,omitempty"`
	// the length of a Send or a Reply on the wire, in bytes; 0 if unknown
	Bytes   int32  `json:"bytes,omitempty"`
	Zxid    int64  `json:"zxid,omitempty"`    // the transaction
	Session int64  `json:"session,omitempty"` // the session
	Op      string `json:"op,omitempty"`      // the operation, the phase of the lock, or the mode
	Path    string `json:"path,omitempty"`    // the znode
	Name    string `json:"name,omitempty"`    // a further name; see the Kind
	Err     string `json:"err,omitempty"`     // the error, or empty

	// of a LockReturn and an Extended: how long the process may rely on the lock from then on, by
	// its own clock; 0 if the lock has no validity time. Of a TimedCall: its time limit
	Validity time.Duration `json:"validity_ns,omitempty"`

	// of a Lost: how long ago the lock told the process of the loss; 0 if that is unknown; not in
	// the trace hash
	Ago time.Duration `json:"ago_ns,omitempty"`

	Facts *Facts `json:"facts,omitempty"` // details for reports, or nil; not in the trace hash
}

// SharedMode is the mode of an attempt that may share the lock with others of that mode, as a
// reader. The mode of an exclusive attempt is "".
const SharedMode = "shared"

// Shared reports whether the event is of an attempt in shared mode.
func (e *Event) Shared() bool { return e.Op == SharedMode }

// semaphoreMode precedes the number of places in the mode of an attempt at a semaphore.
const semaphoreMode = "place of "

// SemaphoreMode returns the mode of an attempt at a lock that several may hold at once. The limits
// of a simulated lock give the number instead; see [Limits].
func SemaphoreMode(places int) string { return semaphoreMode + strconv.Itoa(places) }

// Places returns the number of places that the mode of the event's attempt names, otherwise 1.
func (e *Event) Places() int {
	if text, ok := strings.CutPrefix(e.Op, semaphoreMode); ok {
		if places, err := strconv.Atoi(text); err == nil {
			return max(1, places)
		}
	}
	return 1
}

// FormatZxid renders a zxid. After an election it is the epoch of the leader and a counter.
func FormatZxid(zxid int64) string {
	if epoch := zxid >> 32; epoch > 0 {
		return fmt.Sprintf("%d:%d", epoch, zxid&(1<<32-1))
	}
	return fmt.Sprint(zxid)
}

// Directory returns the path of a znode's parent, or "" if the path has no slash.
func Directory(path string) string {
	slash := strings.LastIndexByte(path, '/')
	if slash == 0 {
		return path[:1]
	}
	return path[:max(slash, 0)]
}
