package referee

import (
	"slices"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
)

// A Dimension is a row of [Dimensions]: a kind of locks or of searches. To add one, add a row.
type Dimension struct {
	Name   string
	Claims []history.Property // of which each lock claims one; those that break rarely are repeated
	// what operations a program consists of; nil for those of a lock on ZooKeeper
	verbList []Verb
	service  Service // that all its locks use
	// how many times more a run costs than one of the model of ZooKeeper; 0 for 1
	runCost int
	// draw changes the lock and returns the maximum length of its programs; nil for no change
	draw func(d *generator, l *Lock, longest int) int
	// program changes a program before its hold is drawn; nil for no change
	program func(d *generator, l *Lock, p *Program)
}

func (d *Dimension) cost() int { return max(1, d.runCost) }

func (d *Dimension) verbs() []Verb {
	if d.verbList == nil {
		return verbs
	}
	return d.verbList
}

// claims are the properties that a small program on one server can break.
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

// exclusion are the claims of dimensions that no property belongs to.
var exclusion = []history.Property{
	history.ClientMutualExclusion, history.ClientMutualExclusion, history.ServerMutualExclusion,
	history.FIFO, history.LossNotification, history.NoSpuriousFailure,
}

// serviceClaims can be broken on a service without nodes.
var serviceClaims = []history.Property{
	history.ClientMutualExclusion, history.ClientMutualExclusion, history.OwnRelease,
	history.Validity, history.Extension, history.NoSpuriousFailure, history.Progress,
}

// silentFaults make time pass while other processes go on.
var silentFaults = []string{"none", "crash=1", "expire=1", "cut=1", "crash:c1=1", "expire:c2=1"}

func faultsOf(plans ...string) func(*generator, *Lock, int) int {
	return func(d *generator, l *Lock, longest int) int {
		l.Faults = plan(d, plans)
		return longest
	}
}

func searched(v Variant) func(*generator, *Lock, int) int {
	return func(_ *generator, l *Lock, longest int) int {
		l.Search = v
		return min(longest, 4)
	}
}

// Dimensions returns the table of dimensions, without those of services that [Backends] lacks. The
// first is one server of ZooKeeper.
func Dimensions() []*Dimension {
	table := []*Dimension{
		{Name: "one server", Claims: claims},
		{Name: "servers", Claims: claims, draw: drawServers},
		{
			Name: "timers", Claims: exclusion, draw: drawTimers, program: addTimer,
			verbList: slices.Concat(verbs, []Verb{Timer, Timer, Sleep, Await, Await, Await}),
		},
		{
			Name: "redis", service: Redis, Claims: serviceClaims, runCost: 6,
			verbList: expiringVerbs, draw: drawRedis, program: addLives,
		},
		{
			Name: "sql", service: SQL, Claims: serviceClaims, runCost: 6, verbList: expiringVerbs,
			draw: drawSQL, program: addLives,
		},
		{
			Name: "extension", Claims: []history.Property{history.Extension, history.Validity},
			draw: shorter, program: addValidity,
		},
		{Name: "barrier", Claims: []history.Property{history.NoEarlyPass}, draw: drawBarrier},
		{Name: "readers", Claims: slices.Concat(exclusion, []history.Property{
			history.NoEarlyPass, history.NoEarlyPass,
		}), program: addShared},
		{Name: "places", Claims: exclusion, draw: drawPlaces},
		{Name: "election", Claims: []history.Property{
			history.OneLeaderPerTerm, history.OneLeaderPerTerm, history.TermsInOrder,
		}, draw: drawElection, program: addSees},
		{
			Name: "promptness", Claims: []history.Property{history.Promptness}, program: addLimits,
			draw: faultsOf("none", "none", "cancel=1", "cancel:c1=1", "crash:c1=1"),
		},
		{
			Name: "loss", Claims: []history.Property{history.Margin, history.SessionLoss},
			draw: drawLoss,
		},
		{Name: "quiescence", Claims: []history.Property{history.Quiescence}, program: addBeat},
		{Name: "threads", Claims: exclusion, runCost: 3, draw: drawThreads},
		{Name: "connections", Claims: exclusion, runCost: 3, verbList: slices.Concat(verbs,
			[]Verb{Connect, Connect, Connect}), draw: shorter},
		{Name: "idle ticks", Claims: exclusion, draw: searched(Variant{IdleTicks: 1})},
		{Name: "fair suffixes", Claims: []history.Property{
			history.Progress, history.NoStarvation, history.NoStarvation, history.NoStarvation,
			history.NoLivelock, history.NoLeakedNodes, history.NoLostWatch,
		}, runCost: 8, draw: drawFair, program: addRetry},
		{Name: "symmetry", Claims: exclusion, draw: drawSymmetry},
		{Name: "two workers", Claims: claims, draw: searched(Variant{Workers: 2})},
		{Name: "checkpoints", Claims: claims, draw: searched(Variant{Part: 5})},
	}
	if scheduler.Enabled {
		table = append(table, &Dimension{
			Name: "goroutines", Claims: exclusion, runCost: 3,
			draw: drawGoroutines, program: addRace,
		})
	}
	return slices.DeleteFunc(table, func(d *Dimension) bool {
		return d.service != ZooKeeper && Backends[d.service].Open == nil
	})
}

