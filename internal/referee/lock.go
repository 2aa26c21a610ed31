// Package referee holds the exhaustive search to account: it draws small locks at random, most of
// them no locks at all, and compares what the search says of them with what plain runs show.
package referee

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk"
)

// A Lock is a scenario whose processes run short programs in the place of a lock, of which it
// claims one property.
type Lock struct {
	Claim    history.Property `json:"claim"`
	Clients  int              `json:"clients"`
	Cycles   int              `json:"cycles"`
	Servers  int              `json:"servers,omitzero"`
	Faults   faults.Plan      `json:"faults"`
	Guard    scenarios.Guard  `json:"guard,omitzero"`
	Programs []Program        `json:"programs"` // of the processes, in turn

	breakingWalk int // the number of a random walk that breaks the claim, 0 if none is known
}

// A Program is what a process does to take its lock and to give it back. It has a state, a small
// number, which lasts from one attempt to the next.
type Program struct {
	Lock   []Op  `json:"lock,omitempty"`
	Grant  Grant `json:"grant"`
	Unlock []Op  `json:"unlock,omitempty"`
}

// An Op is a request or a pause, and how the program goes on when it has succeeded or failed.
type Op struct {
	Do Verb `json:"do"`
	// a name in the lock's directory; empty stands for the node that the process made last
	Node string `json:"node,omitempty"`
	// the operation is done in this state only; 0 stands for any
	In    int      `json:"in,omitempty"`
	Yes   Reaction `json:"yes,omitempty"`   // if it succeeds, or finds what it looks for
	No    Reaction `json:"no,omitempty"`    // if not
	Sleep int      `json:"sleep,omitempty"` // for how many seconds
	// another goroutine does it, and the program goes on at once
	Apart bool `json:"apart,omitempty"`
}

// A Verb says what an operation does.
type Verb string

// The verbs.
const (
	Create   Verb = "create"   // an ephemeral node
	Keep     Verb = "keep"     // a node that is not ephemeral
	Sequence Verb = "sequence" // an ephemeral sequential node
	Delete   Verb = "delete"
	Set      Verb = "set"    // the data of a node
	Get      Verb = "get"    // succeeds if the data were set
	Exists   Verb = "exists" // succeeds if the node exists
	Alone    Verb = "alone"  // succeeds if the directory has at most one child
	Swap     Verb = "swap"   // deletes a node and creates it anew, in one transaction
	Sync     Verb = "sync"
	Sleep    Verb = "sleep"
	Late     Verb = "late" // succeeds if so many seconds have passed since the process began
	// waits until a node that exists is changed or deleted; succeeds if there was something to wait
	// for
	Await Verb = "await"
)

// A Reaction is how a program goes on.
type Reaction string

// The reactions. None of them goes on with the next operation.
const (
	GoOn   Reaction = ""
	Skip   Reaction = "skip"   // leaves the next operation out
	Refuse Reaction = "refuse" // ends with an error
	Done   Reaction = "done"   // ends without an error
	First  Reaction = "first"  // goes on in state 1
	Second Reaction = "second" // goes on in state 2
)

// A Grant is what a program returns that has the lock.
type Grant struct {
	// that the hold names; "own" stands for the one that the process made last
	Node  string `json:"node,omitempty"`
	Token Token  `json:"token,omitempty"` // where the fencing token comes from
	// the node whose end the holder is told of; "own" as above
	Tells    string `json:"tells,omitempty"`
	Again    []Op   `json:"again,omitempty"`    // what the process does to take the lock once more
	Reenters bool   `json:"reenters,omitempty"` // it can
	// the node that is the protected resource, empty if there is none
	Resource string `json:"resource,omitempty"`
}

// A Token says where a fencing token comes from.
type Token string

// The tokens.
const (
	NoToken      Token = ""
	RisingToken  Token = "rising"  // the process's number
	FallingToken Token = "falling" // the higher, the lower the process's number
	NodeToken    Token = "node"    // the transaction that made the node which the process made last
)

const ownNode = "own"

var errRefused = errors.New("refused")

// limits are narrow, so that small programs can exceed them.
var limits = history.Limits{
	WakeUps: 1, Requests: 3, RequestsPerChange: 1, Overtakings: 0,
	RequestsPerSecond: 30,
}

// Scenario returns what is run.
func (l *Lock) Scenario() scenarios.Scenario {
	return scenarios.Scenario{
		Clients: l.Clients, Cycles: l.Cycles, Servers: l.Servers, Faults: l.Faults,
		Subject: scenarios.Subject{
			Name: "random", Claims: []history.Property{l.Claim}, Limits: limits, Guard: l.Guard,
			Open: func(p *scenarios.Process) (scenarios.Locker, error) {
				m := &interpreter{
					Process: p, program: &l.Programs[(p.Number-1)%len(l.Programs)],
					began: time.Now(),
				}
				return scenarios.LockerFunc(m.lock), nil
			},
		},
	}
}

// A interpreter runs a process's program.
type interpreter struct {
	*scenarios.Process
	program *Program
	began   time.Time
	state   int
	made    string // the path of the node that the process made last
}

