// Package register is the smallest service on which a lock can be built, with such a lock. It shows
// what a service is to the engine, and that nothing else needs to know it.
package register

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A service is a server with one register: the smallest service on which a lock can be
// built. It has no sessions, no watches and no faults.
type service struct{}

func (service) Name() string                  { return "a register" }
func (service) New() sim.System               { return new(system) }
func (service) Supports(faults.Kind) bool     { return false }
func (service) ServersMax() int               { return 1 }
func (service) OwnsFrame(string) bool         { return false }
func (service) OwnsCall(string) bool          { return false }
func (service) StepCost(bool) int             { return 1 }
func (service) Determinize() (restore func()) { return func() {} }

// A system is the server with its clients.
type system struct {
	register int64
	writes   int64
	clients  []*client
	ages     uint64
	now      time.Duration
	woken    bool
	activity chan struct{}
}

func (s *system) Reset(sim.Config) {
	*s = system{activity: make(chan struct{}, 1)}
}

func (s *system) Connect() sim.Client {
	c := &client{system: s, number: len(s.clients) + 1, replies: make(chan int64)}
	s.clients = append(s.clients, c)
	return c
}

func (s *system) Join() sim.Client { return s.Connect() }
func (s *system) Servers() int     { return 1 }

func (s *system) AppendMessages(steps []sim.EnabledStep) []sim.EnabledStep {
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

func (s *system) AppendRepairs(steps []sim.EnabledStep, _ bool) []sim.EnabledStep {
	return steps
}

// Perform serves the request of a client, or delivers the reply to it.
func (s *system) Perform(step sim.Step) {
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

func (s *system) AppendFaults(steps []sim.EnabledStep, _ faults.Kind) []sim.EnabledStep {
	return steps
}

func (s *system) Inject(sim.Step, faults.Severity)   { panic("no faults") }
func (s *system) Now() time.Duration                 { return s.now }
func (s *system) Deadline() (time.Duration, bool)    { return 0, false }
func (s *system) Advance(now time.Duration)          { s.now = now }
func (s *system) AwaitsTime() bool                   { return false }
func (s *system) Expiry() (last, next time.Duration) { return 0, 0 }
func (s *system) Activity() <-chan struct{}          { return s.activity }
func (s *system) Transactions() int64                { return s.writes }
func (s *system) Converged() bool                    { return true }
func (s *system) FullyConnected() bool               { return true }
func (s *system) Leader(int) bool                    { return true }
func (s *system) StateHash(bool) uint64              { return s.Key() }

// Collect receives the requests that clients have sent.
func (s *system) Collect() {
	for _, c := range s.clients {
		c.mu.Lock()
		if c.submitted != nil {
			c.request, c.submitted = *c.submitted, nil
			c.message, c.age = sim.Serve+1, s.NextAge()
		}
		c.mu.Unlock()
	}
}

func (s *system) Woken() (woken bool) {
	woken, s.woken = s.woken, false
	return woken
}

func (s *system) NextAge() uint64 {
	s.ages++
	return s.ages
}

// RenumberAges makes the ages of messages follow the order in which they are in flight.
func (s *system) RenumberAges() {
	inFlight := slices.Clone(s.clients)
	slices.SortStableFunc(inFlight, func(a, b *client) int {
		return cmp.Compare(a.age, b.age)
	})
	for _, c := range inFlight {
		c.age = s.NextAge()
	}
}

func (s *system) Key() uint64 {
	key := uint64(s.register)
	for _, c := range s.clients {
		for _, part := range []uint64{uint64(c.message), uint64(c.request.value), uint64(c.value)} {
			key = (key ^ part) * 0x100000001b3
		}
	}
	return key
}

// A client is the connection of a process, with at most one request in flight.
type client struct {
	system  *system
	number  int
	replies chan int64
	request request
	value   int64         // of the reply
	resumes time.Duration // the process is paused until then
	message sim.StepKind  // 1 + the step that moves the message in flight; 0 if there is none
	age     uint64

	mu        sync.Mutex
	submitted *request
}

// A request asks for one operation, which returns the value that the register had.
type request struct {
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
func (c *client) call(r request) int64 {
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

// PauseUntil lets a process stand still until then.
func PauseUntil(p *scenarios.Process, at time.Duration) { p.Handle.(*client).resumes = at }

func (c *client) Notify() {
	select {
	case c.system.activity <- struct{}{}:
	default:
	}
}

func (c *client) Handle() any         { return c }
func (c *client) Process() int        { return c.number }
func (c *client) Crashed() bool       { return false }
func (c *client) Paused() bool        { return c.system.now < c.resumes }
func (c *client) Connected() bool     { return true }
func (c *client) ServerIndex() int    { return 0 }
func (c *client) Phase() faults.Phase { return faults.Waiting }
func (c *client) Pending() bool       { return c.message != 0 }
func (c *client) EventNext() bool     { return false }
func (c *client) OwnsNodes() bool     { return false }
func (c *client) ShutDown()           { close(c.replies) }
func (c *client) TearDown()           { close(c.replies) }

func (c *client) Unserved() int {
	if c.message == sim.Serve+1 {
		return 1
	}
	return 0
}

func (c *client) Undelivered() int {
	if c.message == sim.Deliver+1 {
		return 1
	}
	return 0
}

// Lock returns a lock that tries, with pauses, until it has set the register from 0 to the
// number of its process. Unless it is atomic, it reads the register before it writes.
func Lock(name string, atomic bool) scenarios.Subject {
	return scenarios.Subject{
		Name: name, Summary: "one register, set from 0 to the holder's number", Service: service{},
		Claims: []history.Property{history.ClientMutualExclusion, history.Progress},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			c, me := p.Handle.(*client), int64(p.Number)
			try := func() bool {
				if atomic {
					return c.call(request{op: compareAndSet, value: me}) == 0
				}
				if c.call(request{op: read}) != 0 {
					return false
				}
				c.call(request{op: write, value: me})
				return true
			}
			unlock := func(context.Context) error {
				c.call(request{op: write})
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
