package scenarios

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
)

// A loop executes one run inside its bubble: it asks the strategy for a step, performs it, waits
// until every process is blocked, and repeats that until the processes have finished.
//
// At most one input is in flight at a time, so the Go scheduler has nothing to decide. Time is the
// exception: when it passes, timers of several processes may fire at once. The loop puts what they
// do into a canonical order.
type loop struct {
	result    *Result
	log       *history.Log
	strategy  Strategy
	service   Service // of the system
	system    System
	processes []*process
	space     []process    // the processes that exist from the start
	register  register     // the protected resource of the run
	plan      *faults.Plan // of the scenario
	budget    faults.Plan  // what the plan still allows
	planLimit *planLimit   // nil unless shrinking
	bounds    faults.Severity
	allowed   [faults.Kinds]bool // by the budget, in any phase
	faultless bool               // the budget is empty
	budgetKey uint64
	enabled   []EnabledStep
	scratch   []EnabledStep
	ctx       context.Context // the run is cancelled when it ends
	cancel    context.CancelFunc
	noKeys    bool // state keys are not needed
	jumps     bool // the last idle tick is a time jump

	executor executor
	live     liveExecutor
	begun    bool
	searched bool // the strategy is a [stateAware] one

	struck       bool // a fault has struck
	fair         bool // the fair phase has begun
	fairFrom     time.Duration
	fairStep     int  // number of steps before it
	fairStepsMax int  // bound on the steps in it
	settling     bool // all processes have finished
	settleFrom   time.Duration
	idleTicks    int
	steps        int
	progress     *atomic.Int64 // see [watchdog]
}

// reset prepares the loop for another run, and reuses the memory of the last one, whose goroutines
// must have ended.
func (l *loop) reset(scenario *Scenario, strategy Strategy, log *history.Log, result *Result) {
	ctx, cancel := context.WithCancel(context.Background())
	service, system, processes, space := l.service, l.system, l.processes[:0], l.space
	enabled, scratch, turns, above := l.enabled, l.scratch, l.progress, l.planLimit
	*l = loop{
		result: result, log: log, strategy: strategy, plan: &scenario.Faults,
		budget: scenario.Faults, planLimit: above, bounds: scenario.severity(),
		cancel: cancel, fairStepsMax: scenario.fairSteps(),
		service: service, system: system, processes: processes, space: space, enabled: enabled, scratch: scratch,
		progress: turns,
		jumps:    scenario.Client == Model, // The real client would send its pings all the time.
	}
	l.live = liveExecutor{loop: l, began: time.Now()}
	l.executor = &l.live
	if above != nil {
		above.begin()
	}
	if l.system == nil || l.service != scenario.Subject.service() {
		l.service = scenario.Subject.service()
		l.system = l.service.New()
	}
	if l.progress == nil {
		l.progress = new(atomic.Int64)
	}
	l.spent()
	l.system.Reset(Config{
		Servers: max(1, scenario.Servers), RealClient: scenario.Client == Real,
		LinkFaults: l.allowsLinkFaults(), Log: log, Settle: l.settle,
	})
	if len(l.space) != scenario.Clients {
		l.space = make([]process, scenario.Clients)
	}
	for i := range l.space {
		p := &l.space[i]
		l.prepare(p, l.system.Connect())
		p.ctx, p.subject, p.cycles = ctx, &scenario.Subject, scenario.Cycles
		p.cancellable = scenario.Faults.Allows(faults.Cancel)
		p.register = &l.register
		l.processes = append(l.processes, p)
	}
}

// prepare initializes a process.
func (l *loop) prepare(p *process, client Client) {
	*p = process{
		Process: newProcess(client), client: client, progress: l.progress,
		resume: make(chan struct{}, 1), random: randomBytes{state: uint64(client.Process() - 1)},
	}
	p.Random = &p.random
	p.pending = p.space[:0]
}

// own labels the goroutines of the processes with their owners.
func (l *loop) own(o *owners) {
	o.prepare(len(l.processes))
	for _, p := range l.processes {
		p.owners = o
	}
}

// replace starts a process in the place of one that has crashed, for its remaining attempts. The
// new process gets the next number.
func (l *loop) replace(crashed *process) {
	l.executor.begin(l.newcomer(max(1, crashed.cycles-int(crashed.attempt))))
}

