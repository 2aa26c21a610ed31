package page

import (
	"fmt"
	"time"

	"github.com/interlock-sim/interlock/history"
)

// Version is the version of the form of [Data].
const Version = 1

// Data is all that the page knows of a run: what happened, in steps, and why. Its JSON form is the
// value of interlock.data in the page, and equal runs have equal Data.
//
// A step is an event of the history, and its number is that of the event in other reports. Lanes
// and Nodes are tables: other fields hold indexes of their rows. The state at a step is the sum of
// the changes up to that step.
type Data struct {
	Version    int         `json:"version"`
	About      About       `json:"about"`
	Lanes      []Lane      `json:"lanes"`
	Nodes      []Node      `json:"nodes"` // all znodes of the run, in the order of their creation
	Steps      []Step      `json:"steps"`
	Decisive   []int       `json:"decisive"` // the steps that mattered, in order; empty if all did
	Violations []Violation `json:"violations"`
	Arrows     []Arrow     `json:"arrows"`
	Bars       []Bar       `json:"bars"`
	Stuck      []Stuck     `json:"stuck"` // the processes that wait at the end
	// how likely the first violation was, if that is known
	Likelihood *Likelihood `json:"likelihood,omitempty"`
}

// About names a run.
type About struct {
	Lock      string `json:"lock"`
	Scenario  string `json:"scenario"`
	TraceHash string `json:"trace_hash,omitempty"`
	Replay    string `json:"replay,omitempty"` // the command that replays the run
	// the deviations of the schedule from the default policy, such as "step 10: cut c2"
	Deviations []string `json:"deviations,omitempty"`
}

// The kinds of lanes.
const (
	Ensemble = "ensemble" // the server of a single one, or one of several that is not known
	Server   = "server"
	Process  = "process"
)

// A Lane is a column of the timeline.
type Lane struct {
	Kind   string `json:"kind"`
	Number int32  `json:"number"` // of the server or process
	Name   string `json:"name"`
}

// A Node is a znode.
type Node struct {
	Name string `json:"name"` // the short name
	Path string `json:"path"`
}

// A Step is an event of the run.
type Step struct {
	At     time.Duration `json:"at,omitempty"` // virtual time, in nanoseconds
	Kind   history.Kind  `json:"kind"`
	Lane   int           `json:"lane"` // -1 if it concerns all
	Text   string        `json:"text"`
	Source string        `json:"source,omitempty"` // the line of code that sent the request
	Change *Change       `json:"change,omitempty"`
}

// A Change lists the parts of the state that a step changes, each with its new value.
type Change struct {
	Processes []ProcessState `json:"processes,omitempty"`
	Nodes     []NodeState    `json:"nodes,omitempty"`
	Sessions  []SessionState `json:"sessions,omitempty"`
	Watches   []WatchState   `json:"watches,omitempty"`
	Servers   []ServerState  `json:"servers,omitempty"`
}

// The beliefs of a process: what it knows of the lock by the calls that it made.
const (
	Idle     = "idle"
	Waits    = "waits"
	Holds    = "holds"
	Lost     = "believes lost" // it was notified that it has lost the lock
	Unlocks  = "unlocks"
	Failed   = "failed" // its last call returned an error
	Finished = "finished"
	Crashed  = "crashed"
)

// A ProcessState is what a process believes, and how it is connected as far as it knows.
type ProcessState struct {
	ID         int32  `json:"id"`
	Belief     string `json:"belief"`
	Inside     bool   `json:"inside,omitempty"` // its critical section
	Paused     bool   `json:"paused,omitempty"`
	Attempt    int32  `json:"attempt,omitempty"`
	Node       *int   `json:"node,omitempty"`       // by which it was granted the lock
	Connection string `json:"connection,omitempty"` // as the client library reported
	Request    string `json:"request,omitempty"`    // the last one that has no reply yet
}

// A NodeState is a znode as the leader has it.
type NodeState struct {
	ID      int    `json:"id"`
	Gone    bool   `json:"gone,omitempty"`
	Process int32  `json:"process,omitempty"` // the creator
	Session string `json:"session,omitempty"` // of an ephemeral znode
	Data    string `json:"data,omitempty"`    // if the history shows it
}

// The states of a session.
const (
	SessionOpen    = "open"
	SessionExpired = "expired"
	SessionClosed  = "closed"
)

// A SessionState is a session as the leader has it.
type SessionState struct {
	ID      string `json:"id"`
	Process int32  `json:"process"`
	State   string `json:"state"`
}

// A WatchState is a watch that a server has, or whose event is under way.
type WatchState struct {
	ID      int32  `json:"id"`
	Gone    bool   `json:"gone,omitempty"`
	Process int32  `json:"process,omitempty"`
	On      string `json:"on,omitempty"`   // the short name of the znode
	Kind    string `json:"kind,omitempty"` // data, exist or child
	Fired   string `json:"fired,omitempty"`
}

// A ServerState is a server of several.
type ServerState struct {
	ID      int32  `json:"id"`
	Leads   bool   `json:"leads,omitempty"`
	Logged  string `json:"logged,omitempty"`  // the last proposal, as a zxid
	Applied string `json:"applied,omitempty"` // the last transaction, as a zxid
}

// A Violation is a broken property, and why it came about.
type Violation struct {
	Property history.Property `json:"property"`
	Reason   string           `json:"reason"`
	Detail   string           `json:"detail"`
	Why      string           `json:"why"`
	Step     int              `json:"step"`   // -1 if it is not a step
	Events   []int            `json:"events"` // the steps that Why is about
}

// The kinds of arrows.
const (
	Request     = "request"
	Reply       = "reply"
	WatchEvent  = "watch"
	Replication = "replication"
)

// An Arrow is a message. It goes from the lane of a step to that of another.
type Arrow struct {
	Kind string `json:"kind"`
	From int    `json:"from"`
	To   int    `json:"to"`   // -1 if the message does not arrive
	Lane int    `json:"lane"` // to which it goes
}

// The kinds of bars.
const (
	BarSession      = "session"      // the session exists, as the ensemble sees it
	BarDisconnected = "disconnected" // as the client library reported
	BarWaits        = "waits"
	BarHolds        = "holds"
	BarInside       = "inside"
	BarLost         = "lost"
	BarPaused       = "paused"
	BarAlive        = "alive" // until the process finishes or crashes
)

// A Bar is a state of a lane that lasts.
type Bar struct {
	Lane int    `json:"lane"`
	Kind string `json:"kind"`
	From int    `json:"from"`
	To   int    `json:"to"` // the step that ends it; -1 if it lasts to the end
}

// A Stuck is a process that waits at the end of the run.
type Stuck struct {
	Lane int    `json:"lane"`
	Text string `json:"text"`
}

// A Likelihood tells how likely a violation was in the states of the run.
type Likelihood struct {
	Text  string  `json:"text"`  // its numbers of steps are those of decisions
	Curve []Point `json:"curve"` // the bug-probability curve, up to the point of no return
	// the decision at which the curve rises most
	Jump *Decision `json:"jump,omitempty"`
	// the last decision found at which another choice avoids every violation
	Avoidable *Decision `json:"avoidable,omitempty"`
}

// A Point is the share of random continuations that fail from the state after a step.
type Point struct {
	Step        int     `json:"step"` // -1 if that is before the first step
	Probability float64 `json:"probability"`
}

// A Decision is a decision of the schedule.
type Decision struct {
	Number int    `json:"number"` // from 0
	Step   int    `json:"step"`   // the first step to which it led
	Text   string `json:"text"`
}

func sessionID(id int64) string { return fmt.Sprintf("%#x", id) }
