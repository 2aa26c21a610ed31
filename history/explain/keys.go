package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
)

// ownRelease explains the deletion of another process's key.
func (s *story) ownRelease() bool {
	deletion := s.v.Event
	e := &s.Events[deletion]
	theirs, known := s.earlier()
	if e.Kind != history.KeyDeleted || !known {
		return false
	}
	p, q := process(e.Process), process(s.Events[theirs].Process)
	s.lead("%s released a lock that was not its own: it deleted the key %q%s (event %d), which %s "+
		"had set (event %d).", p, e.Path, onServer(e), s.cite(deletion), q, s.cite(theirs))
	mine := s.last(e.Process, theirs, func(set *history.Event) bool {
		return set.Kind == history.KeySet && set.Path == e.Path && set.Server == e.Server
	})
	if mine < 0 {
		s.say("%s had not set the key on that server before %s did.", p, q)
	} else {
		s.say("%s had set the key %s.", p, s.in(mine))
	}
	for i := mine + 1; mine >= 0 && i < theirs; i++ {
		if end := &s.Events[i]; end.Kind.OfKey() && end.Zxid == s.Events[mine].Zxid {
			s.say("That key %s %s, and then %s set it %s.", keyEnd(end, e.Process), s.in(i), q,
				s.in(theirs))
		}
	}
	s.sayDeletion(deletion, theirs)
	return true
}

// sayDeletion tells by which command a process deleted a key that another had set, and what had led
// it to that.
func (s *story) sayDeletion(deletion, theirs int) {
	if executed := s.execution(deletion); executed >= 0 {
		op, blind := s.Events[executed].Op, ""
		if verb, _, _ := strings.Cut(op, " "); verb == "DEL" || verb == "UNLINK" {
			blind = " and did not look at its value" // A statement may, and a script.
		}
		s.say("The command %q of %s deleted the key%s.", op, process(s.Events[deletion].Process),
			blind)
		s.outdated(deletion, theirs)
	}
}

// unlocked explains an Unlock that failed, or left a key to its expiry.
func (s *story) unlocked() bool {
	e := &s.Events[s.v.Event]
	p := process(e.Process)
	if e.Err != "" {
		s.lead("%s's Unlock returned %q (event %d), although no fault had struck and nothing had "+
			"ended the lock before.", p, e.Err, s.cite(s.v.Event))
		return true
	}
	expiry, known := s.earlier()
	if known {
		s.lead("%s's Unlock returned without an error (event %d), but its key %q was free only "+
			"when it expired (event %d).", p, s.cite(s.v.Event), s.v.Evidence.Path, s.cite(expiry))
		s.say("No command since the call of Unlock has changed the key or set its expiry.")
	}
	return known
}

// outdated tells which result had led a process to the deletion of a key, if the server had given
// it before another process set the key.
func (s *story) outdated(deletion, theirs int) {
	command := s.Command(deletion)
	if command < 0 {
		return
	}
	e := &s.Events[command]
	answer := s.last(e.Process, command, func(o *history.Event) bool {
		return o.Kind == history.Answer && o.Server == e.Server
	})
	if answer < s.last(e.Process, command, of(history.LockCall, history.UnlockCall)) ||
		answer < 0 || s.Events[answer].Op == e.Op {
		return
	}
	executed := s.executed(answer)
	if executed >= 0 && executed < theirs {
		s.say("Its %s before that had given %s (event %d), but the server had executed it before "+
			"%s set the key (event %d).", s.Events[answer].Op, s.Events[answer].Name,
			s.cite(answer), process(s.Events[theirs].Process), s.cite(executed))
	}
}

// executed returns the execution of the command that an answer is to, or -1 if the same command
// was executed several times since the last such answer.
func (s *story) executed(answer int) int {
	if answer < 0 {
		return -1
	}
	e, executed := &s.Events[answer], -1
	for i := answer - 1; i >= 0; i-- {
		switch o := &s.Events[i]; {
		case o.Process != e.Process || o.Server != e.Server || o.Op != e.Op:
		case o.Kind == history.Answer:
			return executed
		case o.Kind == history.Executed && executed >= 0:
			return -1
		case o.Kind == history.Executed:
			executed = i
		}
	}
	return executed
}

