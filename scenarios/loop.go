package scenarios

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A loop is one run inside its bubble: it asks the strategy for a step, performs it, waits until
// every process is blocked again, and goes on until the processes have finished.
//
// At most one stimulus is in flight at a time, so the Go scheduler has nothing to decide. Time is
// the exception: when it passes, timers of several processes may fire at once. What they then do is
// put into a canonical order.
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
	planLimit *planLimit   // nil but for shrinking
	bounds    faults.Severity
	allowed   [faults.Kinds]bool // by the budget, in whatever phase
	faultless bool               // nothing is left of the budget
	budgetKey uint64
	enabled   []EnabledStep
	scratch   []EnabledStep
	ctx       context.Context // the run is abandoned when it ends
	cancel    context.CancelFunc
	noKeys    bool // nobody asks for the state keys
	jumps     bool // the last idle tick leaps

	executor executor
	live     liveExecutor
	begun    bool
	searched bool // by a strategy that knows the state: see stateAware

	struck       bool // by a fault
	linkFaults   bool // faults can strike single links
	fair         bool // the liveness phase has begun
	fairFrom     time.Duration
	fairStep     int  // how many steps there were before
	fairStepsMax int  // how many there may be after
	settling     bool // all processes have finished
	settleFrom   time.Duration
	idleTicks    int
	steps        int
	progress     *atomic.Int64 // see watchdog
}

// reset makes the loop one for another run, in the memory of the run before, of which nothing may
// be left.
func (l *loop) reset(scenario *Scenario, strategy Strategy, log *history.Log, result *Result) {
	ctx, cancel := context.WithCancel(context.Background())
	cluster, processes, space, enabled, scratch, turns, above := l.cluster, l.processes[:0],
		l.space,
		l.enabled, l.scratch, l.progress, l.planLimit
	*l = loop{
		result: result, log: log, strategy: strategy, plan: &scenario.Faults,
		budget: scenario.Faults, planLimit: above, bounds: scenario.severity(),
		cancel: cancel, fairStepsMax: scenario.fairSteps(),
		cluster: cluster, processes: processes, space: space, enabled: enabled, scratch: scratch,
		progress: turns,
		jumps:    scenario.Client == Model, // The real client would send its pings all the time.
	}
	l.live = liveExecutor{loop: l, began: time.Now()}
	l.executor = &l.live
	if above != nil {
		above.begin()
	}
	if l.cluster == nil {
		l.cluster = new(simzk.Cluster)
	}
	if l.progress == nil {
		l.progress = new(atomic.Int64)
	}
	l.cluster.Reset(simzk.Config{
		Settle: l.settle, Servers: scenario.Servers,
		Lag: scenario.Servers > 1,
	}, log)
	l.cluster.Prepare(&tree.Write{Op: wire.OpCreate, Path: lockDirectory, ACL: tree.Open})
	if scenario.Subject.Sequence != 0 {
		l.cluster.PrepareSequence(lockDirectory, scenario.Subject.Sequence)
	}
	l.spent()
	l.linkFaults = l.usesLinkFaults()
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
		link: link, progress: l.progress, resume: make(chan struct{}, 1),
		random: randomBytes{state: uint64(link.Process() - 1)},
	}
	p.pending = p.space[:0]
}

// own lets the processes' goroutines tell whose they are.
func (l *loop) own(o *owners) {
	o.prepare(len(l.processes))
	for _, p := range l.processes {
		p.owners = o
	}
}

// replace lets another process take the place of one that has crashed, for the attempts that are
// left to it. It is one more process, with the next number.
func (l *loop) replace(crashed *process) {
	l.executor.begin(l.newcomer(max(1, crashed.cycles-int(crashed.attempt))))
}

// newcomer adds a process in the middle of the run.
func (l *loop) newcomer(cycles int) *process {
	conn, first := l.cluster.Join(), l.processes[0]
	p := new(process)
	l.prepare(p, conn, conn.Link)
	p.ctx, p.subject, p.cancellable, p.register = first.ctx, first.subject, first.cancellable,
		first.register
	if p.owners = first.owners; p.owners != nil {
		p.owners.prepare(p.Number)
	}
	p.cycles = cycles
	l.processes = append(l.processes, p)
	return p
}

// run performs the whole run, unless it is abandoned. The strategy may panic to end it early; the
// processes are torn down all the same.
func (l *loop) run() {
	ended := false
	defer func() { l.tearDown(ended) }()
	aware, searched := l.strategy.(stateAware)
	if searched {
		l.searched = true
		aware.join(l)
	}
	if !l.begun { // A run that goes on from a snapshot has begun.
		l.begin()
	}
	for searched {
		step, deviates, ok := aware.settled(l.steps)
		if !ok {
			break
		}
		l.over()
		l.take(step, deviates)
	}
	for !l.over() {
		if l.cancelRun() {
			return
		}
		l.listEnabled()
		defaultIndex := defaultIndex(l.enabled)
		chosen := defaultIndex
		if !l.fair {
			chosen = l.strategy.Choose(l.steps, l.enabled, defaultIndex)
		}
		if chosen == prune {
			l.result.Pruned = true
			break
		}
		step := Step{Kind: Fair}
		if chosen != beginFair {
			step = l.enabled[chosen].Step
		}
		l.take(step, chosen != defaultIndex)
		if !l.noKeys && !l.decided() {
			l.result.Keys = append(l.result.Keys, l.executor.stateKey())
		}
	}
	l.result.Steps = l.steps
	ended = !l.result.Pruned
}

