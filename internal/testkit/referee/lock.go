// Package referee tests the exhaustive search: it draws small random locks, mostly broken ones, and
// compares the verdicts of the search with those of plain runs.
package referee

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A Lock is a scenario whose processes run short programs instead of a lock, and a way to search
// it. It claims one property.
type Lock struct {
	Dimension string           `json:"dimension"` // the name of a [Dimension]
	Claim     history.Property `json:"claim"`
	Service   Service          `json:"service,omitempty"`
	scenarios.Dimensions
	Places   int             `json:"places,omitzero"`
	Margin   int             `json:"margin,omitzero"` // in seconds
	Guard    scenarios.Guard `json:"guard,omitzero"`
	Programs []Program       `json:"programs"` // assigned to the processes in turn
	Search   Variant         `json:"search,omitzero"`

	breakingWalk int // the number of a random walk that breaks the claim, or -1
	exercised    int // how often walks have tested the claim; see [check.Vacuity]
	clock        clock
}

// A Variant is what a search of a lock does beyond the default.
type Variant struct {
	Symmetry     bool `json:"symmetry,omitzero"`
	FairSuffixes bool `json:"fair_suffixes,omitzero"`
	IdleTicks    int  `json:"idle_ticks,omitzero"`
	Workers      int  `json:"workers,omitzero"`
	Part         int  `json:"part,omitzero"` // schedules before the first checkpoint, or 0
}

// A Service is what a lock uses.
type Service string

// The services.
const (
	ZooKeeper Service = ""
	Redis     Service = "redis"
	SQL       Service = "sql"
)

// A Program acquires and releases the lock of a process. It has a state, a small number, which
// lasts from one attempt to the next.
type Program struct {
	Lock   []Op  `json:"lock,omitempty"`
	Grant  Grant `json:"grant"`
	Unlock []Op  `json:"unlock,omitempty"`
	Shares bool  `json:"shares,omitempty"` // the attempts share the lock, as a reader's do
	Sees   *Sees `json:"sees,omitempty"`   // the lock is an election
}

// An Op is a request or a pause, with the program's reactions to its success and failure.
type Op struct {
	Do Verb `json:"do"`
	// a name in the lock's directory; empty for the node that the process created last
	Node string `json:"node,omitempty"`
	// the only state in which the operation runs; 0 for every state
	In  int      `json:"in,omitempty"`
	Yes Reaction `json:"yes,omitempty"` // on success
	No  Reaction `json:"no,omitempty"`  // on failure
	// in seconds: how long to sleep, when a timer fires, when what is stored expires
	Seconds float64 `json:"seconds,omitempty"`
	// the seconds after which the operation is given up; 0 for none
	Within int `json:"within,omitempty"`
	// run it in another goroutine, and continue at once
	Apart bool `json:"apart,omitempty"`
}

// A Verb is the kind of an operation.
type Verb string

// The verbs.
const (
	Create   Verb = "create"   // an ephemeral node, or what expires
	Keep     Verb = "keep"     // a persistent node, or what does not expire
	Sequence Verb = "sequence" // an ephemeral sequential node
	Delete   Verb = "delete"
	Set      Verb = "set"    // the data of a node
	Get      Verb = "get"    // succeeds if the data was set
	Exists   Verb = "exists" // succeeds if the node exists
	Own      Verb = "own"    // succeeds if the process has created what exists
	Renew    Verb = "renew"  // moves the expiry
	Alone    Verb = "alone"  // succeeds if the directory has at most one child
	Swap     Verb = "swap"   // deletes and recreates a node in one transaction
	Sync     Verb = "sync"
	Connect  Verb = "connect" // opens a further client, which the program uses from now on
	Sleep    Verb = "sleep"
	Late     Verb = "late"  // succeeds if the duration has passed since the process began
	Timer    Verb = "timer" // starts a timer that changes the state to that of Yes
	// waits until an existing node is changed or deleted; fails if there is no node
	Await Verb = "await"
	Beat  Verb = "beat" // sends a request again and again, in another goroutine
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
	Retry  Reaction = "retry"  // sleeps for a second and begins again
	Spin   Reaction = "spin"   // begins again at once
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
	Until    int    `json:"until,omitempty"` // the validity time in seconds, 0 for none
	Extends  bool   `json:"extends,omitempty"`
	Renewal  []Op   `json:"renewal,omitempty"` // the operations of an extension
	Further  int    `json:"further,omitempty"` // the validity time in seconds from then on
}

// Sees says whom an election shows as its leader: the creator of a node.
type Sees struct {
	Node string `json:"node"`
	Term Token  `json:"term"` // NodeToken or FixedToken
}

// A Token is the source of a fencing token.
type Token string

// The tokens.
const (
	NoToken      Token = ""
	RisingToken  Token = "rising"  // the number of the process
	FallingToken Token = "falling" // decreases with the number of the process
	FixedToken   Token = "fixed"   // the same for all
	NodeToken    Token = "node"    // the creation zxid of the node that the process created last
)

const ownNode = "own"

var errRefused = errors.New("refused")

// service returns the simulated service, nil for ZooKeeper.
func (l *Lock) service() sim.Service {
	return Backends[l.Service].Service
}

// expires reports whether what the lock stores can expire.
func (l *Lock) expires() bool { return l.Service != ZooKeeper }

// Scenario returns the scenario of the lock.
func (l *Lock) Scenario() scenarios.Scenario {
	program := func(process int) *Program { return &l.Programs[(process-1)%len(l.Programs)] }
	subject := scenarios.Subject{
		Name: "random", Claims: []history.Property{l.Claim}, Guard: scenarios.Guard(l.Guard),
		Service: l.service(), Places: l.Places,
		Limits: history.Limits{ // so low that small programs can exceed them
			WakeUps: 1, Requests: 3, RequestsPerChange: 1, RequestsPerSecond: 30,
			Margin: time.Duration(l.Margin) * time.Second, Listens: l.Claim == history.SessionLoss,
		},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			m := &interpreter{
				Process: p, lock: l, program: program(p.Number), began: time.Now(),
				store: newStore(l, p),
			}
			if m.program.Sees != nil {
				return observing{handle{m}}, nil
			}
			return handle{m}, nil
		},
	}
	for i := range l.Programs {
		if l.Programs[i].Shares {
			subject.Shared = func(process, _ int) bool { return program(process).Shares }
		}
	}
	return l.Of(subject)
}

// String returns the lock as JSON.
func (l *Lock) String() string {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // impossible: every field of a lock can be encoded
	}
	return string(text)
}

// UnmarshalJSON reads what String returns.
func (l *Lock) UnmarshalJSON(text []byte) error {
	type plain Lock
	l.breakingWalk = -1
	return json.Unmarshal(text, (*plain)(l))
}
