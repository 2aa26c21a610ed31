package scenarios

import (
	"context"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A loop is one run inside its bubble: it asks the strategy for a step, performs it, waits until every process is
// blocked again, and goes on until the processes have finished.
//
// At most one stimulus is in flight at a time, so the Go scheduler has nothing to decide. Time is the exception: when
// it passes, timers of several processes may fire at once. What they then do is put into a canonical order.
type loop struct {
	result    *Result
	log       *history.Log
	strategy  Strategy
	cluster   *simzk.Cluster
	processes []*process
	space     []process    // of those that there are from the beginning
	register  register     // the protected resource of the run
	plan      *faults.Plan // of the scenario
	budget    faults.Plan  // what is left of it
	bounds    faults.Bounds
	allowed   [faults.Kinds]bool // by the budget, in whatever phase
	faultless bool               // nothing is left of the budget
	budgetKey uint64
	options   []Option
	cancel    context.CancelFunc
	began     time.Time
	timer     *time.Timer
	keyless   bool // nobody asks for the state keys

	pasts      *pasts // in the place of the processes' goroutines; nil where these run
	remembered int    // how many events there are in the processes' memories

	highest    int64 // token of a grant
	struck     bool  // by a fault
	severing   bool  // faults can strike single links
	lively     bool  // the liveness phase has begun
	livelyFrom time.Duration
	livelyStep int  // how many steps there were before
	livelyMax  int  // how many there may be after
	settling   bool // all processes have finished
	settleFrom time.Duration
	idleTicks  int
	steps      int
	turns      *atomic.Int64 // see process.turns
	stirred    bool          // the loop itself has woken a process since the last barrier
}

// renew makes the loop one for another run, in the memory of the run before, of which nothing may be left.
func (l *loop) renew(scenario *Scenario, strategy Strategy, log *history.Log, result *Result) {
	ctx, cancel := context.WithCancel(context.Background())
	cluster, processes, space, options, turns := l.cluster, l.processes[:0], l.space, l.options, l.turns
	*l = loop{
		result: result, log: log, strategy: strategy, plan: &scenario.Faults, budget: scenario.Faults, bounds: scenario.bounds(),
		cancel: cancel, began: time.Now(), livelyMax: scenario.livenessSteps(),
		cluster: cluster, processes: processes, space: space, options: options, turns: turns,
	}
	if l.cluster == nil {
		l.cluster, l.turns = new(simzk.Cluster), new(atomic.Int64)
	}
	l.cluster.Renew(simzk.Config{Settle: l.barrier, Servers: scenario.Servers, Lag: scenario.Servers > 1}, log)
	l.cluster.Prepare(&tree.Write{Op: wire.OpCreate, Path: lockDirectory, ACL: tree.Open})
	if scenario.Subject.Sequence != 0 {
		l.cluster.PrepareSequence(lockDirectory, scenario.Subject.Sequence)
	}
	l.spent()
	l.severing = l.severs()
	if len(l.space) != scenario.Clients {
		l.space = make([]process, scenario.Clients)
	}
	for i := range l.space {
		client, link := scenario.Client.connect(l.cluster)
		p := &l.space[i]
		l.prepare(p, client, link)
		p.ctx, p.subject, p.cycles = ctx, &scenario.Subject, scenario.Cycles
		p.cancellable = scenario.Faults.Allows(faults.Cancel)
		p.register = &l.register
		l.processes = append(l.processes, p)
	}
}

// prepare gives a process what it has of its own.
func (l *loop) prepare(p *process, client simzk.Client, link *simzk.Link) {
	*p = process{
		Process: Process{
			Number: link.Process(), Client: client, Directory: lockDirectory,
			SessionTimeout: l.cluster.SessionTimeout(), Random: &p.random,
		},
		link: link, turns: l.turns, resume: make(chan struct{}, 1), random: randomBytes{state: uint64(link.Process() - 1)},
	}
	p.pending = p.space[:0]
}

// replace lets another process take the place of one that has crashed, for the attempts that are left to it. It is one more
// process, with the next number.
func (l *loop) replace(crashed *process) {
	p := l.newcomer(max(1, crashed.cycles-int(crashed.attempt)))
	if l.pasts != nil {
		l.stand(p)
		return
	}
	l.stirred = true
	go p.run()
}

// newcomer adds a process in the middle of the run.
func (l *loop) newcomer(cycles int) *process {
	conn, first := l.cluster.Join(), l.processes[0]
	p := new(process)
	l.prepare(p, conn, conn.Link)
	p.ctx, p.subject, p.cancellable, p.register = first.ctx, first.subject, first.cancellable, first.register
	p.cycles = cycles
	l.processes = append(l.processes, p)
	return p
}

// run performs the whole run. The strategy may panic to end it early; the processes are torn down all the same.
func (l *loop) run() {
	defer l.tearDown()
	var settled []branch
	if s, ok := l.strategy.(insider); ok {
		s.join(l)
		settled = s.forward(l.steps)
	}
	if l.steps == 0 {
		l.begin()
	}
	for i := range settled {
		l.over()
		l.take(settled[i].step, settled[i].step != settled[i].usual)
	}
	for !l.over() {
		l.listOptions()
		usual := defaultOption(l.options)
		chosen := usual
		if !l.lively {
			chosen = l.strategy.Choose(l.steps, l.options, usual)
		}
		if chosen == known {
			l.result.Known = true
			break
		}
		step := Step{Kind: Fair}
		if chosen != fair {
			step = l.options[chosen].Step
		}
		l.take(step, chosen != usual)
		if !l.keyless && !l.decided() {
			l.result.Keys = append(l.result.Keys, l.key())
		}
	}
	l.result.Steps = l.steps
}

// begin lets all processes begin.
func (l *loop) begin() {
	for _, p := range l.processes {
		if l.pasts == nil {
			l.stirred = true
			go p.run()
		}
	}
	l.observe()
}

// take performs a step and lets every process do what it does upon that.
func (l *loop) take(step Step, deviates bool) {
	if deviates {
		l.result.Deviations = append(l.result.Deviations, Deviation{Index: l.steps, Step: step})
	}
	l.steps++
	l.turns.Add(1)
	l.touch(step)
	l.perform(step)
	if !l.unnoticed(step) {
		l.observe()
	}
	if l.pasts != nil && l.pasts.merged && !l.decided() {
		l.remember()
	}
}

// decided tells whether the rest of the run is one of a search, in which nobody chooses any more nor asks what state it is in.
func (l *loop) decided() bool { return l.lively && l.pasts != nil }

// unnoticed tells whether a step that has been performed has reached no process: a request was served, and the server has not
// hung up upon it, or a client's link was healed. When a server is healed there may be an election, which ends connections.
func (l *loop) unnoticed(step Step) bool {
	_, onServer := step.server()
	switch {
	case onServer || step.Kind != Serve && step.Kind != Heal && step.Kind != Fair:
		return false
	case step.Kind != Serve:
		return true
	}
	link := l.processes[step.Process-1].link
	return link.Connected() || link.Crashed()
}

// barrier waits until every process is blocked. Where nothing was woken all of them are.
func (l *loop) barrier() {
	if l.pasts != nil {
		l.settle()
		return
	}
	if woken := l.cluster.Stirred(); woken || l.stirred {
		l.stirred = false
		synctest.Wait()
	}
}

// observe waits until every process is blocked and takes note of what they have done.
func (l *loop) observe() {
	l.barrier()
	l.turns.Add(1)
	now := l.cluster.Now()
	for _, p := range l.processes {
		p.dazed = (p.dazed || p.link.Paused()) && p.waiting && p.gate == Leave
	}
	if l.pasts != nil {
		l.lookForLosses()
	}
	for _, p := range l.processes {
		if p.link.Paused() {
			continue // Nobody knows what it would say.
		}
		p.checkLoss()
		for i := range p.pending {
			p.pending[i].At = now
			l.log.Append(p.pending[i])
			switch p.pending[i].Kind {
			case history.LockReturn:
				l.highest = max(l.highest, p.pending[i].Zxid)
			case history.ReenterCall, history.UnlockCall:
				p.bereft = !p.link.OwnsNodes()
			case history.ReenterReturn, history.UnlockReturn:
				p.bereft = false
			}
		}
		p.pending = p.pending[:0]
		if p.waiting && p.age == 0 {
			p.age = l.cluster.NextAge()
		}
	}
	l.cluster.Collect()
	for _, p := range l.processes {
		p.wake()
	}
}

// listOptions lists what can happen next, in canonical order: by kind and then by process, with the faults last.
func (l *loop) listOptions() {
	options := l.options[:0]
	links := l.cluster.Links()
	for _, link := range links {
		if age, ok := link.Servable(); ok {
			options = append(options, Option{Step: Step{Kind: Serve, Process: int32(link.Process())}, Age: age})
		}
	}
	for _, link := range links {
		if age, ok := link.Deliverable(); ok {
			options = append(options, Option{Step: Step{Kind: Deliver, Process: int32(link.Process())}, Age: age})
		}
	}
	for _, p := range l.processes {
		if p.waiting && !p.link.Crashed() && !p.link.Paused() {
			options = append(options, Option{Step: Step{Kind: p.gate, Process: int32(p.Number)}, Age: p.age})
		}
	}
	for _, link := range links {
		if link.Down() {
			options = append(options, Option{Step: Step{Kind: Heal, Process: int32(link.Process())}})
		}
		if link.Paused() {
			options = append(options, Option{Step: Step{Kind: Resume, Process: int32(link.Process())}})
		}
	}
	if l.severing {
		options = l.appendSevered(options)
	}
	options = l.appendServers(options)
	_, due := l.cluster.Deadline()
	options = append(options, Option{Step: Step{Kind: Tick}, Due: due})
	if !l.lively && !l.faultless {
		options = l.appendFaults(options)
	}
	l.options = options
}

func (l *loop) appendServers(options []Option) []Option {
	if l.cluster.Standalone() && l.cluster.Up(0) {
		return options // There is nobody to agree with.
	}
	for server := range l.cluster.Servers() {
		if age, ok := l.cluster.Loggable(server); ok {
			options = append(options, Option{Step: onServer(Log, server), Age: age})
		}
		if age, ok := l.cluster.Applicable(server); ok {
			options = append(options, Option{Step: onServer(Apply, server), Age: age})
		}
		// Once there are no more faults a majority is healed; a server that is down and not needed may stay so.
		if !l.cluster.Up(server) && !(l.lively && l.cluster.Led()) || l.cluster.Parted(server) {
			options = append(options, Option{Step: onServer(Heal, server)})
		}
	}
	return options
}

func (l *loop) appendFaults(options []Option) []Option {
	for kind := range faults.Kinds {
		if !l.allowed[kind] {
			continue
		}
		switch kind.Strikes() {
		case faults.OneServer:
			options = l.appendServerFaults(options, kind)
			continue
		case faults.LinkToServer, faults.LinkOfServers:
			options = l.appendLinkFaults(options, kind)
			continue
		}
		for _, p := range l.processes {
			if kind == faults.Restart && len(l.processes) >= ClientsMax {
				break
			}
			if !p.done() && faults.Possible(kind, p.link) && (kind != faults.Cancel || p.stage == locking && !p.cancelled && !p.link.Paused()) {
				options = l.appendFault(options, Step{Kind: Fault, Fault: kind, Process: int32(p.Number)})
			}
		}
	}
	return options
}

// appendFault adds a fault that can strike, if the budget allows it in the phase in which it would.
func (l *loop) appendFault(options []Option, step Step) []Option {
	if l.budget.AllowsIn(step.Fault, l.phaseOf(step), l.place(step)) {
		options = append(options, Option{Step: step})
	}
	return options
}

func (l *loop) appendServerFaults(options []Option, kind faults.Kind) []Option {
	for server := range l.cluster.Servers() {
		if faults.PossibleAt(kind, l.cluster, server) {
			options = l.appendFault(options, onServer(Fault, server).struckBy(kind))
		}
	}
	return options
}

// phaseOf returns what the process does that the step strikes; of a server or a link between two, the first process that is
// connected to it.
func (l *loop) phaseOf(step Step) faults.Phase {
	if step.Process > 0 {
		return l.processes[step.Process-1].phase()
	}
	one, other := int(-step.Process)-1, int(step.Peer)-1
	for _, p := range l.processes {
		if server := p.link.ServerIndex(); p.link.Connected() && (server == one || server == other) && !p.done() {
			return p.phase()
		}
	}
	return faults.Idle
}

// place returns whom a fault strikes, as far as the plan asks.
func (l *loop) place(step Step) (at faults.Place) {
	if !l.plan.Aimed() {
		return at
	}
	switch step.victim() {
	case faults.OneClient:
		at.Client = uint8(step.Process)
	case faults.LinkToServer:
		at.Client, at.Server = uint8(step.Process), step.Peer
	default:
		at.Server, at.Peer = uint8(-step.Process), step.Peer
	}
	for server := range l.cluster.Servers() {
		if l.cluster.Leader(server) {
			at.Leader = uint8(server + 1)
		}
	}
	return at
}

// spend takes a fault out of the budget and counts where it has landed.
func (l *loop) spend(step Step) faults.Phase {
	kind, phase, at := step.Fault, l.phaseOf(step), l.place(step)
	l.result.Landed[kind][phase]++
	for i := range l.plan.Aims {
		if l.plan.Aims[i].Matches(kind, phase, at) {
			l.result.Aimed[i]++
		}
	}
	l.budget.Spend(kind, phase, at)
	l.struck = true
	l.spent()
	return phase
}

// spent takes note of what the budget allows.
func (l *loop) spent() {
	if l.faultless = l.budget.Empty(); l.faultless {
		l.allowed, l.budgetKey = [faults.Kinds]bool{}, emptyBudgetKey
		return
	}
	for kind := range faults.Kinds {
		l.allowed[kind] = l.budget.Allows(kind)
	}
	l.budgetKey = budgetKey(&l.budget)
}

// emptyBudgetKey is what most steps of most runs have in their keys.
var emptyBudgetKey = budgetKey(new(faults.Plan))

// budgetKey returns 64 bits over a budget.
func budgetKey(budget *faults.Plan) (key uint64) {
	for kind := range faults.Kinds {
		key = fold(key, uint64(budget.Of[kind]))
		for _, left := range budget.At[kind] {
			key = fold(key, uint64(left))
		}
	}
	for _, left := range budget.AnyAt {
		key = fold(key, uint64(left))
	}
	key = fold(key, uint64(budget.Any))
	for i := range budget.Aims {
		if budget.Aims[i].Left > 0 {
			key = fold(key, budget.Aims[i].Key())
		}
	}
	return key
}

func (l *loop) perform(step Step) {
	switch step.Kind {
	case Tick:
		l.tick()
		return
	case Fair:
		l.beFair()
		return
	}
	l.idleTicks = 0
	if step.Peer != 0 {
		l.performOnLink(step)
		return
	}
	if server, ok := step.server(); ok {
		l.performAt(step, server)
		return
	}
	p := l.processes[step.Process-1]
	switch step.Kind {
	case Serve:
		l.cluster.Serve(p.link)
	case Deliver:
		p.woken = p.woken || p.link.EventNext()
		l.cluster.Deliver(p.link)
	case Resume:
		l.cluster.Resume(p.link)
	case Heal:
		l.cluster.Heal(p.link)
	case Enter, Leave:
		p.waiting, p.age = false, 0
		if l.pasts != nil {
			p.stimulate(resume)
			break
		}
		l.stirred = true
		p.resume <- struct{}{}
	case Fault:
		phase := l.spend(step)
		l.log.Append(history.Event{At: l.cluster.Now(), Kind: history.Fault, Process: step.Process,
			Name: step.Fault.String(), Op: phase.String()})
		faults.Apply(step.Fault, l.bounds, l.cluster, p.link)
		switch {
		case step.Fault == faults.Restart:
			l.replace(p)
		case step.Fault == faults.Cancel && l.pasts != nil:
			p.stimulate(giveUp)
		case step.Fault == faults.Cancel:
			p.cancelled, l.stirred = true, true
			p.cancel()
		}
	}
}

// performAt performs a step that concerns a server.
func (l *loop) performAt(step Step, server int) {
	switch step.Kind {
	case Log:
		l.cluster.Log(server)
	case Apply:
		l.cluster.Apply(server)
	case Heal:
		l.cluster.Rejoin(server)
		if !l.cluster.Up(server) {
			l.cluster.StartServer(server)
		}
		l.log.Append(history.Event{At: l.cluster.Now(), Kind: history.Healed, Server: int32(server + 1)})
	case Fault:
		phase := l.spend(step)
		l.log.Append(history.Event{At: l.cluster.Now(), Kind: history.Fault, Server: int32(server + 1), Name: step.Fault.String(),
			Op: phase.String()})
		faults.ApplyAt(step.Fault, l.bounds, l.cluster, server)
	}
}

// tick lets time pass until the cluster's next deadline, or until a process acts by itself, but not for long: whoever
// decides shall have a say while time passes. By then a process that was paused has come to itself; see process.write.
func (l *loop) tick() {
	for _, p := range l.processes {
		p.dazed = p.dazed && p.link.Paused()
	}
	pause := tickMax
	deadline, ok := l.cluster.Deadline()
	if ok {
		pause = min(pause, deadline-l.cluster.Now())
	}
	var now time.Duration
	acted := false
	if l.pasts != nil {
		now, acted = l.pass(pause)
	} else {
		now, acted = l.sleep(pause)
	}
	l.log.Append(history.Event{At: now, Kind: history.Tick})
	l.cluster.Advance(now)
	if acted || ok && deadline <= now {
		l.idleTicks = 0
	} else {
		l.idleTicks++
	}
}

// sleep lets time pass until a process acts by itself, and tells whether one has.
func (l *loop) sleep(pause time.Duration) (now time.Duration, acted bool) {
	if l.timer == nil {
		l.timer = time.NewTimer(pause)
	} else {
		l.timer.Reset(pause)
	}
	select {
	case <-l.cluster.Activity(): // What is old.
	default:
	}
	select {
	case <-l.timer.C:
	case <-l.cluster.Activity():
		acted = true
		l.timer.Stop()
	}
	synctest.Wait()
	return time.Since(l.began), acted
}

// over tells whether the run has ended, and moves it from one part to the next.
func (l *loop) over() bool {
	now := l.cluster.Now()
	if !l.settling && l.allDone() {
		l.settling, l.settleFrom = true, now
	}
	if l.settling && l.quiet() {
		return true
	}
	if l.settling && now-l.settleFrom > settleBound {
		return true
	}
	if l.lively {
		return !l.settling && now-l.livelyFrom > livenessBound || l.steps-l.livelyStep > l.livelyMax
	}
	if l.settling || l.steps >= stepsMax || l.idleTicks >= idleTicksMax {
		l.result.CutOff = !l.settling && l.steps >= stepsMax
		l.beFair()
	}
	return false
}

// beFair lets the liveness phase begin: from now on no fault strikes, and the default policy decides.
func (l *loop) beFair() {
	now := l.cluster.Now()
	l.lively, l.livelyFrom, l.livelyStep = true, now, l.steps
	l.log.Append(history.Event{At: now, Kind: history.Liveness})
}

func (l *loop) allDone() bool {
	for _, p := range l.processes {
		if !p.done() {
			return false
		}
	}
	return true
}

// quiet tells whether nothing is under way and no living process has left a node behind.
func (l *loop) quiet() bool {
	for _, p := range l.processes {
		if p.link.Unserved() > 0 || p.link.Undelivered() > 0 ||
			!p.link.Crashed() && (p.link.Pending() != nil || p.link.OwnsNodes()) {
			return false
		}
	}
	return l.cluster.Agreed()
}

// tearDown makes every goroutine of the run end.
func (l *loop) tearDown() {
	l.cancel()
	if l.pasts != nil {
		l.pasts.last = l.pasts.last[:0]
		for _, p := range l.processes {
			l.pasts.last = append(l.pasts.last, p.stand.past)
			if p.panics != "" && l.result.Panic == "" {
				l.result.Panic, l.result.PanicProcess = p.panics, p.Number
			}
		}
		return
	}
	for _, p := range l.processes {
		p.link.TearDown()
		close(p.resume)
	}
	// Goroutines that sleep have to wake up once more to find that all is over.
	time.Sleep(teardownGrace)
	for _, p := range l.processes {
		if p.panics != "" && l.result.Panic == "" {
			l.result.Panic = p.panics
			l.result.PanicProcess = p.Number
		}
	}
}
