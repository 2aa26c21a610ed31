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

// A machine has many clients use one lock, and does what a list of numbers says: let a message
// through, start an attempt, cancel, unlock, downgrade, break a connection, expire a session, let
// time pass. After each step it checks who holds what.
type machine struct {
	*world
	takes    [][]take // what each client can do, all with the same number of ways
	places   int      // how many may hold the lock that do not exclude each other
	attempts []*attempt
	forced   bool   // a session was ended before its time
	failure  string // what went wrong first
}

// A take is a way to take a lock.
type take struct {
	lock   func(context.Context) (*lock.Lease, error)
	shared bool // with others of its kind
}

// An attempt is a call of Lock, and what became of it.
type attempt struct {
	*call
	client   int
	take     *take
	cancel   context.CancelFunc
	given    bool // cancelled
	shared   bool // the lease has been downgraded, or was shared from the start
	unlocked bool
	granted  bool // seen to be
	ended    *call
}

const (
	machineClients  = 4
	attemptsPending = 2 // of one client
)

// The kinds of steps. The frequent ones stand more than once.
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

// passOnly lets time pass, and no message through.
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

// pick returns the client's first attempt that is so.
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
	if a := m.pick(c, func(a *attempt) bool { return !a.returned() && !a.given }); a != nil {
		a.given = true
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

// check looks at who holds the lock.
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

// checkTogether wants no more holders than there may be, and none beside a writer.
func (m *machine) checkTogether(what string, holders []*attempt) {
	if len(holders) > m.places {
		m.fail("%d %s, and %d may", len(holders), what, m.places)
	}
	for _, a := range holders {
		if !a.shared && len(holders) > 1 {
			m.fail("%d %s, one of which, c%d with %s, is a writer", len(holders), what, a.client,
				a.lease.Node())
		}
	}
}

// checkTurn wants a lease that is new to have been granted in turn: nobody stands before it that it
// must wait for.
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

// reads tells whether a node is that of a reader, or of a writer that has become one.
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

// finish heals everything and lets all who hold the lock give it back: then everybody must get it,
// and nothing be left.
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
		case a.err != nil && !a.given:
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

// goRound has all clients queue, and so many times the first of them give the lock back and queue
// again.
func (m *machine) goRound(turns int) {
	if turns == 0 {
		return
	}
	for c := range m.clients {
		m.ask(c+1, 0)
		m.flow()
	}
	for range turns {
		first := m.attempts[slices.IndexFunc(m.attempts, (*attempt).holds)]
		m.unlockAttempt(first)
		m.flow()
		m.ask(first.client, 0)
		m.flow()
		m.check()
	}
}

// runMachine performs the steps in a bubble, after so many turns in which nothing goes wrong, and
// returns what did.
func runMachine(t *testing.T, places, turns int, steps []int, open func(client *simzk.Conn,
	random lock.Option) []take,
) string {
	failure := ""
	inOldWorld(t, machineClients, 1000, func(w *world) { // In a new directory few guess.
		m := &machine{world: w, places: places}
		for i, conn := range w.clients {
			// The same GUIDs in every run, or else a failure could not be shortened.
			random := lock.WithRandom(rand.NewChaCha8([32]byte{byte(i)}))
			m.takes = append(m.takes, open(conn, random))
		}
		m.goRound(turns)
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

// checkMachine performs random steps, after so many turns.
func checkMachine(t *testing.T, places, turns int, open func(client *simzk.Conn,
	random lock.Option) []take,
) {
	rapid.Check(t, func(r *rapid.T) {
		length := rapid.IntRange(0, 300).Draw(r, "length")
		steps := rapid.SliceOfN(rapid.IntRange(0, machineClients*len(machineSteps)-1), length,
			length).Draw(r, "steps")
		if failure := runMachine(t, places, turns, steps, open); failure != "" {
			r.Fatal(failure)
		}
	})
}

// Never two, never one that overtakes, whatever happens.
func TestMutexMachine(t *testing.T) {
	checkMachine(t, 1, 2*machineClients, func(client *simzk.Conn, random lock.Option) []take {
		return []take{{must(lock.NewMutex(client, "/lock", sessionTimeout, random)).Lock, false}}
	})
}

// Never a writer with anyone else, never one that overtakes, whatever happens.
func TestRWMutexMachine(t *testing.T) {
	checkMachine(t, 1000, 0, func(client *simzk.Conn, random lock.Option) []take {
		m := must(lock.NewRWMutex(client, "/lock", sessionTimeout, random))
		return []take{{m.Lock, false}, {m.RLock, true}}
	})
}

// Never more than there are places, never one that overtakes, whatever happens.
func TestSemaphoreMachine(t *testing.T) {
	for places := 1; places <= 3; places++ {
		t.Run(fmt.Sprint(places), func(t *testing.T) {
			checkMachine(t, places, 0, func(client *simzk.Conn, random lock.Option) []take {
				s := must(lock.NewSemaphore(client, "/lock", places, sessionTimeout, random))
				return []take{{s.Lock, true}}
			})
		})
	}
}

// must returns a lock that was made without an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