func shorter(_ *generator, _ *Lock, longest int) int { return min(longest, 3) }

func drawServers(d *generator, l *Lock, longest int) int {
	l.Clients, l.Cycles, l.Servers = 2, 1, 3
	if d.oneIn(2) {
		l.Faults = plan(d, []string{"none", "none", "cut:c1=1", "crash:c1=1", "reset:c1=1"})
		return 3
	}
	l.Faults = plan(d, []string{
		"kill-server=1", "partition-server=1", "partition-outbound=1", "unreachable=1",
		"pause-server=1", "stall-disk:s1=1,stall-disk:s2=1",
	})
	return 2
}

func drawTimers(d *generator, l *Lock, _ int) int {
	l.Faults = plan(d, silentFaults)
	if d.oneIn(2) {
		l.Clients, l.Cycles = 3, 1
		return 2
	}
	return 3
}

// addTimer makes an operation depend on which of two timers of the program has fired.
func addTimer(d *generator, _ *Lock, p *Program) {
	if d.oneIn(3) {
		return
	}
	p.Lock = append([]Op{
		{Do: Timer, Seconds: pick(d, durations[:3]) + d.fraction(), Yes: First},
		{Do: Timer, Seconds: pick(d, durations) + d.fraction(), Yes: Second},
	}, p.Lock...)
	ops := p.Unlock
	if len(ops) == 0 || d.oneIn(3) {
		ops = p.Lock[2:]
	}
	if len(ops) > 0 {
		ops[d.IntN(len(ops))].In = 1 + d.IntN(2)
	}
}

func drawRedis(d *generator, l *Lock, _ int) int {
	l.Service, l.Clients, l.Cycles = Redis, 1+d.IntN(2), 1
	l.Faults = plan(d, []string{"none", "none", "none", "crash:c1=1", "cancel:c1=1"})
	return drawExpiring(d, l)
}

func drawSQL(d *generator, l *Lock, _ int) int {
	l.Service, l.Clients, l.Cycles = SQL, 1+d.IntN(2), 1
	l.Faults = plan(d, []string{"none", "none", "none", "crash:c1=1"})
	return drawExpiring(d, l)
}

func drawExpiring(_ *generator, l *Lock) (longest int) {
	l.Search.IdleTicks = 1
	if l.Clients == 1 {
		l.Claim = history.NoSpuriousFailure
		return 5
	}
	return 3
}

// addLives lets a program store data of different lives, and fail if some of them have expired and
// others have not.
func addLives(d *generator, l *Lock, p *Program) {
	addValidity(d, l, p)
	if l.Claim != history.NoSpuriousFailure || d.oneIn(3) {
		return
	}
	stored := []string{"x", "y", "z"}[:2+d.IntN(2)]
	p.Lock = p.Lock[:d.IntN(2)]
	for _, i := range d.Perm(len(stored)) {
		life := pick(d, []float64{2, 3, 5, 8})
		p.Lock = append(p.Lock, Op{Do: Create, Node: stored[i], Seconds: life})
	}
	for _, i := range d.Perm(len(stored)) {
		test := Op{Do: Exists, Node: stored[i], Yes: Done}
		if d.oneIn(2) {
			test.Yes, test.No = GoOn, Done
		}
		p.Lock = append(p.Lock, test)
	}
	p.Lock = append(p.Lock, Op{Do: Exists, Node: "none", No: Refuse})
}

func addValidity(d *generator, _ *Lock, p *Program) {
	if d.oneIn(4) {
		return
	}
	g := &p.Grant
	g.Until = 1 + d.IntN(4)
	if g.Extends = !d.oneIn(3); g.Extends {
		g.Further = d.IntN(5)
		g.Renewal = d.ops(d.IntN(3), true)
	}
}