func (m *interpreter) path(name string) string {
	if name == "" || name == ownNode {
		return m.made
	}
	return m.Directory + "/" + name
}

func (m *interpreter) lock(ctx context.Context) (*scenarios.Hold, error) {
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
	if g.Tells != "" {
		done, err := m.watchDeletion(m.path(g.Tells))
		if err != nil {
			return nil, err
		}
		hold.Done = done
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
		hold.Resource = m.resource(m.path(g.Resource))
	}
	return hold, nil
}

func (m *interpreter) token(from Token) int64 {
	switch from {
	case RisingToken:
		return int64(m.Number)
	case FallingToken:
		return int64(100 - m.Number)
	case NodeToken:
		if m.made == "" {
			return 0
		}
		_, stat, err := m.Client.Exists(m.made)
		if err != nil || stat == nil {
			return 0
		}
		return stat.Czxid
	}
	return 0
}

// watchDeletion returns a channel that is closed when the node goes.
func (m *interpreter) watchDeletion(path string) (<-chan struct{}, error) {
	if path == "" {
		return nil, nil
	}
	there, _, events, err := m.Client.ExistsW(path)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	if !there {
		close(done)
		return done, nil
	}
	go func() {
		select {
		case <-events:
			close(done)
		case <-m.Context().Done():
		}
	}()
	return done, nil
}

func (m *interpreter) resource(path string) *scenarios.Resource {
	return &scenarios.Resource{
		Path: path,
		Read: func(context.Context) (int64, error) {
			_, stat, err := m.Client.Get(path)
			if err != nil {
				return 0, err
			}
			return stat.Mzxid, nil
		},
		Write: func(context.Context) (int64, error) {
			stat, err := m.Client.Set(path, []byte("1"), -1)
			if err != nil {
				return 0, err
			}
			return stat.Mzxid, nil
		},
	}
}

// run runs operations one after the other.
func (m *interpreter) run(ctx context.Context, ops []Op) error {
	for i := 0; i < len(ops); i++ {
		op := &ops[i]
		if op.In != 0 && op.In != m.state {
			continue
		}
		if op.Apart {
			go m.use(ctx, op.Do, m.path(op.Node))
			continue
		}
		reaction := op.No
		if m.do(ctx, op) {
			reaction = op.Yes
		}
		switch reaction {
		case Skip:
			i++
		case Refuse:
			return errRefused
		case Done:
			return nil
		case First:
			m.state = 1
		case Second:
			m.state = 2
		}
	}
	return nil
}

// do does an operation and reports whether it has succeeded, or found what it looks for.
func (m *interpreter) do(ctx context.Context, op *Op) bool {
	path := m.path(op.Node)
	switch op.Do {
	case Sleep:
		time.Sleep(time.Duration(op.Sleep) * time.Second)
		return true
	case Late:
		return time.Since(m.began) >= time.Duration(op.Sleep)*time.Second
	case Sync:
		_, err := m.Client.Sync(m.Directory)
		return err == nil
	case Alone:
		children, _, err := m.Client.Children(m.Directory)
		return err == nil && len(children) < 2
	case Create:
		return m.create(m.path(op.Node), zk.FlagEphemeral)
	case Keep:
		return m.create(m.path(op.Node), 0)
	case Sequence:
		return m.create(m.Directory+"/s-", zk.FlagEphemeral|zk.FlagSequence)
	}
	if path == "" {
		return false
	}
	return m.use(ctx, op.Do, path)
}

func (m *interpreter) create(path string, flags int32) bool {
	if path == "" {
		path = fmt.Sprintf("%s/n%d", m.Directory, m.Number)
	}
	made, err := m.Client.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
	if err == nil {
		m.made = made
	}
	return err == nil
}

// use does an operation on a node.
func (m *interpreter) use(ctx context.Context, what Verb, path string) bool {
	client := m.Client
	switch what {
	case Delete:
		return client.Delete(path, -1) == nil
	case Set:
		_, err := client.Set(path, []byte("1"), -1)
		return err == nil
	case Get:
		data, _, err := client.Get(path)
		return err == nil && string(data) == "1"
	case Exists:
		there, _, err := client.Exists(path)
		return err == nil && there
	case Swap:
		_, err := client.Multi(&zk.DeleteRequest{Path: path, Version: -1},
			&zk.CreateRequest{Path: path, Flags: zk.FlagEphemeral, Acl: zk.WorldACL(zk.PermAll)})
		return err == nil
	case Await:
		return await(ctx, client, path)
	}
	panic(fmt.Sprintf("referee: unknown verb %q", what))
}

func await(ctx context.Context, client simzk.Client, path string) bool {
	there, _, events, err := client.ExistsW(path)
	if err != nil || !there {
		return false
	}
	select {
	case <-events:
		return true
	case <-ctx.Done():
		return false
	}
}

// String returns the lock as JSON.
func (l *Lock) String() string {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // Nothing in a lock cannot be written.
	}
	return string(text)
}