// keyEnd says how a key of a process has gone.
func keyEnd(e *history.Event, owner int32) string {
	switch {
	case e.Kind == history.KeyLost:
		return "was lost"
	case e.Kind == history.KeyExpired:
		return "expired"
	case e.Process == owner:
		return "was deleted by " + process(owner) + " itself"
	}
	return "was deleted by " + process(e.Process)
}

// lostKeys tells how keys that a holder had set were gone before an event, and reports whether it
// knows.
func (s *story) lostKeys(holder int32, grant, before int) bool {
	q, set := process(holder), map[int64]int{}
	call := s.last(holder, grant, of(history.LockCall))
	told := s.takenOver(holder, grant, before) || s.rolledBack(holder, grant, before)
	var sent, expired []int // commands under way, and the expiry of their keys
	for i := range s.Events[:before] {
		e := &s.Events[i]
		if e.Kind == history.KeySet && e.Process == holder {
			set[e.Zxid] = i
			continue
		}
		since, own := set[e.Zxid]
		if !e.Kind.OfKey() || e.Kind == history.KeySet || !own || i < call {
			continue
		}
		foreign := e.Kind == history.KeyDeleted && e.Process != holder
		if i < grant && e.Kind == history.KeyDeleted && !(foreign && s.deprives(i, since, grant)) {
			continue
		}
		told = true
		s.unnoticed(holder, grant, before, i, fmt.Sprintf("its key %q%s %s%s", e.Path, onServer(e),
			keyEnd(e, holder), s.later(since, i)))
		anew := s.setAnew(holder, i, before)
		switch {
		case mentions(s.told, i):
		case mentions(s.first, i):
			s.say("%s had set that key %s%s.", q, s.in(since), anew)
		default:
			s.say("The key %q, which %s had set%s %s, %s %s%s.", e.Path, q, onServer(e),
				s.in(since), keyEnd(e, holder), s.in(i), anew)
		}
		if foreign && !mentions(s.told, i) {
			s.sayDeletion(i, since)
		}
		if e.Kind == history.KeyExpired {
			if command := s.unexecuted(holder, since, i); command >= 0 {
				sent, expired = append(sent, command), append(expired, i)
			}
		}
	}
	s.sayUnderWay(holder, sent, expired)
	return told
}

// deprives reports whether a process had lost, before its grant, the last key that it had set on a
// server: another process deleted it by name. A command that takes the last element of a key does
// not count.
func (s *story) deprives(deletion, set, grant int) bool {
	e, verb := &s.Events[set], ""
	if executed := s.execution(deletion); executed >= 0 {
		verb, _, _ = strings.Cut(strings.ToUpper(s.Events[executed].Op), " ")
	}
	return slices.Contains([]string{"DEL", "UNLINK", "DELETE"}, verb) &&
		set == s.last(e.Process, grant, func(o *history.Event) bool {
			return o.Kind == history.KeySet && o.Server == e.Server
		})
}

// later says how long after one event another came, as " after 3 s", or "" at the same time.
func (s *story) later(since, i int) string { return s.elapsed(" after ", since, i) }

func (s *story) elapsed(word string, since, i int) string {
	if d := s.Events[i].At - s.Events[since].At; d > 0 {
		return word + span(d)
	}
	return ""
}

// setAnew tells which process has set a holder's key first since its end, before another event, and
// what the holder has done to that key.
func (s *story) setAnew(holder int32, end, before int) string {
	key := &s.Events[end]
	set := s.nextSet(key, end, before)
	if set < 0 {
		return ""
	}
	text := fmt.Sprintf(", and %s set it after that (event %d)", process(s.Events[set].Process),
		s.cite(set))
	if s.Events[set].Process == holder {
		return text
	}
	if again := s.nextSet(key, set, before); again >= 0 && s.Events[again].Process == holder {
		return text + fmt.Sprintf(", which %s overwrote (event %d)", process(holder), s.cite(again))
	}
	answer := s.last(holder, before, func(o *history.Event) bool {
		return o.Kind == history.Answer && o.Server == key.Server &&
			slices.Contains(strings.Fields(o.Op), key.Path)
	})
	if executed := s.executed(answer); executed > set {
		text += fmt.Sprintf(". After that %s's %s gave %s (event %d)", process(holder),
			s.Events[answer].Op, s.Events[answer].Name, s.cite(answer))
	}
	return text
}

