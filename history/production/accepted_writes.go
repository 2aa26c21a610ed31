package production

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// A revision is a write that a resource accepted, with what its process knew by then, in the order
// of the process.
type revision struct {
	event   int
	version int64
	base    int64 // the version that the process had last read or written, -1 if none
	token   int64 // of the attempt's grant, 0 if unknown
}

// A resourceKey identifies a resource by its name, or else by the number of the lock that protects
// it.
type resourceKey struct {
	path string
	lock int
}

// revisions returns the writes of each resource in the order of their versions, and the resources
// in the order of their first writes. It ignores events of a resource without a name if the lock
// that protects it is unknown, and those of attempts that do not exclude all others.
func revisions(events []history.Event) [][]revision {
	type reader struct {
		process  int32
		resource resourceKey
	}
	names := lockNames(events)
	var all [][]revision
	numbers := make(map[resourceKey]int)
	bases, tokens := make(map[reader]int64), make(map[attemptKey]int64)
	admitting := make(map[attemptKey]bool)
	for i := range events {
		e := &events[i]
		if e.Err != "" {
			continue
		}
		key := attemptKey{e.Process, e.Attempt}
		if e.Kind == history.LockReturn || e.Kind == history.Enter {
			admitting[key] = e.Shared() || e.Places() > 1
		}
		if e.Kind == history.LockReturn {
			tokens[key] = e.Zxid
		}
		resource, known := names.resource(e)
		if !known || admitting[key] {
			continue
		}
		by := reader{e.Process, resource}
		switch {
		case e.Kind == history.ResourceRead:
			bases[by] = e.Zxid
		case e.Zxid != 0:
			r := revision{i, e.Zxid, -1, tokens[key]}
			if base, ok := bases[by]; ok {
				r.base, bases[by] = base, e.Zxid
			}
			number, ok := numbers[resource]
			if !ok {
				number = len(all)
				numbers[resource], all = number, append(all, nil)
			}
			all[number] = append(all[number], r)
		}
	}
	for _, one := range all {
		slices.SortStableFunc(one, func(a, b revision) int {
			return cmp.Compare(a.version, b.version)
		})
	}
	return all
}

// resource returns the resource that an event reads or writes. It returns false if there is none,
// or if the resource has no name and its lock is unknown.
func (n *lockNaming) resource(e *history.Event) (r resourceKey, known bool) {
	switch {
	case e.Kind != history.ResourceRead && e.Kind != history.ResourceWrite:
		return r, false
	case e.Path != "":
		return resourceKey{path: e.Path}, true
	case len(n.all) <= 1:
		return r, true
	}
	r.lock, known = n.of[attemptKey{e.Process, e.Attempt}]
	return r, known
}

func lostUpdateByVersion(events []history.Event) []*history.Violation {
	var violations []*history.Violation
	for _, all := range revisions(events) {
		for n := 1; n < len(all); n++ {
			w, before := &all[n], &all[n-1]
			if w.base >= 0 && w.base < before.version {
				detail := fmt.Sprintf("%s made version %d of version %d, "+
					"and overwrote version %d of %s", history.ProcessName(events[w.event].Process),
					w.version, w.base, before.version,
					history.ProcessName(events[before.event].Process))
				violations = append(violations, &history.Violation{
					Property: history.NoLostUpdate, Event: w.event, Reason: check.ReasonLostUpdate,
					Detail: detail,
					Evidence: history.Evidence{
						Process: events[w.event].Process, Other: events[before.event].Process,
						Events: []int{before.event}, Zxid: w.base, After: before.version,
					},
				})
			}
		}
	}
	return violations
}

func fencingByVersion(events []history.Event) []*history.Violation {
	var violations []*history.Violation
	for _, all := range revisions(events) {
		newest := revision{}
		for _, w := range all {
			if w.token == 0 {
				continue
			}
			if w.token < newest.token {
				detail := fmt.Sprintf("%s wrote with token %d, after %s with %d",
					history.ProcessName(events[w.event].Process), w.token,
					history.ProcessName(events[newest.event].Process), newest.token)
				violations = append(violations, &history.Violation{
					Property: history.Fencing, Event: w.event,
					Reason: check.ReasonLateWrite, Detail: detail,
					Evidence: history.Evidence{
						Process: events[w.event].Process, Other: events[newest.event].Process,
						Events: []int{newest.event}, Zxid: w.token, After: newest.token,
					},
				})
				continue
			}
			newest = w
		}
	}
	return violations
}
