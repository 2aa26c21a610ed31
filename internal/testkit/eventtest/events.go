package eventtest

import "github.com/interlock-sim/interlock/history"

// LockCall is a call of Lock.
func LockCall(p, attempt int32) history.Event {
	return history.Event{Kind: history.LockCall, Process: p, Attempt: attempt}
}

// In returns the event as one of an attempt in the mode.
func In(mode string, e history.Event) history.Event {
	e.Op = mode
	return e
}

// Shared returns the event as one of an attempt in shared mode.
func Shared(e history.Event) history.Event { return In(history.SharedMode, e) }

// LockOK is a grant by a node.
func LockOK(p, attempt int32, path string) history.Event {
	return history.Event{Kind: history.LockReturn, Process: p, Attempt: attempt, Path: path}
}

// LockFailed is a failure of Lock.
func LockFailed(p, attempt int32) history.Event {
	return history.Event{Kind: history.LockReturn, Process: p, Attempt: attempt, Err: "timeout"}
}

// Observed is the observation of a leader by a node, in a term; of none if the term is 0.
func Observed(p, leader int32, path string, term int64) history.Event {
	e := history.Event{Kind: history.Observed, Process: p, Path: path, Zxid: term}
	if term != 0 {
		e.Name = history.ProcessName(leader)
	}
	return e
}

// UnlockCall is a call of Unlock.
func UnlockCall(p, attempt int32) history.Event {
	return history.Event{Kind: history.UnlockCall, Process: p, Attempt: attempt}
}

// UnlockOK is a successful return of Unlock.
func UnlockOK(p, attempt int32) history.Event {
	return history.Event{Kind: history.UnlockReturn, Process: p, Attempt: attempt}
}

// UnlockFailed is a failure of Unlock.
func UnlockFailed(p, attempt int32) history.Event {
	return history.Event{
		Kind: history.UnlockReturn, Process: p, Attempt: attempt,
		Err: "connection loss",
	}
}

// On is an event of a process without other fields.
func On(kind history.Kind, p int32) history.Event { return history.Event{Kind: kind, Process: p} }

// Cancelled is the fault that cancels an attempt.
func Cancelled(p int32) history.Event {
	return history.Event{Kind: history.Fault, Process: p, Name: "cancel"}
}

// Crash is the crash of a process.
func Crash(p int32) history.Event { return On(history.Crashed, p) }

// Session returns the session of a process.
func Session(p int32) int64 { return 100 + int64(p) }

// Created is the creation of an ephemeral node.
func Created(p int32, path string, zxid int64) history.Event {
	return history.Event{
		Kind: history.NodeCreated, Process: p, Path: path, Zxid: zxid,
		Session: Session(p),
	}
}

// Persistent is the creation of a persistent node.
func Persistent(p int32, path string, zxid int64) history.Event {
	return history.Event{Kind: history.NodeCreated, Process: p, Path: path, Zxid: zxid}
}

// Deleted is the deletion of a node.
func Deleted(p int32, path string, zxid int64) history.Event {
	return history.Event{
		Kind: history.NodeDeleted, Process: p, Path: path, Zxid: zxid,
		Session: Session(p),
	}
}

// Changed is a change of the data of a node.
func Changed(p int32, path string, zxid int64) history.Event {
	return history.Event{Kind: history.NodeChanged, Process: p, Path: path, Zxid: zxid}
}

// Expired is the expiry of a session.
func Expired(p int32) history.Event {
	return history.Event{Kind: history.SessionExpired, Process: p, Session: Session(p)}
}

// State is a session state that the client library reports.
func State(p int32, name string) history.Event {
	return history.Event{Kind: history.SessionState, Process: p, Name: name, Session: Session(p)}
}

// Armed is the arming of a watch of a kind.
func Armed(p, watch int32, path, kind string) history.Event {
	return history.Event{
		Kind: history.WatchArmed, Process: p, Watch: watch, Path: path, Name: kind,
		Session: Session(p),
	}
}

// Fired is the firing of a watch by a deletion.
func Fired(p, watch int32, path string, zxid int64) history.Event {
	return history.Event{
		Kind: history.WatchFired, Process: p, Watch: watch, Path: path, Zxid: zxid,
		Name: "deleted",
	}
}

// Gone is the end of a watch with its connection.
func Gone(p, watch int32, path string) history.Event {
	return history.Event{Kind: history.WatchGone, Process: p, Watch: watch, Path: path}
}

// Delivered is the event of a watch that a deletion has fired.
func Delivered(p, watch int32, path string, zxid int64) history.Event {
	return history.Event{
		Kind: history.WatchEvent, Process: p, Watch: watch, Path: path, Zxid: zxid,
		Name: "deleted",
	}
}

// NotWatching is the report that a watch is gone.
func NotWatching(p, watch int32, path string) history.Event {
	return history.Event{
		Kind: history.WatchEvent, Process: p, Watch: watch, Path: path,
		Name: "not-watching",
	}
}

// Reply is a reply that shows a transaction.
func Reply(p int32, zxid int64) history.Event {
	return history.Event{Kind: history.Reply, Process: p, Zxid: zxid}
}

// Token is a grant with a fencing token.
func Token(p, attempt int32, token int64) history.Event {
	return history.Event{Kind: history.LockReturn, Process: p, Attempt: attempt, Zxid: token}
}

// Lost is the notification of a loss.
func Lost(p, attempt int32) history.Event {
	return history.Event{Kind: history.Lost, Process: p, Attempt: attempt}
}

// Reenter is a call that reenters the lock.
func Reenter(p, attempt int32) history.Event {
	return history.Event{Kind: history.ReenterCall, Process: p, Attempt: attempt}
}

// Reentered is a successful reentry.
func Reentered(p, attempt int32) history.Event {
	return history.Event{Kind: history.ReenterReturn, Process: p, Attempt: attempt}
}

// ReenterFailed is a failed reentry.
func ReenterFailed(p, attempt int32) history.Event {
	return history.Event{Kind: history.ReenterReturn, Process: p, Attempt: attempt, Err: "no"}
}

// Exited is the end of a reentry.
func Exited(p, attempt int32) history.Event {
	return history.Event{Kind: history.Exited, Process: p, Attempt: attempt}
}

// Read is a read of a version of the resource.
func Read(p, attempt int32, version int64) history.Event {
	return history.Event{Kind: history.ResourceRead, Process: p, Attempt: attempt, Zxid: version}
}

// Wrote is an accepted write of a version of the resource.
func Wrote(p, attempt int32, version int64) history.Event {
	return history.Event{Kind: history.ResourceWrite, Process: p, Attempt: attempt, Zxid: version}
}

// Refused returns the event as one that the resource refuses.
func Refused(e history.Event) history.Event {
	e.Err = "stale token"
	return e
}

// Enter is the entry into the critical section.
func Enter(p, attempt int32) history.Event {
	return history.Event{Kind: history.Enter, Process: p, Attempt: attempt}
}
