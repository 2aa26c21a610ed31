// Package sim is what the engine knows of a simulated service: a System with its clients, and the
// steps that can happen in it. It holds interfaces and no simulation; package simzk simulates
// ZooKeeper, and internal/run/zookeeper is that simulation as a System.
package sim

import (
	"runtime"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
)

// A Service makes systems of one kind. Its value is comparable: an engine reuses the memory of a
// system only in runs with an equal Service.
type Service interface {
	// Name returns the name of the service, as ZooKeeper.
	Name() string
	// New returns a system for runs of the service.
	New() System
	// Supports reports whether the service has faults of the kind.
	Supports(faults.Kind) bool
	// OwnsFrame reports whether a function on a stack, by its full name, belongs to the simulation
	// and not to the lock.
	OwnsFrame(function string) bool
	// OwnsCall reports whether a function on a stack, by its full name, lies between the code of a
	// lock and the service: it belongs to the simulation, or to a client library.
	OwnsCall(function string) bool
	// StepCost returns how long a step takes, as a multiple of a step of the fastest service. What
	// follows a search, such as shrinking, runs fewer steps if they cost more.
	StepCost(realClient bool) int
	// Determinize makes the real client library deterministic until restore is called.
	Determinize() (restore func())
}

// A Guarantor is a [Service] that keeps guarantees of its own, which a history can break. They are
// checked in every run, besides what the lock claims.
type Guarantor interface {
	// Guarantees returns the properties of the service, not of the lock.
	Guarantees() []history.Property
}

// An Expiring [Service] stores data that can expire; see [System.Expiry].
type Expiring interface {
	// Expires reports whether data can expire without a fault.
	Expires() bool
}

// A Bounded [Service] has a limit on the number of its servers.
type Bounded interface {
	ServersMax() int
}

// A Dialing [System] knows whether processes reach it that open their clients themselves.
type Dialing interface {
	// Reached reports whether processes do not open clients, or one has dialed a server.
	Reached() bool
}

// A Config says what a run asks of a system.
type Config struct {
	Servers    int  // at least 1
	RealClient bool // clients are the real client library instead of a model of it
	// OwnClients says that processes open clients themselves; RealClient is false then.
	OwnClients bool
	LinkFaults bool // faults can strike single links to or between servers
	Log        *history.Log
	// Settle waits until every process has reacted to what has reached it.
	Settle func()
	// Stacks returns the stacks of the goroutines of a process that the engine knows, innermost
	// frame first. All of them must be blocked. It serves only reports.
	Stacks func(process int) [][]runtime.Frame
	// Thread returns the thread that runs the calling goroutine of a process, or 0 if it is
	// unknown; nil if no process has several threads.
	Thread func() int32
	// Owner returns the process that the calling goroutine belongs to; see [refusal.DemandOwn].
	Owner func() int
}

// A System is a simulated service with its clients: ZooKeeper, for example. It does nothing by
// itself: messages wait until a step moves them, and time stops until Advance. The same steps lead
// to the same state. Only the goroutine of a run uses a System, except for Activity.
//
// The optional interfaces [Snapshotter], [Stubber] and [Independent] make exhaustive searches
// faster. A System without them is searched just as completely.
type System interface {
	// Reset begins a run. All goroutines that used the system before have ended.
	Reset(Config)
	// Connect adds the client of the next process, before the run begins.
	Connect() Client
	// Join adds the client of the next process to the run under way.
	Join() Client
	// Servers returns the number of servers.
	Servers() int

	// AppendMessages appends the enabled steps that move a message between a client and a server,
	// in canonical order.
	AppendMessages([]EnabledStep) []EnabledStep
	// AppendRepairs appends the enabled steps that heal or resume something and those of servers,
	// in canonical order. In the fair phase it leaves out repairs that no client needs.
	AppendRepairs(steps []EnabledStep, fair bool) []EnabledStep
	// Perform performs an enabled step that is no fault.
	Perform(Step)
	// AppendFaults appends the steps in which a fault of the kind strikes, in canonical order,
	// where that is possible and would make a difference.
	AppendFaults(steps []EnabledStep, kind faults.Kind) []EnabledStep
	// Inject lets the fault of a step strike.
	Inject(Step, faults.Severity)

	// Now returns the time since the start of the run.
	Now() time.Duration
	// Deadline returns when something happens by itself next, if anything does.
	Deadline() (at time.Duration, ok bool)
	// Advance sets the time and lets what is due by then happen. Processes have reacted to the
	// passing of time already.
	Advance(now time.Duration)
	// AwaitsTime reports whether an effect of an earlier fault waits only for time.
	AwaitsTime() bool
	// Expiry returns when data that the service stores last expired, and when data will expire
	// next, without a fault; 0 for never.
	Expiry() (last, next time.Duration)

	// Collect receives what processes have asked for since the last call, in canonical order.
	Collect()
	// Activity returns a channel that receives when a process has asked for something. Any
	// goroutine may send to it.
	Activity() <-chan struct{}
	// Woken reports whether anything has reached a process since the last call.
	Woken() bool
	// NextAge returns a number that is greater than all before; see [EnabledStep].
	NextAge() uint64
	// RenumberAges replaces the ages of waiting messages by others in an order that depends on the
	// state alone, and not on the path to it.
	RenumberAges()

	// Transactions counts the changes of what the service stores.
	Transactions() int64
	// Converged reports whether all servers store the same and have nothing left to do.
	Converged() bool
	// FullyConnected reports whether all servers work and can reach each other.
	FullyConnected() bool
	// Leader reports whether the server leads. Servers are counted from 0.
	Leader(server int) bool
	// Key returns a 64-bit hash of all that the service stores and has in flight.
	Key() uint64
	// StateHash returns a 64-bit hash of what the future depends on. If steady is set, no server
	// can lose its leader any more.
	StateHash(steady bool) uint64
}

