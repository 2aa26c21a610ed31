package strategy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/sim"
)

// The strategies run on small programs of SCTBench, the benchmark of systematic concurrency testing
// (Thomson, Donaldson and Betts, "Concurrency Testing Using Controlled Schedulers: An Empirical
// Study", TOPC 2016), reconstructed from published descriptions. Their operations are accesses to
// shared variables, locks and thread starts. The published figures are of instrumented C programs,
// in which accesses to local variables are steps, too.

// An operation is an atomic step of a thread.
type operation struct {
	object  int                                // the accessed variable or lock
	enabled func(m *machine) bool              // nil if always
	do      func(m *machine, t *programThread) // executes it
}

// A programThread is a thread of a program. It has ended when at is the number of its operations.
type programThread struct {
	operations []operation
	at         int
	started    bool
	local      [2]int
}

// A machine runs a program.
type machine struct {
	threads   []programThread
	variables [8]int
	failed    bool
}

const locksFrom = 100 // the first object that is a lock

func access(object int, do func(m *machine, t *programThread)) operation {
	return operation{object: object, do: do}
}

func acquire(lock int) operation {
	return operation{
		locksFrom + lock, func(m *machine) bool { return m.variables[lock] == 0 },
		func(m *machine, _ *programThread) { m.variables[lock] = 1 },
	}
}

func release(lock int) operation {
	return operation{
		locksFrom + lock, nil,
		func(m *machine, _ *programThread) { m.variables[lock] = 0 },
	}
}

func set(variable, value int) operation {
	return access(variable, func(m *machine, _ *programThread) { m.variables[variable] = value })
}

func add(variable, value int) operation {
	return access(variable, func(m *machine, _ *programThread) { m.variables[variable] += value })
}

func load(variable, local int) operation {
	return access(variable,
		func(m *machine, t *programThread) { t.local[local] = m.variables[variable] })
}

func require(variable int, holds func(value int, t *programThread) bool) operation {
	return access(variable, func(m *machine, t *programThread) {
		m.failed = m.failed ||
			!holds(m.variables[variable], t)
	})
}

// started returns a program whose first thread starts the other threads one after the other.
func started(threads ...[]operation) []programThread {
	main := programThread{started: true}
	all := make([]programThread, 1, len(threads)+1)
	for i, operations := range threads {
		main.operations = append(main.operations, operation{
			object: -1 - i,
			do:     func(m *machine, _ *programThread) { m.threads[i+1].started = true },
		})
		all = append(all, programThread{operations: operations})
	}
	all[0] = main
	return all
}

func repeat(n int, operations []operation) [][]operation {
	all := make([][]operation, n)
	for i := range all {
		all[i] = operations
	}
	return all
}

// reorder has a thread that reads two variables, which other threads set one after the other.
func reorder(setters int) []programThread {
	check := []operation{
		access(0, func(m *machine, t *programThread) {
			if t.local[0] = m.variables[0]; t.local[0] == 0 {
				t.local[1] = 1 // a is 0: b has to be 0 too
			}
		}),
		require(1, func(b int, t *programThread) bool { return t.local[1] == 1 || b == -1 }),
	}
	return started(append(repeat(setters, []operation{set(0, 1), set(1, -1)}), check)...)
}

// twostage sets two variables under two locks; the bug is a reader that sees only the first set.
// For 20 threads, the published figures do not give the division into readers and writers; with one
// reader SURW needs 50 schedules, with ten it needs the published 6.
func twostage(writers, readers int) []programThread {
	const lockA, lockB = 6, 7
	write := []operation{
		acquire(lockA), set(0, 1), release(lockA), acquire(lockB), set(1, 2),
		release(lockB),
	}
	read := []operation{
		acquire(lockA), load(0, 0), release(lockA),
		acquire(lockB),
		require(1, func(second int, t *programThread) bool {
			return t.local[0] == 0 || second == 2
		}),
		release(lockB),
	}
	return started(append(repeat(writers, write), repeat(readers, read)...)...)
}

// wronglock protects one variable with two locks.
func wronglock(others int) []programThread {
	const lockA, lockB = 6, 7
	one := []operation{
		acquire(lockA), load(0, 0), add(0, 1),
		require(0, func(value int, t *programThread) bool { return value == t.local[0]+1 }),
		release(lockA),
	}
	other := []operation{acquire(lockB), add(0, 1), release(lockB)}
	return started(append([][]operation{one}, repeat(others, other)...)...)
}