// nextSet returns the first setting of a key between two events, or -1.
func (s *story) nextSet(key *history.Event, from, to int) int {
	for i := from + 1; i < to; i++ {
		e := &s.Events[i]
		if e.Kind == history.KeySet && e.Path == key.Path && e.Server == key.Server {
			return i
		}
	}
	return -1
}

// unexecuted returns the first command that the owner of a key had sent for it since it was set, or
// -1 if the server had executed one of these, or there was none, until the key expired.
func (s *story) unexecuted(owner int32, set, expired int) int {
	key, sent := &s.Events[expired], -1
	for i := set + 1; i < expired; i++ {
		switch e := &s.Events[i]; {
		case e.Process != owner || e.Server != key.Server ||
			!slices.Contains(strings.Fields(e.Op), key.Path):
		case e.Kind == history.Executed:
			return -1
		case e.Kind == history.Command && sent < 0:
			sent = i
		}
	}
	return sent
}

// sayUnderWay tells which commands the owner of keys that expired had sent for them, each with the
// expiry that it did not prevent. One sentence tells of the same command at several servers.
func (s *story) sayUnderWay(owner int32, sent, expired []int) {
	for first, i := range sent {
		same := func(j int) bool { return s.Events[j].Op == s.Events[i].Op }
		if slices.ContainsFunc(sent[:first], same) {
			continue
		}
		var servers []string
		for _, j := range sent[first:] {
			if same(j) {
				servers = append(servers, fmt.Sprintf("s%d (event %d)",
					s.Events[j].Server, s.cite(j)))
			}
		}
		if len(servers) > 1 {
			s.say("%s had sent %q to %s, and none had executed it when the key there expired.",
				process(owner), s.Events[i].Op, and(servers))
			continue
		}
		later := s.elapsed(" ", i, expired[first])
		if later != "" {
			later += " later"
		}
		s.say("%s had sent %q (event %d); the server had not executed it when the key expired%s.",
			process(owner), s.Events[i].Op, s.cite(i), later)
	}
}

// takenOver tells which process has changed a holder's key, or set it anew, as it may if the key's
// own contents say that it has expired, and reports whether one has.
func (s *story) takenOver(holder int32, grant, before int) bool {
	mine, key := s.lastWrite(holder, grant)
	if mine < 0 {
		return false
	}
	loss, end := -1, -1
	for i := mine + 1; i < before && end < 0; i++ {
		e, change := &s.Events[i], s.Change(i, key)
		switch {
		case change == nil || e.Server != s.Events[mine].Server:
		case e.Process == holder && e.Kind != history.KeyDeleted:
			loss = -1
		case e.Kind.OfKey():
			end = i
		case loss < 0 && change.Contests:
			loss = i
		}
	}
	taken := end >= 0 && s.Events[end].Kind == history.KeySet
	if loss < 0 && taken {
		loss = end
	}
	if loss < 0 {
		return false
	}
	p, done, by := process(s.Events[loss].Process), "overwrote", "replaced"
	back := s.next(s.Events[loss].Process, loss, of(history.LockReturn, history.UnlockReturn))
	switch {
	case loss != end:
		done, by = "changed", "changed"
	case back >= 0 && granted(&s.Events[back]) && s.nextSet(&s.Events[loss], loss, back) < 0:
		done = "took over"
	}
	s.unnoticed(holder, grant, before, loss, fmt.Sprintf("%s %s its key %q%s", p, done, key,
		s.later(mine, loss)))
	s.say("%s had set the key%s %s.", process(holder), onServer(&s.Events[mine]), s.in(mine))
	if executed := s.execution(loss); executed >= 0 && !mentions(s.told, loss) {
		s.say("%s %s it by %q.", p, by, s.Events[executed].Op)
	}
	if taken && loss != end {
		s.say("Then %s took it over %s.", process(s.Events[end].Process), s.in(end))
	}
	return true
}

// lastWrite returns the last event before another by which a process has set a key, or contested
// that of another process, and the key. It returns -1 if there is none.
func (s *story) lastWrite(number int32, before int) (event int, key string) {
	for event = before - 1; event >= 0; event-- {
		for _, c := range s.Changes(event) {
			e := &s.Events[event]
			if e.Process == number && (e.Kind == history.KeySet || c.Contests) {
				return event, c.Path
			}
		}
	}
	return -1, ""
}

