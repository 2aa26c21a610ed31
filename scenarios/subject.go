// Package scenarios runs lock code against a simulated ZooKeeper: real goroutines in a bubble of
// virtual time, one decision at a time, the same decisions the same run. It searches schedules for
// one that breaks a property, shortens it, and writes it down so that it can be replayed.
package scenarios

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
)

// A Subject is a lock under test.
type Subject struct {
	Name    string
	Summary string             // one line on what it is
	Claims  []history.Property // what the lock promises; the rest is checked for nothing else
	// within which the lock promises client-mutual-exclusion; the default ones unless set
	Severity faults.Severity
	// the lock asks for a *zk.Conn, so that it runs with the real client only
	Real bool

	// Sequence is the number that the first sequential node in the lock's directory gets, as if so
	// many nodes had come and gone by a transaction each. A lock that is to be taken across the end
	// of the numbers, 2^31-1, begins a little below it.
	Sequence int32

	// that the lock promises to stay within; history.DefaultBounds unless set
	Limits history.Limits
	// how the resource that the holders of the lock use is guarded; none is used unless set
	Guard Guard
	// what must have happened in some schedule for a campaign to have tested the lock
	Sometimes []history.Sometimes

	// Open gives a process its handle on the lock. It is called once in each process of each run,
	// in a goroutine of that process.
	Open func(*Process) (Locker, error)
}

// Claimed tells whether the lock promises the property.
func (s *Subject) Claimed(p history.Property) bool {
	for _, claim := range s.Claims {
		if claim == p {
			return true
		}
	}
	return p == NoPanic || p == NoGoroutineLeak || p == history.ZooKeeperConsistency
}

