package explain

import (
	"github.com/interlock-sim/interlock/history"
)

// overwrote leads with a process that took the lock by setting a znode whose data another holder
// had set since the process read them. The two grants may be in any order.
func (s *story) overwrote(a, b int) {
	for _, grants := range [][2]int{{a, b}, {b, a}} {
		if s.overwroteBy(grants[0], grants[1]) {
			return
		}
	}
}

// overwroteBy leads with the change of a znode by which one grant overwrote what the other holder
// had written in its own attempt, and reports whether there is one. A change counts if it came
// between the service of the overwriting process's last read and its own change: no later one
// separates the two, so that its request would have failed with the version that the read returned.
func (s *story) overwroteBy(grant, other int) bool {
	number, rival := s.Events[grant].Process, s.Events[other].Process
	call := s.last(number, grant, of(history.LockCall))
	theirs := s.last(rival, other, of(history.LockCall))
	if call < 0 || theirs < 0 || number == rival {
		return false
	}
	for i := grant - 1; i > call; i-- {
		e := &s.Events[i]
		r := s.Request(i)
		if e.Kind != history.NodeChanged || e.Process != number || r == nil || r.Send < call {
			continue
		}
		read, lost := s.LastRead(number, e.Path, -1, r.Send), s.LastChange(e.Path, i)
		if read < 0 || lost < theirs || lost >= other || s.Events[lost].Process != rival ||
			s.Events[lost].Kind != history.NodeChanged {
			continue
		}
		asked := s.Request(read)
		if asked == nil || asked.Serve < 0 || asked.Serve > lost {
			continue
		}
		if lost < read {
			s.show(read)
			read = asked.Serve // The reply was on its way when the other process wrote.
		}
		unchecked := ""
		if w, known := s.Written(i); known && w.Version == nil {
			unchecked = " without a version check"
		}
		p := process(number)
		s.lead("%s overwrote what %s had written (event %d) since %s's read of %s (event %d): it "+
			"set %s%s (event %d).", p, process(rival), s.cite(lost), p, s.node(e.Path),
			s.cite(read), s.node(e.Path), unchecked, s.cite(i))
		return true
	}
	return false
}