// begin lets all processes begin.
func (l *loop) begin() {
	l.begun = true
	for _, p := range l.processes {
		l.executor.begin(p)
	}
	l.observe()
}

// take performs a step and lets every process do what it does upon that.
func (l *loop) take(step Step, deviates bool) {
	if deviates {
		l.result.Deviations = append(l.result.Deviations, Deviation{Index: l.steps, Step: step})
	}
	l.steps++
	l.progress.Add(1)
	l.touch(step)
	l.perform(step)
	if !l.unnoticed(step) {
		l.observe()
	}
}

// decided tells whether the rest of the run is one of a search, in which nobody chooses any more
// nor asks what state it is in.
func (l *loop) decided() bool { return l.fair && l.searched }

// unnoticed tells whether a step that has been performed has reached no process: a request was
// served, and the server has not hung up upon it, or a client's link was healed. When a server is
// healed there may be an election, which ends connections.
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

// settle waits until every process has reacted to what has reached it. The cluster asks for it
// through its configuration, which is made before the executor is chosen.
func (l *loop) settle() { l.executor.settle() }

// observe waits until every process is blocked and takes note of what they have done.
func (l *loop) observe() {
	l.settle()
	l.progress.Add(1)
	now := l.cluster.Now()
	for _, p := range l.processes {
		p.resuming = (p.resuming || p.link.Paused()) && p.waiting && p.gate == Leave
	}
	l.executor.checkLosses()
	for _, p := range l.processes {
		if p.link.Paused() {
			continue // Nobody knows what it would say.
		}
		p.checkLoss()
		for i := range p.pending {
			p.pending[i].At = now
			l.log.Append(p.pending[i])
			switch p.pending[i].Kind {
			case history.ReenterCall, history.UnlockCall:
				p.nodeGone = !p.link.OwnsNodes()
			case history.ReenterReturn, history.UnlockReturn:
				p.nodeGone = false
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

// over tells whether the run has ended, and moves it from one part to the next.
func (l *loop) over() bool {
	now := l.cluster.Now()
	if !l.settling && l.allDone() {
		l.settling, l.settleFrom = true, now
	}
	if l.settling && l.quiet() {
		return true
	}
	if l.exhausted(now) {
		l.result.Unsettled = l.busy()
		return true
	}
	if l.fair {
		return false
	}
	if l.settling || l.steps >= stepsMax || l.idleTicks >= idleTicksMax {
		l.result.CutOff = !l.settling && l.steps >= stepsMax
		l.beginFairPhase()
	}
	return false
}

// exhausted reports whether the run has reached a bound of its last part, by time or by steps.
func (l *loop) exhausted(now time.Duration) bool {
	if l.settling {
		return now-l.settleFrom > settleBound || l.fair && l.steps-l.fairStep > l.fairStepsMax
	}
	return l.fair && (now-l.fairFrom > fairPhaseMax || l.steps-l.fairStep > l.fairStepsMax)
}

// beginFairPhase lets the liveness phase begin: from now on no fault strikes, and the default
// policy decides. It goes by ages, which begin anew, so that what it does depends on the state
// alone and not on the way to it.
func (l *loop) beginFairPhase() {
	l.cluster.RenumberAges()
	for _, p := range l.processes {
		if p.waiting {
			p.age = l.cluster.NextAge()
		}
	}
	now := l.cluster.Now()
	l.fair, l.fairFrom, l.fairStep = true, now, l.steps
	l.log.Append(history.Event{At: now, Kind: history.FairPhase})
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
	return l.cluster.Converged()
}

// busy reports whether a living process has a request, an answer or an event under way. What a
// crashed process has sent may stay where it is for good.
func (l *loop) busy() bool {
	return slices.ContainsFunc(l.processes, func(p *process) bool {
		return !p.link.Crashed() && (p.link.Pending() != nil || p.link.Unserved() > 0 ||
			p.link.Undelivered() > 0)
	})
}

// tearDown ends every process of the run, and notes the first panic of one.
func (l *loop) tearDown(judged bool) {
	l.executor.tearDown(judged)
	for _, p := range l.processes {
		if p.panics != "" && l.result.Panic == "" {
			l.result.Panic, l.result.PanicProcess = p.panics, p.Number
		}
	}
}
