package history

import "fmt"

const reasonRefused = "Lock failed for a process that still wanted the lock"

// cancelName is the name of the Fault by which a process gives up its attempt.
const cancelName = "cancel"

// CheckNoRefusal decides [NoRefusal]: a lock that is asked for is granted, however often the connection or the session
// is lost meanwhile.
//
// The property holds if Lock returns an error only to a process that has given up that attempt, which a Fault named
// "cancel" records. Together with [CheckProgress] it says that whoever asks for the lock and does not give up gets it.
//
// It takes time linear in the events, times the number of processes in the rare case that an attempt fails.
func CheckNoRefusal(events []Event) *Violation {
	for i := range events {
		e := &events[i]
		if e.Kind == LockReturn && e.Err != "" && !gaveUp(events[:i], e.Process) {
			return &Violation{Property: NoRefusal, Event: i, Reason: reasonRefused,
				Detail: fmt.Sprintf("c%d was told %q in attempt %d", e.Process, e.Err, e.Attempt)}
		}
	}
	return nil
}

// gaveUp reports whether the process has given up the attempt that is under way when the events end.
func gaveUp(events []Event, process int32) bool {
	for i := len(events) - 1; i >= 0; i-- {
		e := &events[i]
		switch {
		case e.Process != process:
		case e.Kind == Fault && e.Name == cancelName:
			return true
		case e.Kind == LockCall:
			return false
		}
	}
	return false
}
