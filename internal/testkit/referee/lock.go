// Package referee tests the exhaustive search: it draws small random locks, mostly broken ones, and
// compares the verdicts of the search with those of plain runs.
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
	"github.com/interlock-sim/interlock/simzk/client"
)

// A Lock is a scenario whose processes run short programs instead of a lock. It claims one
// property.
type Lock struct {
	Claim    history.Property `json:"claim"`
	Clients  int              `json:"clients"`
	Cycles   int              `json:"cycles"`
	Servers  int              `json:"servers,omitzero"`
	Faults   faults.Plan      `json:"faults"`
	Guard    scenarios.Guard  `json:"guard,omitzero"`
	Programs []Program        `json:"programs"` // assigned to the processes in turn

	breakingWalk int // the number of a random walk that breaks the claim, 0 if unknown
}

// A Program acquires and releases the lock of a process. It has a state, a small number, which
// lasts from one attempt to the next.
type Program struct {
	Lock   []Op  `json:"lock,omitempty"`
	Grant  Grant `json:"grant"`
	Unlock []Op  `json:"unlock,omitempty"`
}

// An Op is a request or a pause, with the program's reactions to its success and failure.
type Op struct {
	Do Verb `json:"do"`
	// a name in the lock's directory; empty for the node that the process created last
	Node string `json:"node,omitempty"`
	// the only state in which the operation runs; 0 for every state
	In    int      `json:"in,omitempty"`
	Yes   Reaction `json:"yes,omitempty"`   // on success
	No    Reaction `json:"no,omitempty"`    // on failure
	Sleep int      `json:"sleep,omitempty"` // the duration in seconds
	// run it in another goroutine, and continue at once
	Apart bool `json:"apart,omitempty"`
}

// A Verb is the kind of an operation.
type Verb string

// The verbs.
const (
	Create   Verb = "create"   // an ephemeral node
	Keep     Verb = "keep"     // a persistent node
	Sequence Verb = "sequence" // an ephemeral sequential node
	Delete   Verb = "delete"
	Set      Verb = "set"    // the data of a node
	Get      Verb = "get"    // succeeds if the data was set
	Exists   Verb = "exists" // succeeds if the node exists
	Alone    Verb = "alone"  // succeeds if the directory has at most one child
	Swap     Verb = "swap"   // deletes and recreates a node in one transaction
	Sync     Verb = "sync"
	Sleep    Verb = "sleep"
	Late     Verb = "late" // succeeds if the duration has passed since the process began
	// waits until an existing node is changed or deleted; fails if there is no node
	Await Verb = "await"
)

// A Reaction is how a program continues after an operation.
type Reaction string

// The reactions.
const (
	GoOn   Reaction = ""       // runs the next operation
	Skip   Reaction = "skip"   // skips the next operation
	Refuse Reaction = "refuse" // ends with an error
	Done   Reaction = "done"   // ends without an error
	First  Reaction = "first"  // enters state 1 and runs the next operation
	Second Reaction = "second" // enters state 2 and runs the next operation
)

// A Grant describes the hold that a successful program returns.
type Grant struct {
	// the node of the hold; "own" for the one that the process created last
	Node  string `json:"node,omitempty"`
	Token Token  `json:"token,omitempty"` // the source of the fencing token
	// the node whose deletion the holder is notified of; "own" as above
	Tells    string `json:"tells,omitempty"`
	Again    []Op   `json:"again,omitempty"`    // the operations of a reentrant acquisition
	Reenters bool   `json:"reenters,omitempty"` // the lock is reentrant
	// the node of the protected resource, empty for none
	Resource string `json:"resource,omitempty"`
}

// A Token is the source of a fencing token.
type Token string

// The tokens.
const (
	NoToken      Token = ""
	RisingToken  Token = "rising"  // the number of the process
	FallingToken Token = "falling" // decreases with the number of the process
	NodeToken    Token = "node"    // the creation zxid of the node that the process created last
)

const ownNode = "own"

var errRefused = errors.New("refused")

// limits are so low that small programs can exceed them.
var limits = history.Limits{
	WakeUps: 1, Requests: 3, RequestsPerChange: 1, Overtakings: 0,
	RequestsPerSecond: 30,
}

// Scenario returns the scenario of the lock.
func (l *Lock) Scenario() scenarios.Scenario {
	return scenarios.Scenario{
		Clients: l.Clients, Cycles: l.Cycles, Servers: l.Servers, Faults: l.Faults,
		Subject: scenarios.Subject{
			Name: "random", Claims: []history.Property{l.Claim}, Limits: limits,
			Guard: scenarios.Guard(l.Guard),
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

// An interpreter runs the program of a process.
type interpreter struct {
	*scenarios.Process
	program *Program
	began   time.Time
	state   int
	made    string // the path of the node that the process created last
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

// watchDeletion returns a channel that is closed when a watch on the node fires.
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

// run runs operations in sequence.
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

// do runs an operation and reports whether it succeeded.
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

// use runs an operation on a node and reports whether it succeeded.
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

func await(ctx context.Context, client client.Client, path string) bool {
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
		panic(err) // impossible: every field of a lock can be encoded
	}
	return string(text)
}
