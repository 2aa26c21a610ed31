// Package engine performs runs: it executes the code of a lock in several processes against a
// simulated service, one step at a time, as a strategy decides, and judges the history.
//
// A Runner performs runs. In each, a Loop lists the enabled steps, asks the Strategy for one,
// performs it, and waits until an Executor has let every process react. The package knows neither
// the service nor the search.
package engine

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A Loop executes one run inside its bubble: it asks the strategy for a step, performs it, waits
// until every process is blocked, and repeats that until the processes have finished.
//
// At most one input is in flight at a time, so the Go scheduler has nothing to decide. Time is the
// exception: when it passes, timers of several processes may fire at once. The loop puts what they
// do into a canonical order.
type Loop struct {
	result    *Result
	log       *history.Log
	strategy  Strategy
	service   sim.Service // of the system
	System    sim.System
	Processes []*Process // the first threads of processes with several
	// Contenders are all threads of all processes, by process. Without several threads they are the
	// processes.
	Contenders []*Process
	threads    int          // of each process
	space      []Process    // the processes that exist from the start
	register   Register     // the protected resource of the run
	plan       *faults.Plan // of the scenario
	budget     faults.Plan  // what the plan still allows
	planLimit  *PlanLimit   // nil unless shrinking
	bounds     faults.Severity
	pauses     bool               // the scenario says how long pauses last
	allowed    [faults.Kinds]bool // by the budget, in any phase
	// by the budget, in every phase and at every target
	everywhere [faults.Kinds]bool
	byName     [faults.Kinds]bool // "any" in the budget does not cover the kind
	faultless  bool               // the budget is empty
	BudgetKey  uint64
	enabled    []sim.EnabledStep
	scratch    []sim.EnabledStep
	ctx        context.Context // the run is cancelled when it ends
	Cancel     context.CancelFunc
	noKeys     bool // state keys are not needed
	libraries  bool // clients of processes are client libraries
	jumps      bool // the last idle tick is a time jump

	executor Executor
	owners   *owners        // of goroutines; nil if the executor has none
	recorder FlightRecorder // nil if the loop makes no decisions
	stop     *stop          // nil if the run is performed to its end
	parties  int            // how many processes a barrier needs; 0 if the subject is none
	live     liveExecutor
	begun    bool
	searched bool // the strategy is a [stateAware] one

	struck                 bool          // a fault has struck
	fair                   bool          // the fair phase has begun
	cut                    bool          // the run has reached a bound of time or steps
	fairFrom               time.Duration // its beginning, last pause or, if slow, last return
	fairRead               int           // number of events that advances has read
	fairStep, fairStepsMax int           // numbers of steps before it, and in it at most
	settling               bool          // all processes have finished
	settleFrom             time.Duration
	idle                   idlePeriod
	IdleTicks              int
	steps                  int
	progress               *atomic.Int64 // see [watchdog]

	goroutines GoroutineStrategy // nil if the default policy orders goroutines
	choices    []sim.EnabledStep
	Reached    bool  // the present step has brought a process something
	acting     int32 // the process of the present step; 0 or less if there is no single one
	ending     bool  // nothing about goroutines is decided any more
	thrown     any   // what the strategy panicked with while goroutines ran
}

// reset prepares the loop for another run, and reuses the memory of the last one, whose goroutines
// must have ended.
func (l *Loop) reset(scenario *scenarios.Scenario, strategy Strategy, log *history.Log,
	result *Result, owners *owners,
) {
	ctx, cancel := context.WithCancel(context.Background())
	service, system, processes, space := l.service, l.System, l.Processes[:0], l.space
	enabled, scratch, turns, above := l.enabled, l.scratch, l.progress, l.planLimit
	choices := l.choices
	*l = Loop{
		result: result, log: log, strategy: strategy, owners: owners, plan: &scenario.Faults,
		budget: scenario.Faults, planLimit: above, bounds: scenario.EffectiveSeverity(),
		pauses: scenario.Severity != (faults.Severity{}),
		Cancel: cancel, fairStepsMax: fairSteps(scenario),
		service: service, System: system, Processes: processes, space: space, enabled: enabled,
		scratch: scratch, progress: turns, choices: choices,
		parties: scenario.Subject.Parties(),
		idle:    idlePeriod{observed: scenario.Subject.Claimed(history.Quiescence)},
		threads: scenario.EffectiveThreads(), Contenders: l.Contenders[:0],
		// The real client would send its pings all the time.
		jumps:     scenario.Client == scenarios.Model,
		libraries: scenario.Client.Library(),
	}
	l.live = liveExecutor{loop: l, began: time.Now()}
	l.executor = &l.live
	if above != nil {
		above.begin()
	}
	if l.System == nil || l.service != scenario.Subject.EffectiveService() {
		l.service = scenario.Subject.EffectiveService()
		l.System = l.service.New()
	}
	if l.progress == nil {
		l.progress = new(atomic.Int64)
	}
	for kind := range faults.Kinds {
		l.byName[kind] = !scenario.Has(kind.NeedsInAny())
	}
	l.spent()
	l.System.Reset(sim.Config{
		Servers: scenario.EffectiveServers(), RealClient: scenario.Client == scenarios.Real,
		OwnClients: scenario.Client == scenarios.Dialed,
		LinkFaults: l.allowsLinkFaults(), Log: log, Settle: l.settle,
		Stacks: l.stacks, Thread: l.threadOf(), Owner: l.owner,
	})
	log.SetThreads(l.threads)
	if len(l.space) != scenario.Clients {
		l.space = make([]Process, scenario.Clients)
	}
	for i := range l.space {
		p := &l.space[i]
		l.act(int32(i + 1)) // Its client may have goroutines.
		l.prepare(p, l.System.Connect())
		p.Context = sim.WithCallRecorder(ctx, p)
		p.subject, p.Cycles = &scenario.Subject, scenario.Cycles
		p.cancellable = scenario.Faults.Allows(faults.Cancel)
		p.Register = &l.register
		l.addProcess(p)
	}
	l.own()
}

