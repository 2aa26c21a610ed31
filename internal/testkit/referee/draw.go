package referee

import (
	"math/rand/v2"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// The bounds of drawing a lock.
const (
	candidatesMax   = 60  // candidates per lock that breaks rarely
	trialWalks      = 150 // random walks per candidate
	rareBreaksMax   = 7   // the most walks that may break it
	unfilteredOneIn = 5   // one lock in unfilteredOneIn is the first candidate
)

// Draw returns the lock of a seed. Most locks are broken by few random walks, because rare
// violations are what an unsound reduction misses; the others are drawn without this filter.
func (r *Referee) Draw(seed uint64) (l *Lock) {
	for candidate := range uint64(candidatesMax) {
		l = draw(seed, candidate)
		if seed%unfilteredOneIn == 0 || r.breaksRarely(l) {
			break
		}
	}
	return l
}

// breaksRarely reports whether some random walks break a lock, but few. It stores the number of one
// of them in the lock.
func (r *Referee) breaksRarely(l *Lock) bool {
	s, broken := l.Scenario(), 0
	for number := range trialWalks {
		if r.breaks(&s, l.Claim, newRandomWalk(number)) != nil {
			broken++
			l.breakingWalk = number
		}
		if broken > rareBreaksMax || broken > 2 && number < 10 {
			return false
		}
	}
	return broken > 0
}

func draw(seed, candidate uint64) *Lock {
	d := &generator{rand.New(rand.NewPCG(seed, candidate))}
	l := &Lock{Clients: 2, Cycles: 1, Claim: pick(d, claims)}
	longest := d.size(l)
	switch l.Claim {
	case history.Fencing:
		l.Guard = pick(d, []scenarios.Guard{
			scenarios.Unguarded, scenarios.TokenChecked,
			scenarios.TokenChecked,
		})
	case history.NoLostUpdate:
		l.Guard = scenarios.Unguarded
	}
	for range l.Clients {
		l.Programs = append(l.Programs, d.program(l, longest))
	}
	return l
}

// claims are the properties that a small program can break; those that break rarely are repeated.
// Properties that only the fair phase or the ensemble can break are left out.
var claims = []history.Property{
	history.ServerMutualExclusion, history.ServerMutualExclusion, history.ServerMutualExclusion,
	history.ClientMutualExclusion, history.ClientMutualExclusion,
	history.Fencing, history.Fencing, history.Fencing, history.NoLostUpdate, history.FIFO,
	history.FIFO, history.FIFO,
	history.Progress, history.Progress, history.NoSpuriousFailure, history.NoLeakedNodes,
	history.LossNotification, history.LossNotification, history.Reentrancy,
	history.NoHerd, history.NoHerd, history.NoHerd, history.MonotonicToken, history.MonotonicToken,
	history.Linearizable,
}

type generator struct{ *rand.Rand }

func pick[T any](d *generator, of []T) T { return of[d.IntN(len(of))] }

// oneIn reports true with probability 1/in.
func (d *generator) oneIn(in int) bool { return d.IntN(in) == 0 }

// size draws the numbers of processes and servers and the fault plan. It returns the maximum length
// of a program.
func (d *generator) size(l *Lock) (longest int) {
	plans := []string{
		"none", "none", "cut=1", "expire=1", "crash=1", "cancel=1", "lose-reply=1", "any=1",
		"restart=1",
		"pause=1", "stall-replies=1",
		"stall-requests=1", "crash:c1=1", "cut:c2=1", "slow-client:c1=1,expire:c1=1",
	}
	longest = 5
	switch d.IntN(10) {
	case 0:
		l.Clients, longest = 3, 3
		plans = []string{"none", "none", "cut:c1=1", "crash:c1=1", "cancel:c1=1"}
	case 1, 2:
		l.Cycles, longest = 2, 3
		plans = []string{"none", "none", "cut:c1=1", "crash:c1=1", "expire:c1=1", "cancel:c1=1"}
	case 3:
		l.Servers, longest = 3, 3
		plans = []string{"none", "none", "cut:c1=1", "crash:c1=1", "reset:c1=1"}
	case 4:
		l.Servers, longest = 3, 2
		plans = []string{
			"kill-server=1", "partition-server=1", "partition-outbound=1",
			"unreachable=1",
		}
	}
	l.Faults, _ = faults.Parse(pick(d, plans)) // The plans are valid.
	return longest
}

func (d *generator) program(l *Lock, longest int) Program {
	p := Program{Lock: d.ops(1+d.IntN(longest), true), Unlock: d.ops(d.IntN(3), false)}
	if d.oneIn(4) { // The program stores an observation in its state and acts on it later.
		p.Lock = append([]Op{{
			Do: pick(d, []Verb{Exists, Create, Late}), Node: "x", Sleep: 1, Yes: First,
			No: Second,
		}}, p.Lock...)
		last := &p.Lock[len(p.Lock)-1]
		if len(p.Unlock) > 0 && d.oneIn(2) {
			last = &p.Unlock[0]
		}
		last.In = 1 + d.IntN(2)
	}
	p.Grant = Grant{Node: pick(d, []string{"", "", ownNode, ownNode, "x", "y"})}
	if l.Claim == history.MonotonicToken || l.Guard == scenarios.TokenChecked || d.oneIn(6) {
		p.Grant.Token = pick(d, []Token{RisingToken, FallingToken, FallingToken, NodeToken})
	}
	if l.Claim == history.ClientMutualExclusion && d.oneIn(2) ||
		l.Claim == history.LossNotification &&
			d.oneIn(3) || d.oneIn(12) {
		p.Grant.Tells = pick(d, []string{ownNode, "x"})
	}
	if l.Claim == history.Reentrancy || l.Claim == history.LossNotification && d.oneIn(2) ||
		d.oneIn(10) {
		p.Grant.Reenters, p.Grant.Again = true, d.ops(d.IntN(3), true)
	}
	if (l.Claim == history.Fencing || l.Claim == history.NoLostUpdate) && d.oneIn(3) {
		p.Grant.Resource = pick(d, []string{"x", "y"})
	}
	return p
}

var (
	names = []string{"x", "x", "x", "x", "y", "y", "", ""}
	verbs = []Verb{
		Create, Create, Create, Create, Create, Keep, Sequence, Delete, Delete, Delete, Set, Set,
		Get,
		Get, Exists, Exists, Exists,
		Exists, Alone, Swap, Sync, Sleep, Sleep, Late, Await, Await,
	}
	reactions = []Reaction{GoOn, GoOn, GoOn, Skip, Skip, Done, First, Second, Refuse}
)

// ops draws operations. If refuses is false, as for an unlock, none of them ends with an error.
func (d *generator) ops(count int, refuses bool) (ops []Op) {
	apart := d.oneIn(6)
	for range count {
		op := Op{Do: pick(d, verbs), Node: pick(d, names)}
		switch op.Do {
		case Sleep, Late:
			op.Node, op.Sleep = "", pick(d, []int{1, 3, 7, 20})
		case Sync, Alone, Sequence:
			op.Node = ""
		case Delete, Set, Exists, Swap:
			op.Apart = apart && d.oneIn(2)
		}
		if d.oneIn(4) {
			op.In = 1 + d.IntN(2)
		}
		// Mostly the result decides whether the program continues.
		op.Yes, op.No = pick(d, reactions), pick(d, reactions)
		if d.oneIn(2) {
			op.Yes, op.No = GoOn, pick(d, []Reaction{Refuse, Skip, Done})
		}
		if !refuses && op.Yes == Refuse {
			op.Yes = GoOn
		}
		if !refuses && op.No == Refuse {
			op.No = GoOn
		}
		ops = append(ops, op)
	}
	return ops
}