// deadlock acquires two locks in two orders.
func deadlock() []programThread {
	const lockA, lockB = 6, 7
	return started(
		[]operation{acquire(lockA), acquire(lockB), add(0, 1), release(lockB), release(lockA)},
		[]operation{acquire(lockB), acquire(lockA), add(0, 1), release(lockA), release(lockB)})
}

// account checks a balance after a deposit and a withdrawal, and expects a wrong one.
func account() []programThread {
	const lock = 7
	return started(
		[]operation{acquire(lock), add(0, 1), set(1, 1), release(lock)},
		[]operation{acquire(lock), add(0, -1), set(2, 1), release(lock)},
		[]operation{
			acquire(lock), load(1, 0), load(2, 1),
			require(0, func(_ int, t *programThread) bool {
				return t.local[0] == 0 || t.local[1] == 0
			}),
			release(lock),
		})
}

// bluetooth is a driver that is stopped while its first thread adds a request, between that
// thread's check of the stopping flag and its increment of the pending requests. The variable
// pending is the number of pending requests minus its initial value of 1.
func bluetooth() []programThread {
	const stopping, pending, event, stopped, lock = 0, 1, 2, 3, 7
	// unless skips an operation once the second local variable of the thread is set.
	unless := func(o operation) operation {
		do := o.do
		o.do = func(m *machine, t *programThread) {
			if t.local[1] == 0 {
				do(m, t)
			}
		}
		return o
	}
	leave := []operation{
		acquire(lock), add(pending, -1), load(pending, 0), release(lock),
		access(event, func(m *machine, t *programThread) {
			if t.local[0] == -1 {
				m.variables[event] = 1
			}
		}),
	}
	stop := slices.Concat([]operation{set(stopping, 1)}, leave, []operation{
		access(event, func(m *machine, t *programThread) { t.local[1] = 1 - m.variables[event] }),
		unless(set(stopped, 1)),
	})
	all := started(stop)
	all[0].operations = slices.Concat(all[0].operations, []operation{
		load(stopping, 1), unless(access(pending,
			func(m *machine, _ *programThread) { m.variables[pending]++ })),
		unless(require(stopped, func(value int, _ *programThread) bool { return value == 0 })),
	}, leave)
	return all
}

// run runs a program with a strategy and reports whether it failed. A deadlock is a failure.
func run(program func() []programThread, make func(*machine) engine.Strategy,
	profile *Profile,
) bool {
	m := &machine{threads: program()}
	strategy := make(m)
	var enabled []sim.EnabledStep
	for index := 0; ; index++ {
		enabled = enabled[:0]
		left := 0
		for i := range m.threads {
			t := &m.threads[i]
			if t.at == len(t.operations) {
				continue
			}
			left++
			if o := &t.operations[t.at]; t.started && (o.enabled == nil || o.enabled(m)) {
				enabled = append(enabled, sim.EnabledStep{
					Step: sim.Step{Kind: sim.Serve, Process: int32(i + 1)},
					Age:  uint64(t.at + 1),
				})
			}
		}
		if len(enabled) == 0 {
			return left > 0 || m.failed
		}
		o := enabled[strategy.Choose(index, enabled, 0)]
		if profile != nil {
			profile.Add(&o, true)
		}
		t := &m.threads[o.Process-1]
		t.at++
		t.operations[t.at-1].do(m, t)
	}
}

// of returns the operation of an enabled step.
func (m *machine) of(o *sim.EnabledStep) *operation {
	return &m.threads[o.Process-1].operations[o.Age-1]
}

