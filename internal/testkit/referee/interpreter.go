package referee

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/interlock-sim/interlock/scenarios"
)

// A clock tells a walk at which instants something happens that no step shows: a timer of a program
// fires, or a row that one has written expires.
type clock struct {
	mu       sync.Mutex
	fired    int         // timers
	expiries []time.Time // of rows
}

func (c *clock) fire() {
	c.mu.Lock()
	c.fired++
	c.mu.Unlock()
}

func (c *clock) expireAt(at time.Time) {
	c.mu.Lock()
	c.expiries = append(c.expiries, at)
	c.mu.Unlock()
}

// reset begins a run.
func (c *clock) reset() {
	c.mu.Lock()
	c.expiries = c.expiries[:0]
	c.mu.Unlock()
}

// happened returns a number that rises when a timer fires or a row expires.
func (c *clock) happened(now time.Time) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	past := slices.DeleteFunc(slices.Clone(c.expiries), now.Before)
	return c.fired + len(past)
}

// A handle is a handle on a random lock.
type handle struct{ *interpreter }

// Lock implements [scenarios.Locker].
func (h handle) Lock(ctx context.Context) (*scenarios.Hold, error) { return h.acquire(ctx) }

// LockShared implements [scenarios.SharedLocker].
func (h handle) LockShared(ctx context.Context) (*scenarios.Hold, error) { return h.acquire(ctx) }

// An observing handle is one on an election.
type observing struct{ handle }

// Observe implements [scenarios.Observer].
func (o observing) Observe(_ context.Context, saw func(scenarios.Leader)) { o.see(saw) }

// An interpreter runs the program of a process.
type interpreter struct {
	*scenarios.Process
	lock    *Lock
	program *Program
	began   time.Time
	state   int
	made    string // the path of what the process created last
	store   Store
}

func (m *interpreter) path(name string) string {
	if name == "" || name == ownNode {
		return m.made
	}
	return m.store.Path(name)
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func (m *interpreter) acquire(ctx context.Context) (*scenarios.Hold, error) {
	if err := m.run(ctx, m.program.Lock); err != nil {
		return nil, err
	}
	g := &m.program.Grant
	hold := &scenarios.Hold{
		Token:  m.token(g.Token),
		Unlock: func(ctx context.Context) error { return m.run(ctx, m.program.Unlock) },
	}
	if g.Node != "" {
		hold.Node = m.path(g.Node)
	}
	if path := m.path(g.Tells); g.Tells != "" && path != "" {
		done, err := m.zooKeeper().watchDeletion(path)
		if err != nil {
			return nil, err
		}
		hold.Done = done
	}
	if g.Until > 0 {
		hold.Until = time.Now().Add(seconds(float64(g.Until)))
	}
	if g.Extends {
		hold.Extend = func(ctx context.Context) (time.Time, error) {
			err := m.run(ctx, g.Renewal)
			return time.Now().Add(seconds(float64(g.Further))), err
		}
	}
	if g.Reenters {
		hold.Reenter = func(ctx context.Context) (*scenarios.Hold, error) {
			if err := m.run(ctx, g.Again); err != nil {
				return nil, err
			}
			return &scenarios.Hold{Unlock: func(context.Context) error { return nil }}, nil
		}
	}
	if g.Resource != "" {
		hold.Resource = m.zooKeeper().resource(m.path(g.Resource))
	}
	return hold, nil
}

// zooKeeper returns the store of a program that only ZooKeeper can run.
func (m *interpreter) zooKeeper() *nodes { return m.store.(*nodes) }

func (m *interpreter) token(from Token) int64 {
	switch from {
	case RisingToken:
		return int64(m.Number)
	case FallingToken:
		return int64(100 - m.Number)
	case FixedToken:
		return fixedToken
	case NodeToken:
		return m.zooKeeper().created(m.made)
	}
	return 0
}

const fixedToken = 7

// see shows the leader of an election.
func (m *interpreter) see(saw func(scenarios.Leader)) {
	sees := m.program.Sees
	path := m.path(sees.Node)
	if path == "" {
		return
	}
	data, stat, err := m.zooKeeper().client.Get(path)
	if err != nil {
		return
	}
	leader := scenarios.Leader{Term: fixedToken, Node: path, Name: string(data)}
	if sees.Term == NodeToken {
		leader.Term = stat.Czxid
	}
	saw(leader)
}

// run runs operations in sequence.
func (m *interpreter) run(ctx context.Context, ops []Op) error {
	for i := 0; i < len(ops); i++ {
		op := &ops[i]
		if op.In != 0 && op.In != m.state {
			continue
		}
		if op.Apart {
			go m.store.Use(ctx, op, m.path(op.Node))
			continue
		}
		reaction := op.No
		if m.doWithin(ctx, op) {
			reaction = op.Yes
		}
		switch reaction {
		case Skip:
			i++
		case Refuse:
			return errRefused
		case Done:
			return nil
		case First, Second:
			m.enter(reaction)
		case Retry, Spin:
			if reaction == Retry {
				m.sleep(ctx, time.Second)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			i = -1
		}
	}
	return nil
}

// enter enters the state that a reaction names.
func (m *interpreter) enter(r Reaction) {
	switch r {
	case First:
		m.state = 1
	case Second:
		m.state = 2
	}
}

// doWithin runs an operation within its time limit, and reports whether it succeeded in time.
func (m *interpreter) doWithin(ctx context.Context, op *Op) (ok bool) {
	if op.Within == 0 {
		return m.do(ctx, op)
	}
	limit := seconds(float64(op.Within))
	scenarios.Timed(ctx, limit, func() error {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if ok = m.do(limited, op); ok {
			return nil
		}
		return errRefused
	})
	return ok
}

// do runs an operation and reports whether it succeeded.
func (m *interpreter) do(ctx context.Context, op *Op) bool {
	switch op.Do {
	case Sleep:
		return m.sleep(ctx, seconds(op.Seconds))
	case Late:
		return time.Since(m.began) >= seconds(op.Seconds)
	case Timer:
		yes := op.Yes
		time.AfterFunc(seconds(op.Seconds), func() { m.lock.clock.fire(); m.enter(yes) })
		return false
	case Beat:
		go m.beat(op)
		return true
	}
	path := m.path(op.Node)
	made, ok := m.store.Use(ctx, op, path)
	if ok && made != "" {
		m.made = made
	}
	return ok
}

// sleep reports whether the time has passed before the context ended.
func (m *interpreter) sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	m.lock.clock.fire()
	return ctx.Err() == nil
}

// beat sends a request again and again until the run ends.
func (m *interpreter) beat(op *Op) {
	for ctx := m.Context(); m.sleep(ctx, seconds(op.Seconds)); {
		m.store.Use(ctx, &Op{Do: Exists}, m.store.Path("x"))
	}
}
