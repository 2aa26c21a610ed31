package explain

import "github.com/interlock-sim/interlock/history"

// longName explains a znode whose name is longer than the lock allows.
func (s *story) longName() bool {
	created := s.v.Event
	e := &s.Events[created]
	s.say("%s created %s (event %d), whose name has %d bytes, more than the lock allows.",
		process(e.Process), s.node(e.Path), s.cite(created), len(base(e.Path)))
	earlier := s.last(e.Process, created, func(o *history.Event) bool {
		return o.Kind == history.NodeCreated && o.Session != 0 &&
			history.Directory(o.Path) == history.Directory(e.Path) &&
			len(base(o.Path)) < len(base(e.Path))
	})
	if earlier >= 0 {
		s.say("An earlier node of it in the same directory, created at %s, has a name of %d bytes.",
			s.at(earlier), len(base(s.Events[earlier].Path)))
	}
	return true
}

// leftWatch explains a watch on a znode that does not exist.
func (s *story) leftWatch() bool {
	armed := s.v.Event
	e := &s.Events[armed]
	s.say("%s set a watch on %s (event %d), which does not exist.", process(e.Process),
		s.node(e.Path), s.cite(armed))
	if last := s.LastChange(e.Path, armed); last >= 0 &&
		s.Events[last].Kind == history.NodeDeleted {
		s.say("It had been deleted %s.", s.demise(last))
	}
	s.say("The watch stays until a node of that name is created or the session ends.")
	return true
}