// strategiesFor returns the compared strategies.
func strategiesFor(program func() []programThread, seed uint64,
	schedule int,
) map[string]func(*machine) engine.Strategy {
	profile := new(Profile)
	run(program, func(*machine) engine.Strategy { return new(engine.Replay) }, profile)
	return map[string]func(*machine) engine.Strategy{
		"random": func(*machine) engine.Strategy { return NewRandom(seed, schedule) },
		"pct":    func(*machine) engine.Strategy { return NewPCT(profile, 3, seed, schedule) },
		"pct10":  func(*machine) engine.Strategy { return NewPCT(profile, 10, seed, schedule) },
		"urw":    func(*machine) engine.Strategy { return NewURW(profile, seed, schedule) },
		"pos": func(m *machine) engine.Strategy {
			p := NewPOS(seed, schedule)
			p.races = func(a, b *sim.EnabledStep) bool { return m.of(a).object == m.of(b).object }
			return p
		},
		// As in the paper, the interesting operations are the accesses to one variable or lock,
		// which is drawn for each schedule.
		"surw": func(m *machine) engine.Strategy {
			var objects []int
			for _, t := range m.threads {
				for _, o := range t.operations {
					if o.object >= 0 {
						objects = append(objects, o.object)
					}
				}
			}
			object := objects[rand.New(rand.NewPCG(seed, uint64(schedule)<<1|1)).IntN(len(objects))]
			counts := &Profile{Interesting: make([]int, len(m.threads)+1)}
			for i, t := range m.threads {
				for _, o := range t.operations {
					if o.object == object {
						counts.Interesting[i+1]++
					}
				}
			}
			s := NewSURW(counts, seed, schedule)
			s.interesting = func(o *sim.EnabledStep) bool { return m.of(o).object == object }
			return s
		},
	}
}

// programs are the compared programs, with the published mean number of schedules until a strategy
// finds the bug (Zhao et al., ASPLOS 2025, from their raw data; 20 runs each). A strategy without a
// figure did not find it in 10,000 schedules.
var programs = []struct {
	name      string
	make      func() []programThread
	published map[string]float64
}{
	{"reorder_3", func() []programThread { return reorder(2) }, map[string]float64{
		"surw": 7,
		"pct":  185, "pct10": 148, "pos": 86,
	}},
	{"reorder_10", func() []programThread { return reorder(9) }, map[string]float64{
		"surw": 17,
		"pct":  3225, "pct10": 4462,
	}},
	{"twostage", func() []programThread { return twostage(1, 1) }, map[string]float64{
		"surw": 8,
		"pct":  13, "pct10": 9, "pos": 15, "random": 464,
	}},
	{"twostage_20", func() []programThread { return twostage(10, 10) }, map[string]float64{
		"surw": 6,
		"pct":  159, "pct10": 101, "pos": 156,
	}},
	{"bluetooth_driver", bluetooth, map[string]float64{
		"surw": 70, "pct": 112, "pct10": 83, "pos": 36,
		"random": 215,
	}},
	{"wronglock_3", func() []programThread { return wronglock(3) }, map[string]float64{
		"surw": 9,
		"pct":  58, "pct10": 14, "pos": 11, "random": 36,
	}},
	{"deadlock01", deadlock, map[string]float64{
		"surw": 2, "pct": 13, "pct10": 7, "pos": 4,
		"random": 3,
	}},
	{"account", account, map[string]float64{
		"surw": 6, "pct": 4, "pct10": 4, "pos": 4,
		"random": 18,
	}},
}

var strategiesCompared = []string{"random", "pct", "pct10", "pos", "urw", "surw"}

// meanToBug returns the mean number of schedules after which a strategy finds the bug.
func meanToBug(program func() []programThread, name string) float64 {
	seeds, most, total := long.Count(10, 20), 10_000, 0
	for seed := range uint64(seeds) {
		for schedule := range most {
			total++
			if run(program, strategiesFor(program, seed+1, schedule)[name], nil) {
				break
			}
		}
	}
	return float64(total) / float64(seeds)
}

// Every strategy needs at most twice the schedules of its published implementation.
func TestStrategiesAgainstPublished(t *testing.T) {
	for _, p := range programs {
		for name, published := range p.published {
			if got := meanToBug(p.make, name); got > 2*published {
				t.Errorf("%s, %s: a mean of %.1f schedules, published %.0f", p.name, name, got,
					published)
			}
		}
	}
}

// BenchmarkPublishedPrograms reports the mean numbers of schedules.
func BenchmarkPublishedPrograms(b *testing.B) {
	for _, p := range programs {
		for _, name := range strategiesCompared {
			b.Run(fmt.Sprintf("%s/%s", p.name, name), func(b *testing.B) {
				b.ReportMetric(meanToBug(p.make, name), "schedules")
				b.ReportMetric(p.published[name], "published")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
