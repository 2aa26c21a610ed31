package check

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// undisturbed holds the open attempts at the lock in which nothing has happened that the process
// can take for a loss of the lock. An attempt opens when the process first changes a node or a key,
// or is granted the lock, and not when it calls Lock, because a reduction may put that call first.
// Until a first fault of any kind strikes, those are all attempts in a history that shows sessions
// or keys, as that of a service in production does not, but these:
//   - the process was told of a loss, or its session has ended;
//   - another process has deleted a node of the process or written any node, or the process itself
//     has deleted its node before Unlock;
//   - another process has set or deleted a key that the process has set, or such a key is gone;
//   - time has passed while a message was in flight or the service stored data that can expire, or
//     since a grant with a validity time: a lock may have ended by its own clock.
type undisturbed struct {
	shown    bool // a session or a key
	faulted  bool
	attempts []undisturbedAttempt
	set      []attemptSet // nodes and keys that their processes have made, if they exist
	keys     unreleased
}

// An undisturbedAttempt is an open attempt of a process.
type undisturbedAttempt struct {
	process   int32
	timed     bool // its grant has a validity time
	holds     bool // granted, and Unlock is not called
	unchanged bool // granted before the process changed a node or a key
	disturbed bool
}

// An attemptSet is a node that a process has created, or a key that it has set, in its open
// attempt.
type attemptSet struct {
	process int32
	server  int32 // of a key; -1 for a node
	path    string
}

// undisturbedKinds holds the kinds of events that an undisturbed observes.
const undisturbedKinds = 1<<history.LockCall | 1<<history.LockReturn | 1<<history.UnlockCall |
	1<<history.UnlockReturn |
	1<<history.Lost | 1<<history.SessionState | 1<<history.SessionExpired |
	1<<history.SessionOpened | 1<<history.SessionClosed | 1<<history.NodeCreated |
	1<<history.NodeDeleted |
	1<<history.NodeChanged | 1<<history.Fault | 1<<history.Crashed | 1<<history.Tick |
	1<<history.KeySet | 1<<history.KeyDeleted | 1<<history.KeyExpired | 1<<history.KeyLost

func (u *undisturbed) reset() {
	*u = undisturbed{
		attempts: u.attempts[:0], set: u.set[:0],
		keys: unreleased{u.keys.inFlight[:0], u.keys.keys[:0]},
	}
}

func (u *undisturbed) copy(from *undisturbed) {
	u.shown, u.faulted = from.shown, from.faulted
	u.attempts = append(u.attempts[:0], from.attempts...)
	u.set = append(u.set[:0], from.set...)
	u.keys.copy(&from.keys)
}

func (u *undisturbed) state(s *State) {
	if u.faulted {
		return // No attempt is undisturbed any more.
	}
	sum := 1 + bit(u.shown, 1) + u.keys.key(s)
	for _, a := range u.attempts {
		if !s.ended(a.process) {
			sum += scatter(uint64(a.process)<<3 | bit(a.timed, 0) | bit(a.disturbed, 1) |
				bit(a.holds, 2))
		}
	}
	for i := range u.set {
		k := &u.set[i]
		sum += fold(s.text(k.path), uint64(k.server)<<32|uint64(k.process))
	}
	s.fold(sum, 0)
}

// has reports whether the open attempt of a process is undisturbed.
func (u *undisturbed) has(process int32) bool {
	i := u.find(process)
	return u.shown && i >= 0 && !u.attempts[i].disturbed
}

// alone reports whether no other thread of a process has an open attempt.
func (u *undisturbed) alone(process int32) bool {
	return !slices.ContainsFunc(u.attempts, func(a undisturbedAttempt) bool {
		of, _ := history.ProcessOf(a.process)
		return of == process && a.process != process
	})
}

// find returns the position of the attempt of a process, or -1.
func (u *undisturbed) find(process int32) int {
	return slices.IndexFunc(u.attempts,
		func(a undisturbedAttempt) bool { return a.process == process })
}

