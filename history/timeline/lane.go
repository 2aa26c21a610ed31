package timeline

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// A state is the course of a lane: the events at which its sign changes.
type state struct {
	from []int    // indexes of events
	sign []string // from that event on
}

// The signs of a lane.
const (
	signConnected    = "│"
	signDisconnected = "┊"
	signHolds        = "┃"
	signHoldsAlone   = "┇" // holds the lock, and is not connected
	signEnded        = " "
	signEvent        = "●"
	signFault        = "✂"
)

// statesOf returns the course of each lane.
func statesOf(events []history.Event, lanes []int) []state {
	states := make([]state, len(lanes))
	for l, lane := range lanes {
		states[l] = stateOf(events, lane)
	}
	return states
}

// stateOf returns the course of the lane of a process, or of the ensemble.
func stateOf(events []history.Event, lane int) state {
	s := state{from: []int{-1}, sign: []string{signConnected}}
	if lane == 0 {
		return s
	}
	connected, holds, ended := true, false, false
	var attempt int32 // of the last grant
	for i := range events {
		e := &events[i]
		if int(e.Process) != lane {
			continue
		}
		switch e.Kind {
		case history.LockReturn:
			holds, attempt = e.Err == "", e.Attempt
		case history.Lost:
			holds = holds && e.Attempt != attempt
		case history.UnlockReturn:
			holds = false
		case history.SessionState:
			connected = e.Name == "has-session"
		case history.Crashed:
			ended = true
		case history.Finished:
			ended = !acts(events[i:], e.Process)
		default:
			continue
		}
		sign := signConnected
		switch {
		case ended:
			sign = signEnded
		case holds && !connected:
			sign = signHoldsAlone
		case holds:
			sign = signHolds
		case !connected:
			sign = signDisconnected
		}
		if sign != s.sign[len(s.sign)-1] {
			s.from, s.sign = append(s.from, i), append(s.sign, sign)
		}
	}
	return s
}

// acts reports whether the code of a process sends a request in the given events. Its client
// library keeps the session, and ends it.
func acts(events []history.Event, process int32) bool {
	return slices.ContainsFunc(events, func(e history.Event) bool {
		if e.Process != process || e.Kind != history.Send {
			return e.Process == process && e.Kind == history.Command
		}
		return e.Op != "connect" && e.Op != "set-watches" && e.Op != "close"
	})
}

// at returns the sign of the lane at an event. If the event is in this lane, that is its mark.
func (s *state) at(event int, marked bool, events []history.Event) string {
	if marked {
		if events[event].Kind == history.Fault {
			return signFault
		}
		return signEvent
	}
	n, found := slices.BinarySearch(s.from, event)
	if !found {
		n--
	}
	return s.sign[max(n, 0)]
}
