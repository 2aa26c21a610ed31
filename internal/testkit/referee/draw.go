package referee

import (
	"math/rand/v2"
	"slices"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// The bounds of drawing a lock.
const (
	candidatesMax   = 60  // candidates per lock that breaks rarely
	trialWalks      = 150 // random walks per candidate
	rareBreaksMax   = 7   // the most walks that may break it
	unfilteredOneIn = 5   // one lock in unfilteredOneIn is the first candidate that is not trivial
	tests           = 10  // how often trial walks test the claim of a lock that is not trivial
)

// Draw returns the lock of a dimension and a seed. Most locks are broken by few random walks,
// because rare violations are what an unsound reduction misses; the others are drawn without this
// filter. The walks test the claim of every lock, unless none of very many candidates is so.
func (r *Referee) Draw(dimension *Dimension, seed uint64) *Lock {
	var last *Lock
	enough := uint64(candidatesMax / dimension.cost())
	for candidate := uint64(0); candidate < enough || last.Trivial(); candidate++ {
		l := draw(dimension, seed, candidate)
		rare := r.breaksRarely(l, trialWalks/dimension.cost())
		if last == nil || !l.Trivial() {
			last = l
		}
		if !l.Trivial() && (rare || seed%unfilteredOneIn == 0) || candidate > 100*enough {
			break
		}
	}
	return last
}

// Trivial reports whether the trial walks hardly test the claim of a lock, and none breaks it.
func (l *Lock) Trivial() bool { return l.exercised < tests && l.breakingWalk < 0 }

// breaksRarely reports whether some random walks break a lock, but few. It stores the number of one
// of them in the lock.
func (r *Referee) breaksRarely(l *Lock, walks int) bool {
	s, broken := l.Scenario(), 0
	for number := range walks {
		if r.breaks(&s, l.Claim, newRandomWalk(l, number)) != nil {
			broken++
			l.breakingWalk = number
		}
		l.exercised += r.exercised(&s, l.Claim)
		if broken > rareBreaksMax || broken > 2 && number < 10 {
			return false
		}
	}
	return broken > 0
}

func draw(dimension *Dimension, seed, candidate uint64) *Lock {
	d := &generator{Rand: rand.New(rand.NewPCG(seed, candidate)), dimension: dimension}
	l := &Lock{
		Dimension: dimension.Name, Dimensions: scenarios.Dimensions{Clients: 2, Cycles: 1},
		Claim: pick(d, dimension.Claims), breakingWalk: -1,
	}
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
	if dimension.draw != nil {
		longest = dimension.draw(d, l, longest)
	}
	for range l.Clients {
		l.Programs = append(l.Programs, d.program(l, longest))
	}
	switch {
	case l.Search.Symmetry: // The processes are alike.
		l.Programs = l.Programs[:1]
	case d.oneIn(2):
		d.signal(l)
	}
	return l
}

// signal lets a process tell the others how far it has come. They fail before that, and perhaps it
// fails after it.
func (d *generator) signal(l *Lock) {
	from := d.IntN(len(l.Programs))
	for i := range l.Programs {
		p := &l.Programs[i]
		if i != from {
			p.Lock = slices.Insert(p.Lock, 0, Op{Do: Exists, Node: "z", No: Refuse})
			continue
		}
		if d.oneIn(2) {
			p.Lock = append(p.Lock, Op{Do: Keep, Node: "z", Yes: Refuse, No: Refuse})
		} else {
			p.Lock = slices.Insert(p.Lock, d.IntN(len(p.Lock)+1), Op{Do: Keep, Node: "z"})
		}
	}
}

type generator struct {
	*rand.Rand
	dimension *Dimension
	timers    int // drawn so far
}

// fraction returns a part of a second that no other timer of the lock has. So no two timers fire at
// once, and none when a sleep of whole seconds ends: the order of both is open then.
func (d *generator) fraction() float64 {
	d.timers++
	return float64(d.timers) / 64
}

func pick[T any](d *generator, of []T) T { return of[d.IntN(len(of))] }

// plan draws one of some fault plans.
func plan(d *generator, of []string) faults.Plan { return faults.MustParse(pick(d, of)) }

// oneIn reports true with probability 1/in.
func (d *generator) oneIn(in int) bool { return d.IntN(in) == 0 }

// size draws the numbers of processes and cycles and the fault plan. It returns the maximum length
// of a program.
func (d *generator) size(l *Lock) (longest int) {
	plans := []string{
		"none", "none", "cut=1", "expire=1", "crash=1", "cancel=1", "lose-reply=1", "any=1",
		"restart=1",
		"pause=1", "stall-replies=1",
		"stall-requests=1", "crash:c1=1", "cut:c2=1", "slow-client:c1=1,expire:c1=1",
	}
	longest = 5
	switch d.IntN(8) {
	case 0:
		l.Clients, longest = 3, 3
		plans = []string{"none", "none", "cut:c1=1", "crash:c1=1", "crash:c3=1", "cancel:c1=1"}
	case 1, 2:
		l.Cycles, longest = 2, 3
		plans = []string{"none", "none", "cut:c1=1", "crash:c1=1", "expire:c1=1", "cancel:c1=1"}
	}
	l.Faults = plan(d, plans)
	return longest
}

func (d *generator) program(l *Lock, longest int) Program {
	p := Program{Lock: d.ops(1+d.IntN(longest), true), Unlock: d.ops(d.IntN(3), false)}
	if d.oneIn(4) { // The program stores an observation in its state and acts on it later.
		p.Lock = append([]Op{{
			Do: pick(d, []Verb{Exists, Create, Late}), Node: "x", Seconds: 1, Yes: First,
			No: Second,
		}}, p.Lock...)
		last := &p.Lock[len(p.Lock)-1]
		if len(p.Unlock) > 0 && d.oneIn(2) {
			last = &p.Unlock[0]
		}
		last.In = 1 + d.IntN(2)
	}
	if d.dimension.program != nil {
		d.dimension.program(d, l, &p)
	}
	if l.Service == ZooKeeper {
		d.grant(l, &p)
	}
	return p
}

// grant draws the hold of a lock on ZooKeeper.
func (d *generator) grant(l *Lock, p *Program) {
	g := &p.Grant
	g.Node = pick(d, []string{"", "", ownNode, ownNode, "x", "y"})
	tokens := []Token{RisingToken, FallingToken, FallingToken, NodeToken}
	if p.Sees != nil || l.Search.Symmetry {
		tokens = []Token{FixedToken, NodeToken}
	}
	if l.Claim == history.MonotonicToken || l.Guard == scenarios.TokenChecked || p.Sees != nil ||
		d.oneIn(6) {
		g.Token = pick(d, tokens)
	}
	if l.Claim == history.ClientMutualExclusion && d.oneIn(2) ||
		(l.Claim == history.LossNotification || l.Claim == history.Extension) && d.oneIn(3) ||
		(l.Claim == history.Margin || l.Claim == history.SessionLoss) && !d.oneIn(4) ||
		d.oneIn(12) {
		g.Tells = pick(d, []string{ownNode, "x"})
	}
	if l.Claim == history.Reentrancy || l.Claim == history.LossNotification && d.oneIn(2) ||
		d.oneIn(10) {
		g.Reenters, g.Again = true, d.ops(d.IntN(3), true)
	}
	if (l.Claim == history.Fencing || l.Claim == history.NoLostUpdate) && d.oneIn(3) {
		g.Resource = pick(d, []string{"x", "y"})
	}
}

var (
	names = []string{"x", "x", "x", "x", "y", "y", "", ""}
	verbs = []Verb{
		Create, Create, Create, Create, Create, Keep, Sequence, Delete, Delete, Delete, Set, Set,
		Get, Get, Exists, Exists, Exists, Exists, Alone, Swap, Sync, Sleep, Sleep, Late, Await,
		Await, Own, Timer,
	}
	expiringVerbs = []Verb{
		Create, Create, Create, Create, Keep, Delete, Delete, Set, Get, Exists, Exists, Exists,
		Own, Own, Renew, Sleep, Late, Timer,
	}
	reactions = []Reaction{GoOn, GoOn, GoOn, Skip, Skip, Done, First, Second, Refuse}
	durations = []float64{1, 3, 7, 20}
)

// ops draws operations. If refuses is false, as for an unlock, none of them ends with an error.
func (d *generator) ops(count int, refuses bool) (ops []Op) {
	apart := d.oneIn(6)
	for range count {
		op := Op{Do: pick(d, d.dimension.verbs()), Node: pick(d, names)}
		switch op.Do {
		case Sleep, Late:
			op.Node, op.Seconds = "", pick(d, durations)
		case Sync, Alone, Sequence, Connect:
			op.Node = ""
		case Delete, Set, Exists, Swap:
			// The clients of other services do not fix the order of what goroutines send at once.
			op.Apart = apart && d.oneIn(2) && d.dimension.service == ZooKeeper
		case Create, Renew:
			op.Seconds = pick(d, []float64{2, 3, 5, 8}) // The life of what expires.
		case Await:
			if d.oneIn(2) {
				op.Within = pick(d, []int{1, 2, 3})
			}
		}
		if d.oneIn(4) {
			op.In = 1 + d.IntN(2)
		}
		// Mostly the result decides whether the program continues.
		op.Yes, op.No = pick(d, reactions), pick(d, reactions)
		if d.oneIn(2) {
			op.Yes, op.No = GoOn, pick(d, []Reaction{Refuse, Skip, Done})
		}
		if op.Do == Timer {
			op.Node, op.Seconds = "", pick(d, durations)+d.fraction()
			op.Yes, op.No = pick(d, []Reaction{First, Second}), GoOn
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
