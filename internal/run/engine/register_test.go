package engine_test

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A registerService is a server with one register: the smallest service on which a lock can be
// built. It has no sessions, no watches and no faults.
type registerService struct{}

func (registerService) New() sim.System               { return new(registerSystem) }
func (registerService) Supports(faults.Kind) bool     { return false }
func (registerService) OwnsFrame(string) bool         { return false }
func (registerService) OwnsCall(string) bool          { return false }
func (registerService) StepCost(bool) int             { return 1 }
func (registerService) Determinize() (restore func()) { return func() {} }

// A registerSystem is the server with its clients.
type registerSystem struct {
	register int64
	writes   int64
	clients  []*registerClient
	ages     uint64
	now      time.Duration
	woken    bool
	activity chan struct{}
}

func (s *registerSystem) Reset(sim.Config) {
	*s = registerSystem{activity: make(chan struct{}, 1)}
}

func (s *registerSystem) Connect() sim.Client {
	c := &registerClient{system: s, number: len(s.clients) + 1, replies: make(chan int64)}
	s.clients = append(s.clients, c)
	return c
}

func (s *registerSystem) Join() sim.Client { return s.Connect() }
func (s *registerSystem) Servers() int     { return 1 }

func (s *registerSystem) AppendMessages(steps []sim.EnabledStep) []sim.EnabledStep {
	for _, kind := range []sim.StepKind{sim.Serve, sim.Deliver} {
		for _, c := range s.clients {
			if c.message == kind+1 {
				step := sim.Step{Kind: kind, Process: int32(c.number)}
				steps = append(steps, sim.EnabledStep{Step: step, Age: c.age})
			}
		}
	}
	return steps
}

func (s *registerSystem) AppendRepairs(steps []sim.EnabledStep, _ bool) []sim.EnabledStep {
	return steps
}

// Perform serves the request of a client, or delivers the reply to it.
func (s *registerSystem) Perform(step sim.Step) {
	c := s.clients[step.Process-1]
	if step.Kind == sim.Serve {
		c.value = s.register
		if c.request.op == write || c.request.op == compareAndSet && s.register == 0 {
			s.register = c.request.value
			s.writes++
		}
		c.message, c.age = sim.Deliver+1, s.NextAge()
		return
	}
	c.message, s.woken = 0, true
	c.replies <- c.value
}

func (s *registerSystem) AppendFaults(steps []sim.EnabledStep, _ faults.Kind) []sim.EnabledStep {
	return steps
}

func (s *registerSystem) Inject(sim.Step, faults.Severity)   { panic("no faults") }
func (s *registerSystem) Now() time.Duration                 { return s.now }
func (s *registerSystem) Deadline() (time.Duration, bool)    { return 0, false }
func (s *registerSystem) Advance(now time.Duration)          { s.now = now }
func (s *registerSystem) AwaitsTime() bool                   { return false }
func (s *registerSystem) Expiry() (last, next time.Duration) { return 0, 0 }
func (s *registerSystem) Activity() <-chan struct{}          { return s.activity }
func (s *registerSystem) Transactions() int64                { return s.writes }
func (s *registerSystem) Converged() bool                    { return true }
func (s *registerSystem) FullyConnected() bool               { return true }
func (s *registerSystem) Leader(int) bool                    { return true }
func (s *registerSystem) StateHash(bool) uint64              { return s.Key() }

// Collect receives the requests that clients have sent.
func (s *registerSystem) Collect() {
	for _, c := range s.clients {
		c.mu.Lock()
		if c.submitted != nil {
			c.request, c.submitted = *c.submitted, nil
			c.message, c.age = sim.Serve+1, s.NextAge()
		}
		c.mu.Unlock()
	}
}

func (s *registerSystem) Woken() (woken bool) {
	woken, s.woken = s.woken, false
	return woken
}

func (s *registerSystem) NextAge() uint64 {
	s.ages++
	return s.ages
}

// RenumberAges makes the ages of messages follow the order in which they are in flight.
func (s *registerSystem) RenumberAges() {
	inFlight := slices.Clone(s.clients)
	slices.SortStableFunc(inFlight, func(a, b *registerClient) int {
		return cmp.Compare(a.age, b.age)
	})
	for _, c := range inFlight {
		c.age = s.NextAge()
	}
}

func (s *registerSystem) Key() uint64 {
	key := uint64(s.register)
	for _, c := range s.clients {
		for _, part := range []uint64{uint64(c.message), uint64(c.request.value), uint64(c.value)} {
			key = (key ^ part) * 0x100000001b3
		}
	}
	return key
}

// A registerClient is the connection of a process, with at most one request in flight.
type registerClient struct {
	system  *registerSystem
	number  int
	replies chan int64
	request registerRequest
	value   int64         // of the reply
	resumes time.Duration // the process is paused until then
	message sim.StepKind  // 1 + the step that moves the message in flight; 0 if there is none
	age     uint64

	mu        sync.Mutex
	submitted *registerRequest
}

