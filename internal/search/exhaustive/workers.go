package exhaustive

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/internal/search/replay"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// Several workers search depth first, each on a path of its own. A worker that has nothing to do
// gets the steps that are left in the first state of another one's path, and executes the path to
// that state again. All workers share the stored states and the local histories.
//
// A run ends in a state that another worker has stored, even if that worker is not done with it.
// None of the reductions depends on the order of the search: what is tried in a state depends only
// on what its key covers, and no step is deferred along a cycle of states; see [dfs.stubbornSet].
// So all that is left is that every stored state is explored by somebody, as in other searches on a
// shared set of states (Holzmann and Bošnački, "The Design of a Multicore Extension of the SPIN
// Model Checker", 2007; Laarman, van de Pol and Weber, "Boosting Multi-Core Reachability
// Performance with Shared Hash Tables", FMCAD 2010).
//
// Merging needs more: a state can be compared with another one only when all its continuations are
// known. A state that another worker has not left to its end is the same without comparison if all
// processes have the same local histories; otherwise the run is parked until that state's end, and
// compared then. So the searches of one and of several workers enter the same states, up to states
// that differ in their local histories alone, and run the same number of schedules. An infinite
// schedule leads some worker beyond the bound of a run, as it does one worker.
//
// Workers differ in what depends on the path by which a state is first reached: the steps of all
// schedules, their digest, and the number of local histories. Which violation is found first would
// depend on it too. So when a worker finds one, or that the lock is nondeterministic, one worker
// searches anew, and its report counts unless it ends before it has found a violation too.

// soloSchedules is how many schedules one worker runs before others join, so that a short search
// reports the same for any number of workers.
const soloSchedules = 3 << 13

// Shares reports whether the search has several workers. With a bound that ends it in the middle,
// and if it keeps going, what is reported would depend on their speed.
func (e *Search) Shares() bool {
	return e.Workers > 1 && e.MaxDeviations == 0 && e.Schedules == 0 && e.States == 0 &&
		e.Checkpoint == "" && !e.KeepGoing && e.Each == nil && !scheduler.Enabled
}

// A task is a path whose last step, and perhaps more steps from its last frame, are left to be
// explored.
type task struct {
	path      []frame
	histories []replay.LocalHistory // see [dfs.histories]
	parent    *opening              // that is open until the task ends
	past      state                 // that the task does not wait for
	resumes   bool                  // it begins with a run that was parked
}

// task returns a parked task: it continues from the last step of the first frames of the path.
func (x *dfs) task(frames int) *task {
	t := &task{
		path: slices.Clone(x.path[:frames]), histories: x.histories, parent: x.parent(frames),
		resumes: true,
	}
	if frames < len(x.path) {
		t.histories = x.histories[:x.path[frames].histories]
	}
	t.histories = slices.Clone(t.histories)
	for i := range t.path {
		t.path[i].rest, t.path[i].deferred, t.path[i].snapshot = nil, nil, nil
	}
	return t
}

// A pool hands out tasks to workers.
type pool struct {
	mutex   sync.Mutex
	changed sync.Cond
	tasks   []*task
	workers int
	idle    int
	ended   bool
	wants   atomic.Bool // a worker waits for a task
}

func newPool() *pool {
	p := &pool{workers: 1}
	p.changed.L = &p.mutex
	return p
}

// shared reports whether several workers search.
func (p *pool) shared() bool { return p.workers > 1 }

// add adds tasks.
func (p *pool) add(tasks ...*task) {
	if len(tasks) == 0 {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.tasks = append(p.tasks, tasks...)
	p.wants.Store(p.idle > len(p.tasks))
	p.changed.Broadcast()
}

// next waits for a task and returns it. It returns nil when the search has ended. If all workers
// wait, the tasks that are parked wait for each other, and one of them goes on.
func (p *pool) next(s *states) *task {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.idle++
	for !p.ended {
		if len(p.tasks) == 0 && p.idle == p.workers {
			t := s.unpark()
			if t == nil {
				p.ended = true
				break
			}
			p.tasks = append(p.tasks, t)
		}
		if last := len(p.tasks) - 1; last >= 0 {
			t := p.tasks[last]
			p.tasks = p.tasks[:last]
			p.idle--
			p.wants.Store(p.idle > len(p.tasks))
			return t
		}
		p.wants.Store(true)
		p.changed.Wait()
	}
	p.changed.Broadcast()
	return nil
}

// end makes all workers end after the runs under way.
func (p *pool) end() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.ended = true
	p.changed.Broadcast()
}

// offer gives another worker the steps left in the first state of the path that has some, if one
// waits. A state whose steps may get more stays with its worker.
func (x *dfs) offer() {
	if !x.pool.wants.Load() {
		return
	}
	n := slices.IndexFunc(x.path, func(b frame) bool {
		return len(b.rest) > 0 && b.deferred == nil
	})
	if n < 0 {
		return
	}
	t := x.task(n + 1)
	b := &x.path[n]
	t.path[n].step, t.path[n].rest, t.resumes = b.rest[0], b.rest[1:], false
	b.rest = nil
	x.states.delegate(t.parent)
	x.pool.add(t)
}