// validate returns an error that says which field is wrong, and what it should be, or nil.
func (s *Subject) validate() error {
	switch {
	case s.Open == nil:
		return errors.New("the scenario has no lock to test: Subject.Open is to give each " +
			"process its " +
			"handle on the lock")
	case s.Name == "" || strings.ContainsAny(s.Name, `/\`):
		return fmt.Errorf("the name of the lock, %q, must not be empty or hold a slash", s.Name)
	case len(s.Claims) == 0:
		return fmt.Errorf("the lock %s claims nothing, so that next to nothing would be checked: "+
			"Subject.Claims is what it promises, some of %v",
			s.Name, Properties())
	case s.Sequence < 0:
		return fmt.Errorf("the first sequential node of the lock %s cannot have the number %d",
			s.Name,
			s.Sequence)
	case s.Guard > TokenChecked:
		return fmt.Errorf("the lock %s has a guard %d that there is not", s.Name, s.Guard)
	}
	for _, claim := range s.Claims {
		if !slices.Contains(Properties(), claim) {
			return fmt.Errorf("the lock %s claims %q, which is no property; there are %v", s.Name,
				claim,
				Properties())
		}
	}
	for _, goal := range s.Sometimes {
		if goal.Reached == nil {
			return fmt.Errorf("the lock %s has a goal %q that nothing can reach: it has no Reached",
				s.Name,
				goal.Name)
		}
	}
	return nil
}

// Contract returns the bounds within which the lock promises client-mutual-exclusion.
func (s *Scenario) Contract() faults.Severity {
	if s.Subject.Severity == (faults.Severity{}) {
		return faults.DefaultSeverity()
	}
	return s.Subject.Severity
}

// DescribeContract describes how far the lock promises client-mutual-exclusion, as far as the
// scenario can go beyond.
func (s *Scenario) DescribeContract() string {
	text := s.Contract().String()
	if s.Faults.Names(faults.CloseSession) {
		text += ", sessions that nobody else closes"
	}
	return text
}

// OutOfContract tells whether a run has broken what the lock does not promise there:
// client-mutual-exclusion, after a process was paused for longer, or a clock has gone wrong by
// more, than the lock says it can stand, or after somebody else has closed a session, as then it
// can also take the lock once more for its own (loss-notification) that is lost. Nothing that a
// lock can do helps then: its process can be stopped after it has looked at the clock and before it
// acts, and it hears of the end of its session only when it connects again. The other properties
// are promised whatever happens. The result must be that of its runner's last run.
func (s *Scenario) OutOfContract(r *Result, v *history.Violation) bool {
	if sessionClosed(r.Events[:v.Event+1]) {
		reentry := v.Property == history.LossNotification &&
			r.Events[v.Event].Kind == history.ReenterReturn
		return reentry || v.Property == history.ClientMutualExclusion
	}
	if v.Property != history.ClientMutualExclusion {
		return false
	}
	struck := faults.Severity{Pause: longestPause(r.Events[:v.Event+1]), Drift: s.severity().Drift}
	if r.Coverage.Total(faults.SlowClient)+r.Coverage.Total(faults.FastClient)+
		r.Coverage.Total(faults.SlowClock)+r.Coverage.Total(faults.FastClock) == 0 {
		struck.Drift = 0
	}
	return !struck.Within(s.Contract())
}

// sessionClosed reports whether a fault among the events has closed a session.
func sessionClosed(events []history.Event) bool {
	return slices.ContainsFunc(events, func(e history.Event) bool {
		return e.Kind == history.Fault && e.Name == faults.CloseSession.String()
	})
}

// longestPause returns for how long a process was paused at most in what has happened.
func longestPause(events []history.Event) (longest time.Duration) {
	for i := range events {
		if e := &events[i]; e.Kind == history.Fault && e.Name == faults.Pause.String() {
			longest = max(longest, pauseEnd(events[i:])-e.At)
		}
	}
	return longest
}

// pauseEnd returns when the pause ends with which the events begin, or when the last event was if
// it has not ended by then.
func pauseEnd(events []history.Event) time.Duration {
	for i := range events {
		if events[i].Kind == history.Resumed && events[i].Process == events[0].Process {
			return events[i].At
		}
	}
	return events[len(events)-1].At
}

// Fails reports whether a run has broken a promise of the lock. It orders the violations as reports
// do: a panic first, then broken promises, then what is excused. The result must be that of its
// runner's last run.
func (s *Scenario) Fails(r *Result) bool {
	s.Lead(r, "")
	return len(r.Violations) > 0 && !s.OutOfContract(r, r.Violations[0])
}

// Lead puts the violations of a run in the order of Fails. The violation with the signature goes
// first among the broken promises, or among what is excused. The result must be that of its
// runner's last run.
func (s *Scenario) Lead(r *Result, signature string) {
	slices.SortStableFunc(r.Violations, func(a, b *history.Violation) int {
		return s.rank(r, a, signature) - s.rank(r, b, signature)
	})
}

func (s *Scenario) rank(r *Result, v *history.Violation, signature string) int {
	rank := 4
	switch {
	case v.Property == NoPanic:
		return 0
	case !s.OutOfContract(r, v):
		rank = 2
	}
	if v.Signature() == signature {
		rank--
	}
	return rank
}

// outOfContract returns what a run has broken and the lock does not promise there.
func (s *Scenario) outOfContract(r *Result) (excused []*history.Violation) {
	for _, v := range r.Violations {
		if s.OutOfContract(r, v) {
			excused = append(excused, v)
		}
	}
	return excused
}

// limits returns the bounds that the lock is judged by.
func (s *Subject) limits() history.Limits {
	if s.Limits == (history.Limits{}) {
		return history.DefaultLimits
	}
	return s.Limits
}

// A Locker is one process's handle on the lock under test.
type Locker interface {
	// Lock waits until the process holds the lock. The context ends when the run does.
	Lock(context.Context) (*Hold, error)
}

// A Hold is a lock that is held. Only Unlock must be set.
type Hold struct {
	Unlock func(context.Context) error

	Done <-chan struct{} // closed when the lock is lost; nil for a lock that does not tell
	// the path of the contender's znode; found out from the cluster where it is empty
	Node  string
	Token int64 // the fencing token, 0 for a lock without one

	// takes the lock once more, as its owner; nil for a lock that does not count
	Reenter func(context.Context) (*Hold, error)
	// what the lock protects, if it is not as Subject.Guard says
	Resource *Resource
}

// A LockerFunc is a function that serves as a [Locker].
type LockerFunc func(context.Context) (*Hold, error)

// Lock calls the function.
func (f LockerFunc) Lock(ctx context.Context) (*Hold, error) { return f(ctx) }

// A Process is what lock code under test gets to work with.
type Process struct {
	Number         int           // from 1
	Client         simzk.Client  // the process's connection to ZooKeeper
	Directory      string        // where the lock's contenders are to make their nodes; it exists
	SessionTimeout time.Duration // as the ensemble granted it
	Random         io.Reader     // the same bytes in every run, different ones in every process

	ctx context.Context
}

// Context returns a context that ends when the run is over, also of a process that has crashed. It
// is for what a lock keeps going from one call to the next: goroutines that are to end with it, or
// a method of the lock that ends them, by [context.AfterFunc].
func (p *Process) Context() context.Context { return p.ctx }

// Conn returns the process's connection for code that asks for a *zk.Conn. The scenario must run
// the real client, [Real]: Conn panics where there is but a model of it. See [simzk.RealConn.Conn]
// for what such code must not do.
func (p *Process) Conn() *zk.Conn {
	real, ok := p.Client.(*simzk.RealConn)
	if !ok {
		panic("Process.Conn: there is no *zk.Conn, as the scenario runs a model of the client; " +
			"it " +
			"needs Client: scenarios.Real")
	}
	return real.Conn()
}

// What a run checks beyond the properties of package history, for every lock.
const (
	// NoPanic holds when no process panics.
	NoPanic history.Property = "no-panic"
	// NoGoroutineLeak holds when every goroutine ends once its process's calls have ended and its
	// context is done.
	NoGoroutineLeak history.Property = "no-goroutine-leak"
)

// randomBytes is an endless stream of bytes that depends on the seed alone.
type randomBytes struct{ state uint64 }

// Read fills p. It never fails.
func (r *randomBytes) Read(p []byte) (int, error) {
	for i := range p {
		// The step of splitmix64; one output for each byte is plenty for the few bytes of a GUID.
		r.state += 0x9e3779b97f4a7c15
		x := (r.state ^ r.state>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		p[i] = byte(x >> 56)
	}
	return len(p), nil
}