// A registerRequest asks for one operation, which returns the value that the register had.
type registerRequest struct {
	op    int
	value int64
}

// The operations on a register.
const (
	read          = iota
	write         // sets the value
	compareAndSet // sets the value if the register has 0
)

// call sends a request and waits for the reply: the value that the register had.
func (c *registerClient) call(r registerRequest) int64 {
	c.mu.Lock()
	c.submitted = &r
	c.mu.Unlock()
	c.Notify()
	value, ok := <-c.replies
	if !ok {
		runtime.Goexit()
	}
	return value
}

func (c *registerClient) Notify() {
	select {
	case c.system.activity <- struct{}{}:
	default:
	}
}

func (c *registerClient) Handle() any         { return c }
func (c *registerClient) Process() int        { return c.number }
func (c *registerClient) Crashed() bool       { return false }
func (c *registerClient) Paused() bool        { return c.system.now < c.resumes }
func (c *registerClient) Connected() bool     { return true }
func (c *registerClient) ServerIndex() int    { return 0 }
func (c *registerClient) Phase() faults.Phase { return faults.Waiting }
func (c *registerClient) Pending() bool       { return c.message != 0 }
func (c *registerClient) EventNext() bool     { return false }
func (c *registerClient) OwnsNodes() bool     { return false }
func (c *registerClient) ShutDown()           { close(c.replies) }
func (c *registerClient) TearDown()           { close(c.replies) }

func (c *registerClient) Unserved() int {
	if c.message == sim.Serve+1 {
		return 1
	}
	return 0
}

func (c *registerClient) Undelivered() int {
	if c.message == sim.Deliver+1 {
		return 1
	}
	return 0
}

// registerLock is a lock that tries, with pauses, until it has set the register from 0 to the
// number of its process. Unless it is atomic, it reads the register before it writes.
func registerLock(name string, atomic bool) scenarios.Subject {
	return scenarios.Subject{
		Name: name, Service: registerService{},
		Claims: []history.Property{history.ClientMutualExclusion, history.Progress},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			c, me := p.Handle.(*registerClient), int64(p.Number)
			try := func() bool {
				if atomic {
					return c.call(registerRequest{op: compareAndSet, value: me}) == 0
				}
				if c.call(registerRequest{op: read}) != 0 {
					return false
				}
				c.call(registerRequest{op: write, value: me})
				return true
			}
			unlock := func(context.Context) error {
				c.call(registerRequest{op: write})
				return nil
			}
			return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
				for !try() {
					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-time.After(100 * time.Millisecond):
					}
				}
				return &scenarios.Hold{Unlock: unlock}, nil
			}), nil
		},
	}
}

// The engine and the searches need nothing of ZooKeeper: they find the defect of a lock on another
// service, and none in its twin.
func TestAnotherService(t *testing.T) {
	broken := scenarios.Scenario{
		Subject: registerLock("read-then-write", false), Clients: 2,
		Cycles: 1,
	}
	atomic := scenarios.Scenario{
		Subject: registerLock("compare-and-set", true), Clients: 2, Cycles: 2,
	}
	runner := engine.NewRunner(t)
	found := 0
	for schedule := range 200 {
		if runner.Run(&broken, strategy.NewRandom(1, schedule)).Violations != nil {
			found++
		}
		if r := runner.Run(&atomic, strategy.NewRandom(1, schedule)); r.Violations != nil {
			t.Fatalf("schedule %d: %v", schedule, r.Violations[0])
		}
	}
	if found == 0 || found == 200 {
		t.Errorf("%d of 200 schedules violate mutual exclusion", found)
	}
	search := exhaustive.Search{Scenario: broken}
	r := search.Run(context.Background(), t)
	if r.Failure == nil || r.Failure.Violations[0].Property != history.ClientMutualExclusion {
		t.Errorf("the exhaustive search finds %v", r.Failure)
	}
	search = exhaustive.Search{Scenario: atomic}
	if r := search.Run(context.Background(), t); !r.Complete || r.Failure != nil ||
		r.Schedules != 125 || r.States != 141 {
		t.Errorf("complete: %v, failure %v, %d schedules, %d states, want 125 and 141", r.Complete,
			r.Failure, r.Schedules, r.States)
	}
}

// A fault that the service does not have is refused.
func TestServiceWithoutFault(t *testing.T) {
	s := scenarios.Scenario{Subject: registerLock("compare-and-set", true), Clients: 2, Cycles: 1}
	s.Faults.Of[faults.Cut] = 1
	err := s.Validate()
	if want := "the service of the lock compare-and-set has no fault cut"; err == nil ||
		err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
