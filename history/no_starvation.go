package history

import "fmt"

const reasonStarved = "a process that had queued was overtaken more often than the lock allows"

// A place is that of a process which waits.
type place struct {
	process   int32
	queued    int    // the index of the event since which overtakings count, 0 if they do not yet
	node      string // by which it has queued
	made      bool   // it has made a node in this attempt, and its connection has kept its state since
	late      int    // so many of the next nodes may be those of attempts before, which were given up before they had made one
	withdrawn bool   // the process has given this attempt up, and need not get the lock any more
	overtaken int
}

// lost is the place of a process whose node is gone.
func (p *place) lost() place {
	return place{process: p.process, made: p.made, late: p.late, withdrawn: p.withdrawn}
}

// CheckNoStarvation decides [NoStarvation]: whoever waits is overtaken only so often.
//
// It is judged from the Liveness event on, for before it the order may be unfair. A process has queued when it has made an
// ephemeral node while it waits for the lock; its place counts anew whenever the state of its connection changes, and where it
// has lost its node before the order became fair. Not for its own are taken the nodes that attempts before may have asked for,
// which were given up without one. Once the order is fair one that leaves the queue keeps its claim to a place. It is
// overtaken when the lock is granted to a process that called Lock after it had queued. The property holds if nobody is
// overtaken more often than Bounds.Overtakings before it has the lock, gives up, its call fails, or it crashes.
//
// It takes time linear in the events, times the number of processes that wait.
func CheckNoStarvation(events []Event, bounds Bounds) *Violation {
	var placeSpace [12]place
	var openSpace [12]opening
	places, open := placeSpace[:0], openSpace[:0]
	lively := false
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case Liveness:
			lively = true
			for p := range places {
				if places[p].queued != 0 {
					places[p].queued = i
				}
			}
		case LockCall:
			open = append(withoutOpening(open, e.Process), opening{e.Process, i})
			p := findPlace(places, e.Process)
			late := 0
			if p >= 0 {
				late = places[p].late
			}
			places = append(withoutPlace(places, e.Process), place{process: e.Process, late: late})
		case NodeCreated:
			if p := findPlace(places, e.Process); p >= 0 && e.Session != 0 {
				places[p].queue(e, i)
			}
		case NodeDeleted:
			if p := findPlace(places, e.Process); p >= 0 && places[p].node == e.Path && !lively {
				places[p] = places[p].lost()
			}
		case SessionState:
			if p := findPlace(places, e.Process); p >= 0 {
				places[p] = place{process: e.Process, late: places[p].late, withdrawn: places[p].withdrawn}
			}
		case Fault:
			if p := findPlace(places, e.Process); p >= 0 && e.Name == cancelName {
				places[p].withdrawn = true
				places[p] = places[p].lost()
			}
		case Crashed:
			places = withoutPlace(places, e.Process)
		case LockReturn:
			if p := overtake(places, open, e); p != nil && lively && p.overtaken > bounds.Overtakings {
				return &Violation{Property: NoStarvation, Event: i, Reason: reasonStarved,
					Detail: fmt.Sprintf("c%d, which has waited since event %d, was overtaken %d times, now by c%d",
						p.process, p.queued, p.overtaken, e.Process)}
			}
			if !lively {
				for p := range places {
					places[p].overtaken = 0
				}
			}
			places, open = left(places, e), withoutOpening(open, e.Process)
		}
	}
	return nil
}

// queue takes note of a node that the process has made.
func (p *place) queue(e *Event, index int) {
	switch {
	case p.late > 0:
		p.late--
		return
	case p.queued == 0 && !p.withdrawn:
		p.queued, p.node = index, e.Path
	}
	p.made = true
}

// left returns the places without that of a process whose call has returned, unless a node that it has asked for may yet come.
func left(places []place, e *Event) []place {
	if p := findPlace(places, e.Process); p >= 0 && e.Err != "" && !places[p].made {
		places[p] = place{process: e.Process, late: places[p].late + 1}
		return places
	}
	return withoutPlace(places, e.Process)
}

// overtake counts a grant against all whom it overtakes, and returns the one that was overtaken most often, or nil. Nobody queues
// before its own call.
func overtake(places []place, open []opening, e *Event) *place {
	o := findOpening(open, e.Process)
	if e.Err != "" || o < 0 {
		return nil
	}
	var most *place
	for p := range places {
		if places[p].queued != 0 && places[p].queued < open[o].call {
			places[p].overtaken++
			if most == nil || places[p].overtaken > most.overtaken {
				most = &places[p]
			}
		}
	}
	return most
}

func findPlace(places []place, process int32) int {
	for p := range places {
		if places[p].process == process {
			return p
		}
	}
	return -1
}

func withoutPlace(places []place, process int32) []place {
	if p := findPlace(places, process); p >= 0 {
		return append(places[:p], places[p+1:]...)
	}
	return places
}