// A Client is the connection of one process to a [System].
type Client interface {
	// Handle returns what the code of the process uses.
	Handle() any
	// Process returns the number of the process, from 1.
	Process() int
	// Crashed reports whether the process has stopped permanently.
	Crashed() bool
	// Paused reports whether the process is paused.
	Paused() bool
	// Connected reports whether the client has a connection to a server.
	Connected() bool
	// ServerIndex returns the server to which the client is connected, or was connected last.
	// Servers are counted from 0.
	ServerIndex() int
	// Phase returns what the oldest request that waits for its reply is for, in terms of fault
	// plans, or [faults.Waiting] if none does.
	Phase() faults.Phase
	// Pending reports whether a request waits for its reply.
	Pending() bool
	// Unserved returns the number of requests that the server has not handled.
	Unserved() int
	// Undelivered returns the number of messages that are on their way to the client.
	Undelivered() int
	// EventNext reports whether the next message to the client is an event and no reply.
	EventNext() bool
	// OwnsNodes reports whether the service stores something for the client that ends with the
	// client's session.
	OwnsNodes() bool
	// Notify tells the run that the process has acted; see [System.Activity]. Any goroutine may
	// call it.
	Notify()
	// ShutDown closes the client after its process has finished.
	ShutDown()
	// TearDown ends the client and all goroutines that wait for it.
	TearDown()
}

// A Snapshotter is a [System] whose state can be saved between two steps. Without it, a search
// executes the path to each state again.
type Snapshotter interface {
	// CanSave reports whether the present state can be saved.
	CanSave() bool
	// Save stores the state, in the memory of an old snapshot unless that is nil.
	Save(old any) any
	// Restore returns to a saved state.
	Restore(saved any)
}

// A Stubber is a [System] in which a process can be replaced by the reactions that its code is
// known to have. Without it, the code of all processes runs in every run.
type Stubber interface {
	// Initial returns the state in which a process finds the client when it starts.
	Initial(Client) InitialState
	// Stub replaces the process of the client by a stub. The process must not run.
	Stub(Client) StubClient
	// Isolate makes the client that of a process that runs alone, in the given initial state, and
	// returns what stands for the service to it. Nothing else may use the system.
	Isolate(Client, InitialState) IsolatedClient
}

// An InitialState is the state in which a process finds its client. It is comparable.
type InitialState interface {
	Hash() uint64
}

// Inputs are effects of a client on its process. A process reacts to nothing but inputs, the
// passing of time and its own gates. Inputs do not change once they are taken.
type Inputs any

// A Reaction is what a process has asked of its client.
type Reaction interface {
	// Hash returns a 64-bit hash of the calls that the process has given up and the number that it
	// has made.
	Hash() uint64
}

// A StubClient replaces a process: it records the inputs to it and performs its reactions.
type StubClient interface {
	// Waiting reports whether there are inputs that have not been cleared.
	Waiting() bool
	// Hash returns a 64-bit hash of these inputs.
	Hash() uint64
	// Inputs returns a copy of these inputs.
	Inputs() Inputs
	// Clear forgets these inputs.
	Clear()
	// Perform performs a reaction of the process.
	Perform(Reaction)
}

// An IsolatedClient stands for the service to a process that runs alone: nothing reaches the
// process but the inputs of the caller.
type IsolatedClient interface {
	// Apply gives the process the inputs. It reports whether the process was waiting for all of
	// them, as it does if it is deterministic.
	Apply(Inputs) (awaited bool)
	// Reaction returns what the process has asked since the last call. The process must be blocked.
	Reaction() Reaction
	// Discard forgets what the process has asked since the last call of Reaction, because that is
	// known. The process must be blocked.
	Discard()
	// OpenCalls returns a 64-bit hash of the calls and notifications for which the process waits,
	// and of whether it has closed the client.
	OpenCalls() uint64
	// Awaits returns the number of calls and of notifications for which the process waits.
	Awaits() (calls, notifications int)
	// Listens reports whether the process can notice what becomes of its connection other than by
	// a call or a notification.
	Listens() bool
}

// An Independent [System] knows which steps commute, for partial-order reduction. Without it, a
// search tries all steps in every state. Its clients are [IndependentClient]s.
type Independent interface {
	// Several reports whether a process has had several connections in this run. Nothing is known
	// then, and the steps of such a process cannot be replaced by the reactions of its code.
	Several() bool
	// Retains reports whether no server drops what is in flight to the client unless the client's
	// own steps, faults or time are the cause. Unless still is set, time may pass.
	Retains(c Client, still bool) bool
	// OnlyClient returns the one process that can take steps at the server or at its clients, or 0
	// if there is none. It returns false if others influence what they do. AtGate reports whether a
	// process waits at a gate of its critical section.
	OnlyClient(server int, atGate func(process int) bool) (process int32, ok bool)
}

// An IndependentClient is a client of an [Independent] system.
type IndependentClient interface {
	// CanServe reports whether the client's next request can be served now.
	CanServe() bool
	// Syncs reports whether the client's next request changes nothing, and its reply tells nothing
	// of what others do, as with a sync at the only server.
	Syncs() bool
	// Silent reports whether nothing is in flight to or from the client, its connection works, and
	// no server will send it anything unless it asks.
	Silent() bool
	// MayTimeOut reports whether time can make the client give up its connection, or decides when
	// what it sends arrives.
	MayTimeOut() bool
	// Stalled reports whether messages wait for the client's link to be healed.
	Stalled() bool
	// Delayed reports whether a reply to the client waits for other servers.
	Delayed() bool
}
