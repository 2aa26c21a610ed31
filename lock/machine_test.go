package lock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk"
)

// A machine drives many clients of one lock through the steps that a list of numbers encodes:
// deliver a message, start an attempt, cancel, unlock, downgrade, break a connection, expire a
// session, let time pass. After each step it checks the holders.
type machine struct {
	*world
	takes    [][]take // the ways of each client, the same number for all
	places   int      // maximum number of holders that do not exclude each other
	attempts []*attempt
	forced   bool   // a session was ended early
	failure  string // the first failure
}

// A take is a way to take a lock.
type take struct {
	lock   func(context.Context) (*lock.Lease, error)
	shared bool // shared with others of its kind
}

// An attempt is a call of Lock and its outcome.
type attempt struct {
	*call
	client    int
	take      *take
	cancel    context.CancelFunc
	cancelled bool // cancelled
	shared    bool // the lease is shared, from the start or by a downgrade
	unlocked  bool
	granted   bool // the grant has been checked
	ended     *call
}

const (
	machineClients  = 4
	attemptsPending = 2 // per client
)

// The kinds of steps. Frequent ones are repeated.
var machineSteps = []func(*machine, int){
	(*machine).serve1, (*machine).serve1, (*machine).serve1, (*machine).deliver1,
	(*machine).deliver1,
	(*machine).deliver1,
	(*machine).flowAll, (*machine).startOne, (*machine).startOne, (*machine).startTwo,
	(*machine).unlockOne, (*machine).unlockOne,
	(*machine).downgradeOne, (*machine).cancelOne, (*machine).cut, (*machine).heal,
	(*machine).loseReply, (*machine).expire,
	(*machine).wait, (*machine).isolate,
}

func (m *machine) serve1(c int) {
	if _, ok := m.client(c).Servable(); ok {
		m.cluster.Serve(m.client(c).Link)
	}
}

func (m *machine) deliver1(c int) {
	if _, ok := m.client(c).Deliverable(); ok {
		m.cluster.Deliver(m.client(c).Link)
	}
}

func (m *machine) flowAll(int)    { m.flow() }
func (m *machine) cut(c int)      { m.ifUp(c, m.cluster.Cut) }
func (m *machine) startOne(c int) { m.ask(c, 0) }
func (m *machine) startTwo(c int) { m.ask(c, len(m.takes[c-1])-1) }

// isolate cuts a client off until its session is over.
func (m *machine) isolate(c int) {
	m.ifUp(c, m.cluster.Cut)
	m.passOnly(2 * sessionTimeout)
	m.heal(c)
}

func (m *machine) loseReply(c int) {
	if m.client(c).Unserved() > 0 {
		m.ifUp(c, m.cluster.LoseReply)
	}
}

func (m *machine) ifUp(c int, strike func(*simzk.Link)) {
	if conn := m.client(c); conn.Connected() && !conn.Isolated() && !conn.Down() {
		strike(conn.Link)
	}
}

func (m *machine) heal(c int) {
	if conn := m.client(c); conn.Down() {
		m.cluster.Heal(conn.Link)
	}
}

func (m *machine) expire(c int) {
	m.forced = m.cluster.Expire(m.client(c).SessionID()) || m.forced
}

func (m *machine) wait(c int) { m.passOnly(time.Duration(c) * 400 * time.Millisecond) }

// passOnly lets time pass without delivering messages.
func (m *machine) passOnly(duration time.Duration) {
	for end := time.Now().Add(duration); time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
		m.send()
		m.cluster.Advance(time.Since(m.began))
		m.check()
	}
}

func (m *machine) ask(c, way int) {
	pending := 0
	for _, a := range m.attempts {
		if a.client == c && !a.unlocked && !(a.returned() && a.err != nil) {
			pending++
		}
	}
	if pending >= attemptsPending {
		return
	}
	ctx, cancel := context.WithCancel(background)
	t := &m.takes[c-1][way]
	m.attempts = append(m.attempts, &attempt{
		call: m.begin(ctx, t.lock), client: c, take: t,
		cancel: cancel, shared: t.shared,
	})
}

// pick returns the client's first attempt with the property.
func (m *machine) pick(c int, is func(*attempt) bool) *attempt {
	for _, a := range m.attempts {
		if a.client == c && is(a) {
			return a
		}
	}
	return nil
}

func (a *attempt) holds() bool { return a.returned() && a.err == nil && !a.unlocked }

func (m *machine) cancelOne(c int) {
	if a := m.pick(c, func(a *attempt) bool { return !a.returned() && !a.cancelled }); a != nil {
		a.cancelled = true
		a.cancel()
	}
}

func (m *machine) unlockOne(c int) {
	if a := m.pick(c, (*attempt).holds); a != nil {
		m.unlockAttempt(a)
	}
}

func (m *machine) unlockAttempt(a *attempt) {
	a.unlocked = true
	a.ended = m.begin(background, func(ctx context.Context) (*lock.Lease, error) {
		return nil,
			a.lease.Unlock(ctx)
	})
}

func (m *machine) downgradeOne(c int) {
	if a := m.pick(c, func(a *attempt) bool {
		return a.holds() && !a.shared &&
			!a.take.shared
	}); a != nil {
		a.shared = true
		go a.lease.Downgrade(background)
	}
}