// begin makes a task the worker's own.
func (x *dfs) begin(t *task) {
	x.path, x.histories, x.base = append(x.path[:0], t.path...), append(x.histories[:0],
		t.histories...), len(t.path)
	x.holds, x.past, x.resumes = t.parent, t.past, t.resumes
}

// end leaves the task when nothing is left of it.
func (x *dfs) end() {
	x.shorten(x.base)
	x.path, x.histories, x.base = x.path[:0], x.histories[:0], 0
	x.pool.add(x.states.finish(x.holds)...)
	x.holds = nil
}

// A team is the workers of a search and their report.
type team struct {
	search *Search
	pool   *pool
	began  time.Time

	mutex  sync.Mutex
	report *report.Exhaustive
	shown  time.Duration
	left   bool // the search has ended early
	// one worker has to search anew, because what several find depends on their speed
	anew bool
}

// share lets several workers continue the search that one has begun.
func (e *Search) share(outer, ctx context.Context, t *testing.T, x *dfs, r *report.Exhaustive,
	runner *engine.Runner, began time.Time,
) *report.Exhaustive {
	team := &team{search: e, pool: x.pool, began: began, report: r, shown: r.Elapsed}
	x.pool.workers, r.Workers = e.Workers, e.Workers
	all := []*dfs{x}
	var others sync.WaitGroup
	for range e.Workers - 1 {
		y := x.colleague(t)
		all = append(all, y)
		others.Go(func() {
			if first := y.pool.next(y.states); first != nil {
				y.begin(first)
				y.work(ctx, engine.NewRunner(t), team)
			}
			if y.ValidatedRunner != nil {
				y.Cache.Close()
			}
		})
	}
	x.work(ctx, runner, team)
	others.Wait()
	r.Elapsed, r.Digest = time.Since(began), 0
	if team.anew || !team.left && len(x.states.openings) > 0 { // Then states keep each other open.
		alone := *e
		alone.Workers = 1
		if e.Budget > 0 {
			alone.Budget = max(1, e.Budget-r.Elapsed)
		}
		anew := alone.Run(outer, t)
		anew.Elapsed = time.Since(began)
		if anew.Complete || anew.Failure != nil || r.Failure == nil {
			return anew
		}
	}
	r.Interrupted = r.Interrupted && outer.Err() != nil
	if r.Untried = team.untried(all); r.Untried == 0 && !team.left {
		e.finish(r)
	}
	return r
}

// untried counts the known steps that no worker has tried.
func (m *team) untried(all []*dfs) (steps int) {
	for _, x := range all {
		steps += x.open()
	}
	for _, t := range m.pool.tasks {
		steps += 1 + len(t.path[len(t.path)-1].rest)
	}
	return steps
}

// colleague returns another worker of the same search.
func (x *dfs) colleague(t *testing.T) *dfs {
	e := x.search
	y := &dfs{
		search: e, memory: newMemoryGauge(), monitor: e.newMonitor(),
		states: x.states, pool: x.pool,
	}
	if x.ValidatedRunner != nil {
		y.ValidatedRunner = replay.NewValidatedRunner(&e.Scenario, t, x.Cache.Share())
		y.Every = x.Every
	}
	return y
}

// work explores the worker's path, and then tasks until none is left.
func (x *dfs) work(ctx context.Context, runner *engine.Runner, team *team) {
	for {
		result := x.run(ctx, runner, &x.search.Scenario)
		x.conclude(result)
		if !team.add(x, result) {
			return
		}
		x.resumes = false
		x.offer()
		if x.backtrack() {
			continue
		}
		x.end()
		next := x.pool.next(x.states)
		if next == nil {
			return
		}
		x.begin(next)
	}
}

// add adds a run to the report, and reports whether the search goes on.
func (m *team) add(x *dfs, result *engine.Result) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	e, r := m.search, m.report
	if result.Cancelled {
		r.Interrupted, m.left = true, true
		m.pool.end()
	}
	if m.left || m.anew {
		return false
	}
	x.account(r, result)
	r.Elapsed = time.Since(m.began)
	m.anew = m.anew || r.Failure != nil || r.OutOfContract != nil || r.Differing > 0 ||
		x.severalConnections()
	r.MemoryExhausted = r.MemoryExhausted || x.memoryExhausted(r.Schedules)
	if m.left = r.MemoryExhausted; m.left || m.anew {
		m.pool.end()
		return false
	}
	if e.Progress != nil && r.Elapsed-m.shown >= report.ProgressInterval {
		m.shown = r.Elapsed
		e.Progress(r)
	}
	return true
}
