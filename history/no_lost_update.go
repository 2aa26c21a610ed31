package history

import "fmt"

const reasonLostUpdate = "a write was accepted that did not take an earlier write into account"

// CheckNoLostUpdate decides [NoLostUpdate]: a process that reads, computes and writes while it has the lock never
// overwrites what it has not seen. It is the effect that a lock is there for, measured at the resource and not at the
// lock.
//
// The property holds if whenever the resource accepts a write of a process, the version that the process read last, or
// made itself since, is the last version that there was. Versions are what the resource says: the Zxid of a
// ResourceRead and of a ResourceWrite. Where the resource is a znode, its Path stands in the ResourceRead, versions are
// zxids, and a write is accepted at its NodeCreated or NodeChanged, whether or not the process ever heard of that. A
// write of a process that has read nothing is not judged.
//
// It takes time linear in the events, times the number of resources and processes. [LostUpdates] counts.
func CheckNoLostUpdate(events []Event) *Violation {
	var v *Violation
	lostUpdates(events, func(i int, detail func() string) bool {
		v = &Violation{Property: NoLostUpdate, Event: i, Reason: reasonLostUpdate, Detail: detail()}
		return false
	})
	return v
}

// LostUpdates counts the writes that [NoLostUpdate] forbids, and all that were accepted.
func LostUpdates(events []Event) (lost, writes int) {
	writes = lostUpdates(events, func(int, func() string) bool { lost++; return true })
	return lost, writes
}

// lostUpdates calls lost for each lost update until that returns false, and returns how many writes were accepted.
func lostUpdates(events []Event, lost func(i int, detail func() string) bool) (writes int) {
	var resourceSpace [4]resource
	var readingSpace [12]reading
	resources, readings := resourceSpace[:0], readingSpace[:0]
	for i := range events {
		e := &events[i]
		if e.Kind == ResourceRead && e.Err == "" {
			resources = withResource(resources, e)
			if r := findReading(readings, e.Process, e.Path); r >= 0 {
				readings[r].version = e.Zxid
			} else {
				readings = append(readings, reading{e.Process, e.Path, e.Zxid})
			}
			continue
		}
		n := accepted(resources, e)
		if n < 0 {
			continue
		}
		writes++
		before := resources[n]
		resources[n].version, resources[n].writer = e.Zxid, e.Process
		r := findReading(readings, e.Process, e.Path)
		if r < 0 {
			continue
		}
		base := readings[r].version
		readings[r].version = e.Zxid
		if base != before.version && !lost(i, func() string {
			return fmt.Sprintf("c%d made version %d of version %d, and overwrote version %d of c%d",
				e.Process, e.Zxid, base, before.version, before.writer)
		}) {
			return writes
		}
	}
	return writes
}