// newcomer adds a process to the run under way.
func (l *loop) newcomer(cycles int) *process {
	p, first := new(process), l.processes[0]
	l.prepare(p, l.system.Join())
	p.ctx, p.subject, p.cancellable, p.register = first.ctx, first.subject, first.cancellable,
		first.register
	if p.owners = first.owners; p.owners != nil {
		p.owners.prepare(p.Number)
	}
	p.cycles = cycles
	l.processes = append(l.processes, p)
	return p
}

// run executes the whole run unless it is cancelled. If the strategy panics, the processes are torn
// down all the same.
func (l *loop) run() {
	ended := false
	defer func() { l.tearDown(ended) }()
	aware, searched := l.strategy.(stateAware)
	if searched {
		l.searched = true
		aware.join(View{l})
	}
	if !l.begun { // A run that continues from a snapshot has begun.
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

// begin starts all processes.
func (l *loop) begin() {
	l.begun = true
	for _, p := range l.processes {
		l.executor.begin(p)
	}
	l.observe()
}

// take performs a step and lets every process react to it.
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

// decided reports whether the rest of the run has no decisions and nobody asks for its state keys.
func (l *loop) decided() bool { return l.fair && l.searched }

// unnoticed reports whether the step reached no process: the server served a request without
// closing the connection, or a client's link was healed. Healing a server may cause an election,
// which closes connections.
func (l *loop) unnoticed(step Step) bool {
	_, onServer := step.server()
	switch {
	case onServer || step.Kind != Serve && step.Kind != Heal && step.Kind != Fair:
		return false
	case step.Kind != Serve:
		return true
	}
	client := l.processes[step.Process-1].client
	return client.Connected() || client.Crashed()
}

// settle waits until every process has reacted to what reached it. The cluster calls it too.
func (l *loop) settle() { l.executor.settle() }

// observe waits until every process is blocked, and logs what they did.
func (l *loop) observe() {
	l.settle()
	l.progress.Add(1)
	now := l.system.Now()
	for _, p := range l.processes {
		p.resuming = (p.resuming || p.client.Paused()) && p.waiting && p.gate == Leave
	}
	l.executor.checkLosses()
	for _, p := range l.processes {
		if p.client.Paused() {
			continue // Nobody knows what it would say.
		}
		p.checkLoss()
		for i := range p.pending {
			p.pending[i].At = now
			l.log.Append(p.pending[i])
			switch p.pending[i].Kind {
			case history.ReenterCall, history.UnlockCall:
				p.nodeGone = !p.client.OwnsNodes()
			case history.ReenterReturn, history.UnlockReturn:
				p.nodeGone = false
			}
		}
		p.pending = p.pending[:0]
		if p.waiting && p.age == 0 {
			p.age = l.system.NextAge()
		}
	}
	l.system.Collect()
	for _, p := range l.processes {
		p.wake()
	}
}

// over reports whether the run has ended, and moves the run from one part to the next.
func (l *loop) over() bool {
	now := l.system.Now()
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

// exhausted reports whether the last part of the run has reached its bound of time or steps.
func (l *loop) exhausted(now time.Duration) bool {
	if l.settling {
		return now-l.settleFrom > settleBound || l.fair && l.steps-l.fairStep > l.fairStepsMax
	}
	return l.fair && (now-l.fairFrom > fairPhaseMax || l.steps-l.fairStep > l.fairStepsMax)
}

// beginFairPhase begins the fair phase: no fault strikes any more, and the default policy decides.
// That policy goes by ages, so ages are renumbered: the fair phase depends on the state alone, not
// on the path to it.
func (l *loop) beginFairPhase() {
	l.system.RenumberAges()
	for _, p := range l.processes {
		if p.waiting {
			p.age = l.system.NextAge()
		}
	}
	now := l.system.Now()
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

// quiet reports whether nothing is in flight and no live process has left a znode.
func (l *loop) quiet() bool {
	for _, p := range l.processes {
		if p.client.Unserved() > 0 || p.client.Undelivered() > 0 ||
			!p.client.Crashed() && (p.client.Pending() || p.client.OwnsNodes()) {
			return false
		}
	}
	return l.system.Converged()
}

// busy reports whether a live process has a request, a reply or an event in flight. Messages of a
// crashed process may stay in flight for ever.
func (l *loop) busy() bool {
	return slices.ContainsFunc(l.processes, func(p *process) bool {
		return !p.client.Crashed() && (p.client.Pending() || p.client.Unserved() > 0 ||
			p.client.Undelivered() > 0)
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