// addProcess adds a process with its further threads.
func (l *Loop) addProcess(p *Process) {
	p.started = true
	l.Processes, l.Contenders = append(l.Processes, p), append(l.Contenders, p)
	if l.threads < 2 {
		return
	}
	p.Threads, p.Random = []*Process{p}, threadsRandom{l, p}
	for t := 2; t <= l.threads; t++ {
		thread := new(Process)
		l.prepare(thread, p.Client)
		thread.Number = int(history.ThreadNumber(int32(p.Number), t))
		thread.random.state = uint64(thread.Number - 1)
		thread.Context = sim.WithCallRecorder(p.Context, thread)
		thread.subject, thread.Cycles = p.subject, p.Cycles
		thread.cancellable, thread.Register, thread.first = p.cancellable, p.Register, p
		p.Threads = append(p.Threads, thread)
		l.Contenders = append(l.Contenders, thread)
	}
}

// own makes the labels of the goroutines of all processes and threads that have none.
func (l *Loop) own() {
	if l.owners == nil {
		return
	}
	for _, p := range l.Contenders {
		l.owners.label(p.Number)
	}
}

// contender returns the process or thread of a number.
func (l *Loop) contender(number int32) *Process {
	process, thread := history.ProcessOf(number)
	p := l.Processes[process-1]
	if thread > 1 && l.threads > 1 { // Otherwise the number is that of a connection.
		return p.Threads[thread-1]
	}
	return p
}

// threadOf returns the function that tells the thread of the calling goroutine, or nil if there is
// nothing to tell.
func (l *Loop) threadOf() func() int32 {
	if l.threads < 2 {
		return nil
	}
	return l.caller
}

// caller returns the process or thread that the calling goroutine belongs to; see [owners.current].
func (l *Loop) caller() int32 {
	if l.owners == nil {
		return 0
	}
	return l.owners.current()
}

// owner returns the process that the calling goroutine belongs to; see [owners.current].
func (l *Loop) owner() int {
	number := l.caller()
	if number > 0 {
		number, _ = history.ProcessOf(number)
	}
	return int(number)
}

// prepare initializes a process.
func (l *Loop) prepare(p *Process, client sim.Client) {
	*p = Process{
		Environment: sim.Environment{
			Number: client.Process(), Client: client,
			Place: sim.Place{Host: client.Process(), PID: 1},
		},
		progress: l.progress,
		resume:   make(chan struct{}, 1), random: randomBytes{state: uint64(client.Process() - 1)},
	}
	p.Random = &p.random
	p.Pending = p.space[:0]
}

// replace starts a process in the place of one that has crashed, for its remaining attempts. The
// new process gets the next number.
func (l *Loop) replace(crashed *Process) {
	l.executor.Begin(l.newcomer(max(1, crashed.Cycles-int(crashed.Attempt)), crashed.Place.Next()))
}

// newcomer adds a process to the run under way.
func (l *Loop) newcomer(cycles int, at sim.Place) *Process {
	p, first := new(Process), l.Processes[0]
	scheduler.Join(int32(len(l.Processes) + 1))
	l.prepare(p, l.System.Join())
	l.act(l.acting)
	p.Context = sim.WithCallRecorder(first.Context, p)
	p.subject, p.cancellable, p.Register = first.subject, first.cancellable, first.Register
	p.Cycles, p.Place = cycles, at
	l.addProcess(p)
	l.own()
	return p
}