// open opens an attempt of the process unless one is open.
func (u *undisturbed) open(process int32) {
	if u.find(process) < 0 {
		u.attempts = append(u.attempts, undisturbedAttempt{process: process})
	}
}

// opens reports whether the grant opens the attempt of its process, or has opened it.
func (u *undisturbed) opens(e *history.Event) bool {
	i := u.find(e.Process)
	return !u.faulted && e.Kind == history.LockReturn && e.Err == "" &&
		(i < 0 || u.attempts[i].unchanged)
}

// close forgets the attempt of a process.
func (u *undisturbed) close(process int32) {
	if i := u.find(process); i >= 0 {
		u.attempts = slices.Delete(u.attempts, i, i+1)
	}
	u.dropSet()
}

// disturb notes a disturbance of the attempts for which a condition holds.
func (u *undisturbed) disturb(disturbed func(undisturbedAttempt) bool) {
	for i := range u.attempts {
		u.attempts[i].disturbed = u.attempts[i].disturbed || disturbed(u.attempts[i])
	}
	u.dropSet()
}

// disturbProcess notes a disturbance of the attempt of a process.
func (u *undisturbed) disturbProcess(process int32) {
	u.disturb(func(a undisturbedAttempt) bool { return a.process == process })
}

// dropSet forgets the nodes and keys of attempts that are not undisturbed.
func (u *undisturbed) dropSet() {
	u.set = slices.DeleteFunc(u.set, func(k attemptSet) bool {
		i := u.find(k.process)
		return i < 0 || u.attempts[i].disturbed
	})
}

// observe processes event i.
func (u *undisturbed) observe(e *history.Event, i int) {
	if !u.faulted {
		u.keys.observe(e, i, e.Kind == history.UnlockReturn && e.Err == "" && u.has(e.Process) &&
			u.alone(e.Process))
	}
	switch {
	case u.faulted, undisturbedKinds>>e.Kind&1 == 0:
	case e.Kind == history.SessionOpened:
		u.shown = true
	case e.Kind == history.Fault, e.Kind == history.Crashed:
		u.reset()
		u.faulted = true
	case e.Kind == history.LockReturn && e.Err == "":
		unchanged := u.find(e.Process) < 0
		u.open(e.Process)
		a := &u.attempts[u.find(e.Process)]
		a.timed, a.holds, a.unchanged = e.Validity > 0, true, unchanged
	case e.Kind == history.UnlockCall:
		if i := u.find(e.Process); i >= 0 {
			u.attempts[i].holds = false
		}
	case e.Kind == history.LockCall, e.Kind == history.LockReturn, e.Kind == history.UnlockReturn:
		u.close(e.Process)
	case e.Kind == history.NodeCreated, e.Kind == history.NodeDeleted:
		node := attemptSet{e.Process, -1, e.Path}
		if e.Kind == history.NodeDeleted && slices.Contains(u.set, node) {
			u.disturb(func(a undisturbedAttempt) bool { return a.process == e.Process && a.holds })
		}
		u.observeChange(node, e.Kind == history.NodeCreated)
	case e.Kind == history.NodeChanged:
		u.open(e.Process)
		u.disturb(func(a undisturbedAttempt) bool { return a.process != e.Process })
	case e.Kind == history.Tick:
		u.disturb(func(a undisturbedAttempt) bool { return a.timed || e.MayEndLock })
	case e.Kind.OfKey():
		u.shown = true
		u.observeChange(attemptSet{e.Process, e.Server, e.Path}, e.Kind == history.KeySet)
	case e.Kind != history.SessionState || e.Name == expiredState:
		u.disturbProcess(e.Process)
	}
}

// observeChange processes a change of a node or a key. If made is set, the process has made it.
func (u *undisturbed) observeChange(by attemptSet, made bool) {
	u.disturb(func(a undisturbedAttempt) bool {
		return a.process != by.process &&
			slices.Contains(u.set, attemptSet{a.process, by.server, by.path})
	})
	u.set = slices.DeleteFunc(u.set, func(k attemptSet) bool { return k == by })
	if made {
		u.open(by.process)
		u.set = append(u.set, by)
		u.dropSet()
	}
}
