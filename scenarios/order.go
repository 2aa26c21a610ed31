package scenarios

import "github.com/interlock-sim/interlock/history"

// An order is what properties remember of grants and writes whose processes may have gone on since, or ended: below which token no
// grant may come, and who is older than the newest holder that has written. No code can tell, so that no key of a run holds it.
type order struct {
	seen    int // events
	highest int64
	outrun  uint64
	znode   bool // there is a resource that is one
}

// key folds the order into a key, once it has been brought up to date.
func (o *order) key(key uint64, events []history.Event, subject *Subject) uint64 {
	granted, written := false, false
	for i := o.seen; i < len(events); i++ {
		switch e := &events[i]; e.Kind {
		case history.LockReturn:
			granted = granted || e.Zxid != 0
		case history.ResourceRead:
			o.znode = o.znode || e.Path != ""
		case history.ResourceWrite:
			written = true
		case history.NodeCreated, history.NodeChanged:
			written = written || o.znode
		}
	}
	o.seen = len(events)
	if granted && subject.Claimed(history.Token) {
		o.highest = history.HighestToken(events)
	}
	if (written || granted || o.outrun != 0) && subject.Claimed(history.FencedExclusion) {
		o.outrun = history.Outrun(events)
	}
	return mix(mix(key, uint64(o.highest)), o.outrun)
}