// run executes the whole run unless it is cancelled. If the strategy panics, the processes are torn
// down nevertheless.
func (l *Loop) run() {
	ended := false
	defer func() { l.tearDown(ended) }()
	aware, searched := l.strategy.(stateAware)
	if searched {
		l.searched = true
		aware.Join(View{l})
	}
	Watch(l.strategy, View{l})
	if l.stop != nil && l.stop.steps == 0 {
		l.standStill(sim.Step{})
	}
	if !l.begun { // A run that continues from a snapshot has begun.
		l.begin()
	}
	if l.aborted() {
		return
	}
	for searched {
		step, deviates, ok := aware.Settled(l.steps)
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
		defaultIndex := DefaultIndex(l.enabled)
		chosen := defaultIndex
		if !l.fair {
			chosen = l.strategy.Choose(l.steps, l.enabled, defaultIndex)
		}
		if chosen == Prune {
			l.result.Pruned = true
			break
		}
		if l.take(Chosen(chosen, l.enabled), chosen != defaultIndex); l.aborted() {
			break
		}
		if !l.noKeys && !l.decided() {
			l.result.Keys = append(l.result.Keys, l.executor.StateKey())
		}
	}
	l.deliverRest()
	l.result.Steps = l.steps
	ended = !l.result.Pruned
	if o, ok := l.strategy.(observer); ok {
		o.Observe(View{l})
	}
}

// begin starts all processes.
func (l *Loop) begin() {
	l.begun = true
	for _, p := range l.Processes {
		l.act(int32(p.Number))
		l.executor.Begin(p)
	}
	l.observe()
}

// take performs a step and lets every process react to it.
func (l *Loop) take(step sim.Step, deviates bool) {
	if deviates {
		l.result.Deviations = append(l.result.Deviations, Deviation{Index: l.steps, Step: step})
	}
	if l.log.GathersFacts() {
		l.result.Starts = append(l.result.Starts, len(l.log.Events()))
	}
	l.recorder.Decide(l.steps, step, deviates)
	l.steps++
	l.progress.Add(1)
	l.act(step.Process)
	if l.stop != nil && l.steps == l.stop.steps {
		l.standStill(step)
	}
	l.touch(step)
	l.Reached = false
	from := len(l.log.Events())
	l.perform(step)
	if !l.unnoticed(step) {
		l.observe()
	}
	l.touchSessions(from)
}

// decided reports whether the rest of the run has no decisions and nobody asks for its state keys.
func (l *Loop) decided() bool { return l.fair && l.searched }

// unnoticed reports whether the step reached no process: the server served a request without
// closing the connection, or a client's link was healed. Healing a server may cause an election,
// which closes connections.
func (l *Loop) unnoticed(step sim.Step) bool {
	_, onServer := step.Server()
	switch {
	case onServer || step.Kind != sim.Serve && step.Kind != sim.Heal && step.Kind != sim.Fair:
		return false
	case step.Kind != sim.Serve:
		return true
	}
	process, connection := history.ProcessOf(step.Process)
	client := l.Processes[process-1].Client
	return connection == 1 && client.Connected() || client.Crashed()
}

// settle waits until every process has reacted to what reached it. The system calls it too.
func (l *Loop) settle() { l.executor.Settle() }

// observe waits until every process is blocked, and logs what they did.
func (l *Loop) observe() {
	l.settle()
	l.startThreads()
	l.progress.Add(1)
	now := l.System.Now()
	for _, p := range l.Contenders {
		p.Resuming = (p.Resuming || p.Client.Paused()) && p.Waiting && p.Gate == sim.Leave
	}
	l.executor.CheckLosses()
	for _, p := range l.Contenders {
		if p.Client.Paused() {
			continue // Nobody knows what it would say.
		}
		p.checkLoss()
		p.noteForfeit()
		for i := range p.Pending {
			p.Pending[i].At = now
			if p.Pending[i].Kind == history.Lost && p.lostAt > 0 {
				p.Pending[i].Ago = now - p.lostAt
			}
			l.log.Append(p.Pending[i])
			switch p.Pending[i].Kind {
			case history.ReenterCall, history.UnlockCall:
				p.NodeGone = !p.Client.OwnsNodes()
			case history.ReenterReturn, history.UnlockReturn:
				p.NodeGone = false
			}
		}
		p.Pending = p.Pending[:0]
		if p.Waiting && p.age == 0 {
			p.age = l.System.NextAge()
		}
	}
	l.System.Collect()
	for _, p := range l.Contenders {
		p.wake()
	}
}

// startThreads starts the further threads of each process whose handle is open, one after the
// other.
func (l *Loop) startThreads() {
	if l.threads < 2 {
		return
	}
	for _, p := range l.Processes {
		for _, thread := range p.Threads {
			if !thread.started && p.locker != nil && !p.Client.Crashed() {
				thread.started = true
				l.executor.Begin(thread)
				l.settle()
			}
		}
	}
}

