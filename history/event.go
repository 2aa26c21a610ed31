// Package history holds what happened in a run, as a log of typed events, and decides whether it
// was right.
//
// It does not know who produced the events: a simulation, or a service in production. Checkers are
// pure functions of the events; each stands in a file named after the property that it decides.
package history

import (
	"fmt"
	"time"
)

// Kind says what an [Event] records.
type Kind uint8

// The kinds of events. The comment names the fields that each uses beside At, Kind and Process.
const (
	_ Kind = iota

	// What a process asked of its lock, and was told.

	LockCall // the process asks for the lock. Attempt
	// Lock returned. Attempt, Err; Path and Zxid of its node; Name of a lock without nodes
	LockReturn
	Enter        // the process enters its critical section. Attempt
	Leave        // the process leaves its critical section. Attempt
	Lost         // the process was told that it no longer holds the lock. Attempt
	UnlockCall   // the process gives the lock back. Attempt
	UnlockReturn // Unlock returned. Attempt, Err
	Finished     // the process has done all that its script says

	// What passed between a process and the ensemble.

	Send  // a request leaves the process. Request, Op, Path
	Reply // a reply reaches the process. Request, Op, Path, Zxid, Err
	// a watch event reaches the process. Watch, Path, Name (the event's type), Zxid (of the
	// trigger)
	WatchEvent
	SessionState // the client library reports a state of the connection. Name, Session

	// What happened in the ensemble. Process is the one whose request or session caused it.

	Serve // the server has handled a request. Request, Op, Path, Zxid, Err
	// Path, Zxid, Session (the ephemeral owner, 0 for a persistent node), Server (the leader, of
	// several)
	NodeCreated
	NodeDeleted // Path, Zxid, Session (the ephemeral owner)
	NodeChanged // the data of a node were set. Path, Zxid
	// a watch was registered. Watch, Path, Session, Name (data, exist or child); Request is 0 if it
	// was known before;
	WatchArmed
	// of several servers Server, and Zxid, the last that it had applied
	// a watch was triggered, its event queued. Watch, Path, Zxid, Name (the event's type)
	WatchFired
	WatchGone      // a watch ended with the connection that carried it. Watch, Path
	SessionOpened  // Session, Zxid
	SessionExpired // Session, Zxid
	SessionClosed  // Session, Zxid
	// a server that is not the leader has logged a proposal that is not committed yet. Server, Zxid
	Logged
	Applied // a server that is not the leader has applied a transaction. Server, Zxid
	// a server has become the leader. Server, Zxid (from which on it numbers transactions)
	Leading

	// What the harness did.

	// a fault landed. Name, and in Op the phase of the lock that it landed in; Server of one that
	// strikes a server; Peer of a link
	Fault
	// a link works again, or a server. Server, Peer; of a link between servers the direction from
	// Server to Peer
	Healed
	Resumed   // a process that was paused goes on
	Crashed   // the process stopped for good
	Tick      // time passed
	FairPhase // from here on no faults, and a fair order

	// What else a process asked of its lock, and what it did while it had it. They stand last
	// because a trace hash holds the numbers of kinds.

	ReenterCall   // the process, which has the lock, asks for it once more. Attempt
	ReenterReturn // that call returned. Attempt, Err
	Exited        // the process has given back one that it had taken once more. Attempt, Err
	// the process has read the protected resource. Attempt, Path, Zxid (the version that it saw),
	// Err if refused
	ResourceRead
	// the process has written to the resource, or been refused. Attempt, Path, Zxid (the version
	// that it made), Err
	ResourceWrite

	kinds
)

var kindNames = [kinds]string{
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
}

// String returns the name under which the kind stands in a trace file.
func (k Kind) String() string {
	if k > 0 && k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText sets the kind from its name, or returns an error that names the unknown kind.
func (k *Kind) UnmarshalText(text []byte) error {
	for i := Kind(1); i < kinds; i++ {
		if kindNames[i] == string(text) {
			*k = i
			return nil
		}
	}
	return fmt.Errorf("unknown kind of event %q", text)
}

// An Event is one thing that happened. Which fields count depends on its Kind. The order of events
// in a log is the order in which they happened; At only tells how much time lay between them.
type Event struct {
	At   time.Duration `json:"at_ns"` // virtual time since the run began
	Kind Kind          `json:"kind"`  // what happened
	// the server at the other end of the link that it concerns, from 1; 0 if it concerns none
	Peer uint8 `json:"peer,omitempty"`
	// of a Fault: from here on a session may end before its timeout, and a sync may be stale
	Relaxes bool `json:"relaxes,omitempty"`
	// whom it concerns, from 1; 0 where it is the ensemble alone
	Process int32 `json:"process,omitempty"`
	// which of the process's attempts at the lock, from 1
	Attempt int32 `json:"attempt,omitempty"`
	Request int32 `json:"request,omitempty"` // the process's request, numbered from 1
	Watch   int32 `json:"watch,omitempty"`   // the watch, numbered from 1 over the whole run
	// the server, from 1; 0 where the ensemble has but one
	Server int32 `json:"server,omitempty"`
	// how long the message is on the wire, of a Send or a Reply; 0 if not known
	Bytes   int32  `json:"bytes,omitempty"`
	Zxid    int64  `json:"zxid,omitempty"`    // the transaction
	Session int64  `json:"session,omitempty"` // the session
	Op      string `json:"op,omitempty"`      // the operation, or the phase of the lock
	Path    string `json:"path,omitempty"`    // the znode
	Name    string `json:"name,omitempty"`    // a further name, as the Kind says
	Err     string `json:"err,omitempty"`     // how it failed; empty where it did not
}