// rolledBack tells that the server ended a holder's transaction, and reports whether it did.
func (s *story) rolledBack(holder int32, grant, before int) bool {
	lost := s.next(holder, grant, func(e *history.Event) bool {
		return e.Kind == history.Executed && e.Name == history.ConnectionLost
	})
	if lost < 0 || lost >= before {
		return false
	}
	s.unnoticed(holder, grant, before, lost,
		"the server lost its connection and rolled back its transaction")
	return true
}

// unnoticed leads with how a holder had lost the lock, or a part of it before the grant, unless it
// was told of a loss between the grant and another event.
func (s *story) unnoticed(holder int32, grant, before, loss int, how string) {
	if told := s.next(holder, grant, of(history.Lost)); told >= 0 && told <= before {
		return
	}
	q := process(holder)
	if paused := s.paused(holder, loss, before); paused >= 0 {
		s.lead("The process of %s was paused (fault pause, event %d) and could not notice that it "+
			"had lost the lock: %s (event %d).", q, s.cite(paused), how, s.cite(loss))
		return
	}
	if loss < grant {
		took := "took"
		if s.Events[grant].Kind == history.Extended {
			took = "extended"
		}
		s.lead("%s %s the lock (event %d) that it had lost before: %s (event %d).", q, took,
			s.cite(grant), how, s.cite(loss))
	} else {
		s.lead("%s did not notice that it had lost the lock: %s (event %d).", q, how, s.cite(loss))
	}
}

// paused returns the fault that made a process stand still from one event to another, or -1.
func (s *story) paused(number int32, from, to int) int {
	p, _ := history.ProcessOf(number)
	pause := s.last(p, from, func(e *history.Event) bool {
		return e.Kind == history.Fault && e.Name == faults.Pause.String()
	})
	if pause < 0 || s.faultEnd(faults.Pause, pause, to) >= 0 {
		return -1
	}
	return pause
}

// onServer names the server of an event if there are several.
func onServer(e *history.Event) string {
	if e.Server == 0 {
		return ""
	}
	return fmt.Sprintf(" on s%d", e.Server)
}

// waitsForKey tells by which key a process that polls is kept out, and why nobody deletes the key.
// It returns false if the process has received no result since the given call.
func (s *story) waitsForKey(p int32, call int) bool {
	answer := s.last(p, len(s.Events), of(history.Answer))
	if answer < call {
		return false
	}
	e := &s.Events[answer]
	trying, pending := "It keeps trying. ", ""
	switch command := s.last(p, len(s.Events), of(history.Command)); {
	case s.quiet(p):
		s.lead("%s waits for ever, and has no command under way.", process(p))
		trying, pending = "", " Since then it has sent nothing."
	case command > answer && !s.answered(command):
		pending = fmt.Sprintf(" The next one (event %d) is not answered when the history ends.",
			s.cite(command))
	}
	s.say("%sIts last %s%s gave %s %s.%s", trying, e.Op, onServer(e), e.Name, s.in(answer),
		pending)
	change := s.KeyBefore(answer)
	if change < 0 || s.Events[change].Kind != history.KeySet {
		return true
	}
	key := &s.Events[change]
	q := process(key.Process)
	s.say("The key %q is %s's, set at %s, and was neither deleted nor did it expire.", key.Path, q,
		s.at(change))
	if crashed := s.next(key.Process, change, of(history.Crashed)); crashed >= 0 {
		s.lead("%s crashed (event %d) after it had set the key %q (event %d), which never "+
			"expires: %s waits for ever.", q, s.cite(crashed), key.Path, s.cite(change), process(p))
		return true
	}
	executed := s.execution(change)
	if executed >= 0 && s.next(key.Process, change, func(e *history.Event) bool {
		return e.Kind == history.Answer && e.Op == s.Events[executed].Op &&
			e.Name == s.Events[executed].Name
	}) < 0 {
		s.lead("%s never learned that it had set the key %q (event %d), which never expires: %s "+
			"waits for ever.", q, key.Path, s.cite(change), process(p))
	}
	return true
}

// execution returns the execution of the command that made a change of a key, or -1.
func (s *story) execution(change int) int {
	for i := change; i >= 0; i-- {
		if s.Events[i].Kind == history.Executed {
			return i
		}
	}
	return -1
}