// over reports whether the run has ended, and moves the run from one part to the next.
func (l *Loop) over() bool {
	now := l.System.Now()
	if !l.settling && l.allDone() {
		l.settling, l.settleFrom = true, now
		l.idle.read = l.log.Len()
	}
	if l.settling && l.idle.observed {
		l.readIdle()
	}
	if l.settling && (l.idle.settled || l.quiet()) && l.silent(now) {
		return true
	}
	if l.fair && (slices.ContainsFunc(l.Processes, isPaused) || l.advances()) {
		l.fairFrom = now
	}
	if l.exhausted(now) || l.strays(now) {
		l.result.Unsettled, l.cut = l.busy(), true
		return true
	}
	if l.fair {
		return false
	}
	if l.settling || l.steps >= StepsMax || l.IdleTicks >= idleTicksMax || l.stranded() {
		l.result.CutOff = !l.settling && l.steps >= StepsMax
		l.beginFairPhase()
	}
	return false
}

func isPaused(p *Process) bool { return p.Client.Paused() }

// exhausted reports whether the last part of the run has reached its bound of time or steps. A run
// in which processes may wait for ever ends between the requests that they repeat.
func (l *Loop) exhausted(now time.Duration) bool {
	if l.settling {
		return now-l.settleFrom > l.settleMax() || l.endless() ||
			l.fair && l.steps-l.fairStep > l.fairStepsMax
	}
	return l.fair && (now-l.fairFrom > fairPhaseMax && !(l.mayWait() && l.busy()) ||
		l.steps-l.fairStep > l.fairStepsMax)
}

// stranded reports whether nothing can happen any more except that too few processes for a barrier
// wait at it, however often they poll. At a single barrier, one is enough unless a process has
// crashed.
func (l *Loop) stranded() bool {
	if l.parties == 0 || !l.faultless {
		return false
	}
	waiting, sharing, crashed := 0, 0, false
	for _, p := range l.Contenders {
		switch {
		case p.Client.Unserved() > 0, p.Client.Undelivered() > 0,
			!p.Client.Crashed() && p.Client.Pending(), !p.done() && p.Stage != locking:
			return false
		case !p.done():
			waiting++
			if p.subject.Shares(p.Client.Process(), p.Attempt) {
				sharing++
			}
		}
		crashed = crashed || p.Client.Crashed()
	}
	if crashed {
		waiting -= sharing // The crashed process may have set the single barrier.
	}
	return waiting < l.parties
}

// beginFairPhase begins the fair phase: no fault strikes any more, and the default policy decides.
// That policy goes by ages, so ages are renumbered: the fair phase depends on the state alone, not
// on the path to it.
func (l *Loop) beginFairPhase() {
	l.System.RenumberAges()
	for _, p := range l.Contenders {
		if p.Waiting {
			p.age = l.System.NextAge()
		}
	}
	now := l.System.Now()
	l.fair, l.fairFrom, l.fairStep, l.fairRead = true, now, l.steps, l.log.Len()
	l.log.Append(history.Event{At: now, Kind: history.FairPhase})
}

func (l *Loop) allDone() bool {
	for _, p := range l.Contenders {
		if !p.done() {
			return false
		}
	}
	return true
}

// quiet reports whether nothing is in flight and no live process has left a znode.
func (l *Loop) quiet() bool {
	for _, p := range l.Processes {
		if p.Client.Unserved() > 0 || p.Client.Undelivered() > 0 ||
			!p.Client.Crashed() && (p.Client.Pending() || p.Client.OwnsNodes()) {
			return false
		}
	}
	return l.System.Converged()
}

// busy reports whether a live process has a request, a reply or an event in flight. Messages of a
// crashed process may stay in flight for ever, and one that waits on a slow link may send for ever.
func (l *Loop) busy() bool {
	return slices.ContainsFunc(l.Processes, func(p *Process) bool {
		return !p.Client.Crashed() && !p.waitsSlowly() &&
			(p.Client.Pending() || p.Client.Unserved() > 0 || p.Client.Undelivered() > 0)
	})
}

// tearDown ends every process of the run, and notes the first panic of one.
func (l *Loop) tearDown(judged bool) {
	l.ending = true
	l.executor.TearDown(judged)
	for _, p := range l.Contenders {
		panics := p.Panics
		if panics == "" && p.OpenFails != "" {
			panics = l.setUpMistake(p)
		}
		if panics != "" && l.result.Panic == "" {
			l.result.Panic, l.result.PanicProcess = panics, p.Number
		}
	}
	if judged {
		l.refuseUnreached()
	}
}
