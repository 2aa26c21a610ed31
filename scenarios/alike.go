package scenarios

import (
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/history"
)

// A likeness is a set of pasts after which a process's code has done the same so far, upon everything that has come up
// after any of them. To a search these pasts are one: it goes on from a single one of them.
//
// That nothing is missed thereby does not rest on what the code looks like, but on trying it out. Whatever reaches the
// process after one past of a likeness, its code is run upon the same after every other, and must do the same, and go on to
// do the same: the pasts that follow are alike again. This is the check by which Hopcroft and Karp ("A Linear Algorithm for
// Testing Equivalence of Finite Automata", 1971) decide whether two states of an automaton can be told apart, on that part
// of the automaton that a search enters. If two pasts that were taken for alike turn out not to be, they are told apart from
// then on and the search begins anew; see likenesses.part.
//
// Each step of a process raises its rank, and pasts of different rank are never alike. So no way leads from a likeness back
// to itself, the trials come to an end, and no state of a search comes round again.
type likeness struct {
	id      uint64 // the hash of its first past, by which state keys know it
	members []*past
	moves   []*move // in the order in which they came up
}

// A move is what has come up after some past of a likeness.
type move struct {
	after   time.Duration
	stimuli []stimulus
	hash    uint64 // over these
	does    uint64 // what the code does upon it; see past.does
	to      *likeness
}

// likenesses are all that have come up.
type likenesses struct {
	pasts  *pasts
	having map[uint64][]*likeness // by past.looks
	apart  map[[2]uint64]bool     // a past and the id of a likeness to which it does not belong
	wrong  bool                   // pasts that are not alike were taken to be
}

func newLikenesses(t *pasts) *likenesses {
	return &likenesses{pasts: t, having: make(map[uint64][]*likeness), apart: make(map[[2]uint64]bool)}
}

// candidatesMax is how many likenesses are tried for a past. It would do no harm to find none.
const candidatesMax = 8

// place finds a likeness for a past, or founds one.
func (k *likenesses) place(p *past) *likeness {
	having := k.having[p.looks]
	for i := len(having) - 1; i >= 0 && i >= len(having)-candidatesMax; i-- {
		if k.join(p, having[i]) {
			return having[i]
		}
	}
	return k.found(p)
}

// found makes a past the first of its likeness.
func (k *likenesses) found(p *past) *likeness {
	l := &likeness{id: p.hash, members: []*past{p}}
	p.like = l
	k.having[p.looks] = append(k.having[p.looks], l)
	return l
}

// follow finds the likeness of a past that has just come up after another.
func (k *likenesses) follow(p, next *past) {
	from := p.like
	if m := from.move(next.step); m != nil {
		if !k.fits(next, m) {
			k.part(p)
			k.found(next)
		}
		return
	}
	m := &move{after: next.after, stimuli: next.stimuli, hash: next.step, does: next.does, to: k.place(next)}
	from.moves = append(from.moves, m)
	for i := 0; i < len(from.members); i++ {
		if member := from.members[i]; member != p && !k.fits(k.pasts.grow(member, m.after, m.stimuli), m) {
			k.part(member)
		}
	}
}

func (l *likeness) move(hash uint64) *move {
	for _, m := range l.moves {
		if m.hash == hash {
			return m
		}
	}
	return nil
}

// fits tells whether a past that has come up by a move is what the move leads to, and puts it there.
func (k *likenesses) fits(p *past, m *move) bool {
	if p.does != m.does {
		return false
	}
	if p.like != nil {
		return p.like == m.to
	}
	return k.join(p, m.to)
}

// join puts a past into a likeness if it belongs there: if it does the same upon every move that is known.
func (k *likenesses) join(p *past, l *likeness) bool {
	if p.looks != l.members[0].looks || k.apart[[2]uint64{p.hash, l.id}] {
		return false
	}
	p.like = l
	l.members = append(l.members, p)
	for _, m := range l.moves {
		if !k.fits(k.pasts.grow(p, m.after, m.stimuli), m) {
			k.withdraw(p)
			k.apart[[2]uint64{p.hash, l.id}] = true
			return false
		}
	}
	return true
}

// withdraw takes a past, and all that follow on it, out of their likenesses.
func (k *likenesses) withdraw(p *past) {
	if p.like == nil {
		return
	}
	members := p.like.members
	last := len(members) - 1
	for members[last] != p {
		last--
	}
	p.like.members = slices.Delete(members, last, last+1)
	p.like = nil
	for _, next := range p.next {
		k.withdraw(next)
	}
}

// part notes that a past does not belong to its likeness. Then those that it follows on do not belong to theirs either,
// nor, where it is the first of its likeness, do the others.
func (k *likenesses) part(p *past) {
	k.wrong = true
	for ; p != nil && len(p.like.members) > 1; p = p.parent {
		if p.hash != p.like.id {
			k.apart[[2]uint64{p.hash, p.like.id}] = true
			continue
		}
		for _, other := range p.like.members[1:] {
			k.apart[[2]uint64{other.hash, p.like.id}] = true
		}
	}
}

// restart forgets all likenesses, but not which pasts are apart.
func (k *likenesses) restart() {
	for _, having := range k.having {
		for _, l := range having {
			for _, p := range l.members {
				p.like = nil
			}
		}
	}
	clear(k.having)
	k.wrong = false
	for _, root := range k.pasts.roots {
		k.found(root)
	}
}

// characterize computes by what pasts are told apart: how the process looks from outside, with all that it waits for, and
// what it has done last.
func (p *past) characterize(standing uint64, dead bool) {
	r := &p.response
	flags := uint64(0)
	for i, flag := range [...]bool{r.waits, r.cancelled, r.holds, r.lost, r.over, r.closed, dead} {
		if flag {
			flags |= 1 << i
		}
	}
	looks := mix(uint64(r.stage)<<40|uint64(r.gate)<<32|uint64(uint32(r.attempt)), flags)
	looks = mix(mix(mix(looks, uint64(r.actsAfter)), uint64(r.lostAfter)), standing)
	p.looks = mix(mix(looks, p.rank()), p.origin.hash())
	does := mix(looks, history.NewLog(r.events).Hash())
	for _, which := range r.kept {
		does = mix(does, uint64(which)+1)
	}
	does = mix(mix(does, uint64(len(r.calls))), xxhash.Sum64String(r.panics))
	if p.resumes() {
		does = r.register.key(does)
	}
	p.does = does
}

// rank counts what has reached the process since it began what it is doing. As it only ever goes on to something else, a
// past that follows on another has another rank, and so has all that follows on that.
func (p *past) rank() uint64 {
	p.since = 0
	if p.parent != nil && p.parent.stage == p.stage && p.parent.attempt == p.attempt {
		p.since = p.parent.since + 1
	}
	return uint64(p.since)
}

// resumes tells whether a gate has opened last.
func (p *past) resumes() bool {
	return slices.ContainsFunc(p.stimuli, func(s stimulus) bool { return s.kind == resume })
}