func drawBarrier(d *generator, l *Lock, _ int) int {
	l.Places, l.Clients = 2, 2+d.IntN(2)
	return 2
}

func addShared(d *generator, _ *Lock, p *Program) { p.Shares = d.oneIn(2) }

func drawPlaces(_ *generator, l *Lock, _ int) int {
	l.Places, l.Clients, l.Cycles = 2, 3, 1
	return 3
}

// addSees makes the lock an election. Mostly what a process observes is what candidates create.
func addSees(d *generator, _ *Lock, p *Program) {
	p.Sees = &Sees{
		Node: pick(d, []string{"x", "x", "y", ownNode}),
		Term: pick(d, []Token{FixedToken, NodeToken, NodeToken}),
	}
	if d.oneIn(2) {
		p.Lock = slices.Insert(p.Lock, 0, Op{Do: Create, Node: "x"})
	}
}

func drawElection(d *generator, l *Lock, longest int) int {
	l.Clients, l.Cycles = 2, 1+d.IntN(2)
	return min(longest, 3)
}

func addLimits(d *generator, _ *Lock, p *Program) {
	for i := range p.Lock {
		if op := &p.Lock[i]; !op.Apart && op.Do != Timer && d.oneIn(2) {
			op.Within = 1 + d.IntN(3)
			if op.Do == Sleep {
				op.Seconds += d.fraction() // It ends at another instant than its time limit.
			}
		}
	}
}

func drawLoss(d *generator, l *Lock, longest int) int {
	l.Margin = d.IntN(3)
	l.Faults = plan(d, []string{"expire=1", "expire:c1=1", "cut=1", "stall-replies=1", "pause=1"})
	return longest
}

func addBeat(d *generator, _ *Lock, p *Program) {
	if d.oneIn(2) {
		return
	}
	beat := Op{Do: Beat, Seconds: pick(d, []float64{5, 20}), In: d.IntN(3)}
	if d.oneIn(2) {
		p.Unlock = append(p.Unlock, beat)
	} else {
		p.Lock = append(p.Lock, beat)
	}
}

func drawThreads(d *generator, l *Lock, _ int) int {
	l.Clients, l.Cycles, l.Threads = 1+d.IntN(2), 1, 2
	l.Faults = plan(d, []string{"none", "none", "cut:c1=1", "crash:c1=1", "cancel:c1=1"})
	return 5 - 2*l.Clients
}

func drawFair(d *generator, l *Lock, _ int) int {
	l.Search.FairSuffixes, l.Cycles = true, 1+d.IntN(3)
	return 3
}

// addRetry lets a program begin again.
func addRetry(d *generator, l *Lock, p *Program) {
	op := &p.Lock[d.IntN(len(p.Lock))]
	again := Retry
	if l.Claim == history.NoLivelock && op.sends() {
		again = Spin
	}
	if op.Do != Timer && d.oneIn(2) {
		op.No = again
	}
}

// sends reports whether an operation of ZooKeeper certainly sends a request. A program that begins
// again at once after one that does not can turn on the spot, which no run survives.
func (op *Op) sends() bool {
	switch op.Do {
	case Create, Keep, Sequence, Sync, Alone:
		return true
	case Sleep, Late, Timer, Beat, Connect:
		return false
	}
	return op.Node != ""
}

func drawSymmetry(d *generator, l *Lock, _ int) int {
	l.Search.Symmetry, l.Cycles, l.Clients = true, 1, 2+d.IntN(2)
	l.Faults = plan(d, []string{
		"none", "crash:c2=1", "cut:c2=1", "expire:c1=1", "crash=1", "cancel:c2=1",
	})
	return 6 - l.Clients
}

func drawGoroutines(d *generator, l *Lock, _ int) int {
	l.Clients, l.Cycles = 1+d.IntN(2), 1
	l.Faults = faults.Plan{}
	if l.Clients == 1 {
		l.Claim = history.NoSpuriousFailure
	}
	return 3
}

// addRace lets a timer fire when a sleep ends.
func addRace(d *generator, _ *Lock, p *Program) {
	if d.oneIn(3) {
		return
	}
	p.Lock = append([]Op{
		{Do: Timer, Seconds: 1, Yes: First}, {Do: Sleep, Seconds: 1},
	}, p.Lock...)
	p.Lock[len(p.Lock)-1].In = d.IntN(3)
}