// check verifies the holders of the lock.
func (m *machine) check() {
	m.send()
	var served, believing []*attempt
	for _, a := range m.attempts {
		if !a.holds() {
			continue
		}
		if _, stands := m.cluster.Tree().Stat(a.lease.Node()); stands {
			if !a.granted {
				m.checkTurn(a)
			}
			served = append(served, a)
		}
		a.granted = true
		if a.lease.Err() == nil {
			believing = append(believing, a)
		}
	}
	m.checkTogether("are served", served)
	if !m.forced {
		m.checkTogether("believe that they hold the lock", believing)
	}
}

// checkTogether verifies the number of holders, and that a writer is alone.
func (m *machine) checkTogether(what string, holders []*attempt) {
	if len(holders) > m.places {
		m.fail("%d %s, and %d may", len(holders), what, m.places)
	}
	for _, a := range holders {
		if !a.shared && len(holders) > 1 {
			m.fail("%d %s; one of them, c%d with %s, is a writer", len(holders), what, a.client,
				a.lease.Node())
		}
	}
}

// checkTurn verifies that a new lease was granted in order: no contender that blocks it is before
// it.
func (m *machine) checkTurn(a *attempt) {
	before := 0
	own, _ := m.cluster.Tree().Stat(a.lease.Node())
	for _, name := range m.nodes() {
		path := "/lock/" + name
		stat, _ := m.cluster.Tree().Stat(path)
		if stat.Czxid >= own.Czxid || a.take.shared && m.places > len(m.clients) && m.reads(path) {
			continue
		}
		before++
	}
	if a.take.shared && m.places <= len(m.clients) && before < m.places {
		return // of a semaphore
	}
	if before > 0 {
		m.fail("c%d was granted %s with %d before it", a.client, a.lease.Node(), before)
	}
}

// reads reports whether a node belongs to a reader, or to a writer that has become one.
func (m *machine) reads(path string) bool {
	return strings.Contains(path, "-read-") ||
		slices.ContainsFunc(m.attempts, func(a *attempt) bool {
			return a.returned() && a.err == nil &&
				a.lease.Node() == path && a.shared
		})
}

func (m *machine) fail(format string, arguments ...any) {
	if m.failure == "" {
		m.failure = fmt.Sprintf(format, arguments...)
	}
}

// finish heals everything and unlocks all leases: every pending attempt must then succeed and no
// node be left.
func (m *machine) finish() {
	for c := range m.clients {
		m.heal(c + 1)
	}
	for range 300 {
		m.pass(200 * time.Millisecond)
		m.check()
		for _, a := range m.attempts {
			if a.holds() {
				m.unlockAttempt(a)
			}
		}
		if m.over() {
			break
		}
	}
	for _, a := range m.attempts {
		switch {
		case !a.returned():
			m.fail("c%d waits for good; nodes %v", a.client, m.nodes())
		case a.err != nil && !a.cancelled:
			m.fail("c%d was refused: %v", a.client, a.err)
		case a.ended != nil && !a.ended.returned():
			m.fail("c%d unlocks for good; nodes %v", a.client, m.nodes())
		}
	}
	m.pass(2 * time.Second)
	if nodes := m.nodes(); len(nodes) > 0 {
		m.fail("nodes are left: %v", nodes)
	}
}

func (m *machine) over() bool {
	return !slices.ContainsFunc(m.attempts, func(a *attempt) bool {
		return !a.returned() || a.err == nil && (a.ended == nil || !a.ended.returned())
	})
}

// runMachine performs the steps in a bubble and returns the first failure.
func runMachine(t *testing.T, places int, steps []int,
	open func(*lock.Session, lock.Option) []take,
) string {
	failure := ""
	inWorld(t, machineClients, func(w *world) {
		m := &machine{world: w, places: places}
		for i := range w.clients {
			// Every run uses the same GUIDs, so that a failure can be shrunk.
			random := lock.WithRandom(rand.NewChaCha8([32]byte{byte(i)}))
			m.takes = append(m.takes, open(w.session(i+1), random))
		}
		for _, step := range steps {
			machineSteps[step/machineClients](m, step%machineClients+1)
			synctest.Wait()
			m.check()
		}
		m.finish()
		failure = m.failure
	})
	return failure
}

// checkMachine performs random steps.
func checkMachine(t *testing.T, places int, open func(*lock.Session, lock.Option) []take) {
	rapid.Check(t, func(r *rapid.T) {
		length := rapid.IntRange(0, 300).Draw(r, "length")
		steps := rapid.SliceOfN(rapid.IntRange(0, machineClients*len(machineSteps)-1), length,
			length).Draw(r, "steps")
		if failure := runMachine(t, places, steps, open); failure != "" {
			r.Fatal(failure)
		}
	})
}

// Never two holders and no overtaking, under any fault.
func TestMutexMachine(t *testing.T) {
	checkMachine(t, 1, func(session *lock.Session, random lock.Option) []take {
		return []take{{must(lock.NewMutex(session, "/lock", random)).Lock, false}}
	})
}

// No holder beside a writer and no overtaking, under any fault.
func TestRWMutexMachine(t *testing.T) {
	checkMachine(t, 1000, func(session *lock.Session, random lock.Option) []take {
		m := must(lock.NewRWMutex(session, "/lock", random))
		return []take{{m.Lock, false}, {m.RLock, true}}
	})
}

// Never more holders than places and no overtaking, under any fault.
func TestSemaphoreMachine(t *testing.T) {
	for places := 1; places <= 3; places++ {
		t.Run(fmt.Sprint(places), func(t *testing.T) {
			checkMachine(t, places, func(session *lock.Session, random lock.Option) []take {
				s := must(lock.NewSemaphore(session, "/lock", places, random))
				return []take{{s.Lock, true}}
			})
		})
	}
}

// must panics if a lock could not be made.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
