package client_test

import (
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/zookeeper"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An execution is a run of a schedule inside its bubble.
type execution struct {
	cluster      *simzk.Cluster
	log          *history.Log
	participants []*participant
	began        time.Time
	step         int
	logRead      int // number of events of the log that have been read
	lines        []string

	mu sync.Mutex // held while a call stores its result
}

// A participant is a client with its observed state.
type participant struct {
	client       client.Client
	link         *simzk.Link
	calls        []*callState
	state        string // as last recorded
	eventsClosed bool   // its event channel was closed

	hasSession   bool
	credentials  int // accepted by the server, so that the client resends them
	acknowledged int // number of these on the present connection
	closing      bool
}

// A callState is a call in a separate goroutine, running or returned.
type callState struct {
	invocation *invocation
	number     int
	watch      <-chan zk.Event // nil after it is closed, too

	outcome  string // the result; empty until the call returns
	recorded bool
}

func newExecution(p *schedule, join func(*simzk.Cluster) (client.Client, *simzk.Link)) *execution {
	s := &execution{log: new(history.Log), began: time.Now()}
	s.cluster = simzk.New(simzk.Config{
		Settle: synctest.Wait, Version: p.version, ExtendedTypes: p.extendedTypes,
		Servers: p.servers, Lag: p.servers > 1,
	}, s.log)
	s.cluster.Prepare(&tree.Write{Op: wire.OpCreate, Path: "/a", ACL: tree.Open})
	for range p.clients {
		a := new(participant)
		a.client, a.link = join(s.cluster)
		a.client.Events()
		s.participants = append(s.participants, a)
		for i := range p.credentials {
			s.call(a, &invocation{
				method: "AddAuth", scheme: "digest",
				data: fmt.Appendf(nil, "carol:%d",
					i),
			})
			s.settle()
			s.flow()
		}
	}
	return s
}

func (s *execution) do(m *scheduleStep) {
	a, server := s.participants[m.target%len(s.participants)], m.target%s.cluster.Servers()
	next := (server + 1) % s.cluster.Servers()
	switch m.kind {
	case callStep:
		s.call(a, &m.call)
	case callsStep:
		s.call(a, &m.call)
		// The order of the two calls is undefined.
		if m.call.method != closing && m.second.method != closing {
			s.call(a, &m.second)
		}
	case serveStep:
		s.serve(a)
	case deliverStep:
		s.deliver(a)
	case flowStep:
		s.flow()
	case tickStep:
		s.tick()
	case waitStep:
		for range 10 {
			s.tick()
			s.settle()
		}
	case healStep:
		s.heal(a)
	case reconnectStep:
		s.heal(a)
		s.tick()
		s.settle()
		s.serve(a)
		s.deliver(a)
	case cutStep:
		s.inject(faults.Cut, a)
	case loseReplyStep:
		s.inject(faults.LoseReply, a)
	case isolateStep:
		s.inject(faults.Expire, a)
	case crashStep:
		s.inject(faults.Crash, a)
	case disposeStep:
		s.cluster.Dispose()
	case eventsStep:
		s.readEvents(a)
	case resetStep:
		s.inject(faults.Reset, a)
	case applyStep:
		s.apply(server)
	case killServerStep:
		s.injectAt(faults.KillServer, server)
	case partitionServerStep:
		s.injectAt(faults.PartitionServer, server)
	case pauseServerStep:
		s.injectAt(faults.PauseServer, server)
	case resumeServerStep:
		if !s.ambiguous() {
			s.cluster.ResumeServer(server)
		}
	case stallDiskStep:
		s.injectAt(faults.StallDisk, server)
	case healServerStep:
		s.healServer(server)
	case partitionInboundStep:
		s.injectAt(faults.PartitionInbound, server)
	case partitionOutboundStep:
		s.injectAt(faults.PartitionOutbound, server)
	case stallRequestsStep:
		s.inject(faults.StallRequests, a)
	case stallRepliesStep:
		s.inject(faults.StallReplies, a)
	case fastClockStep:
		s.injectAt(faults.FastClock, server)
	case slowClockStep:
		s.injectAt(faults.SlowClock, server)
	case jumpClockStep:
		s.injectAt(faults.JumpClock, server)
	case slowClientStep:
		s.inject(faults.SlowClient, a)
	case fastClientStep:
		s.inject(faults.FastClient, a)
	case slowRequestsStep:
		s.inject(faults.SlowRequests, a)
	case slowRepliesStep:
		s.inject(faults.SlowReplies, a)
	case slowOpenStep:
		s.inject(faults.SlowOpen, a)
	case unreachableStep:
		target := zookeeper.AtLinkTo(s.cluster, a.link, a.link.ServerIndex())
		if target.Possible(faults.Unreachable) && !a.ambiguous() {
			target.Inject(faults.Unreachable, faults.DefaultSeverity())
		}
	case partitionLinkStep:
		s.injectLink(faults.PartitionLink, min(server, next), max(server, next))
	case partitionLinkOnewayStep:
		s.injectLink(faults.PartitionLinkOneway, server, next)
	case healLinkStep:
		if s.cluster.LinkPartitioned(server, next) && !s.ambiguous() {
			s.cluster.HealLink(server, next)
		}
	}
	s.settle()
}

// call starts a call if the participant accepts it.
func (s *execution) call(a *participant, inv *invocation) {
	if !a.link.Crashed() && !a.accepts(inv) {
		return
	}
	c := &callState{invocation: inv, number: len(a.calls)}
	a.calls = append(a.calls, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	a.closing = a.closing || inv.method == closing
	go s.run(a, c)
}

// accepts reports whether a client may start a call, and the call's effect is deterministic. It
// excludes three nondeterministic cases of the real client:
//   - After Close, while the client still has a connection, a call fails, and yet its request may
//     be sent: queueRequest selects among two ready channels. A protected create interrupted by
//     Close makes such a call.
//   - A client that is closed between its handshake and the reply may or may not send SetWatches,
//     by the same select.
//   - Only the order of calls distinguishes calls with the same content, and the loss of a
//     connection destroys that order: flushRequests iterates over a map. Concurrent protected
//     creates would differ even in their GUIDs.
func (a *participant) accepts(inv *invocation) bool {
	running := a.running()
	if len(running) >= maxCalls {
		return false
	}
	interrupted := slices.ContainsFunc(running,
		func(c *callState) bool { return c.invocation.method == protected })
	if inv.method == closing {
		return !interrupted && !(a.client.State() == zk.StateConnected && a.watches())
	}
	if a.closing && a.link.Connected() || inv.method == protected && interrupted {
		return false
	}
	return !slices.ContainsFunc(running,
		func(c *callState) bool { return c.invocation.String() == inv.String() })
}

// maxCalls is the maximum number of concurrent calls of a client.
const maxCalls = 3

func (s *execution) run(a *participant, c *callState) {
	outcome, watch := "ended", (<-chan zk.Event)(nil)
	defer func() {
		if r := recover(); r != nil {
			outcome = fmt.Sprintf("panic: %v", r)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		c.outcome, c.watch = outcome, watch
	}()
	time.Sleep(c.invocation.delay)
	s.mu.Lock()
	tooLate := a.closing && c.invocation.method != closing && c.invocation.delay > 0
	s.mu.Unlock()
	if tooLate {
		outcome = "not called" // See accepts.
		return
	}
	outcome, watch = c.invocation.invoke(a.client)
}

func (a *participant) running() []*callState {
	return slices.DeleteFunc(slices.Clone(a.calls), func(c *callState) bool { return c.recorded })
}

// watches reports whether a watch of the client has not fired yet.
func (a *participant) watches() bool {
	return slices.ContainsFunc(a.calls, func(c *callState) bool { return c.watch != nil })
}

func (s *execution) serve(a *participant) bool {
	_, ok := a.link.Servable()
	if ok {
		s.cluster.Serve(a.link)
	}
	return ok
}

func (s *execution) deliver(a *participant) bool {
	_, ok := a.link.Deliverable()
	if ok {
		s.cluster.Deliver(a.link)
	}
	return ok
}

func (s *execution) flow() {
	for moved := true; moved; {
		moved = false
		for _, a := range s.participants {
			for _, step := range [...]func(*participant) bool{s.serve, s.deliver} {
				moved = step(a) || moved
				s.settle()
			}
		}
		for server := range s.cluster.Servers() {
			moved = s.apply(server) || moved
			s.settle()
		}
	}
}

func (s *execution) heal(a *participant) {
	if a.link.Down() {
		s.cluster.Heal(a.link)
	}
	for server := range s.cluster.Servers() {
		s.cluster.UnblockClient(a.link, server)
	}
}

func (s *execution) injectLink(kind faults.Kind, from, to int) {
	if zookeeper.AtLinkOf(s.cluster, from, to).Possible(kind) && !s.ambiguous() {
		zookeeper.AtLinkOf(s.cluster, from, to).Inject(kind, faults.DefaultSeverity())
	}
}

func (s *execution) inject(kind faults.Kind, a *participant) {
	if zookeeper.AtClient(nil, a.link).Possible(kind) && (kind == faults.Crash || !a.ambiguous()) {
		zookeeper.AtClient(s.cluster, a.link).Inject(kind, faults.DefaultSeverity())
	}
}

// apply lets a server log a proposal or apply a transaction. Either may end a session, and thereby
// close a connection.
func (s *execution) apply(server int) bool {
	if s.ambiguous() {
		return false
	}
	if _, ok := s.cluster.Loggable(server); ok {
		s.cluster.Log(server)
		return true
	}
	_, ok := s.cluster.Applicable(server)
	if ok {
		s.cluster.Apply(server)
	}
	return ok
}

func (s *execution) injectAt(kind faults.Kind, server int) {
	if zookeeper.AtServer(s.cluster, server).Possible(kind) && !s.ambiguous() {
		zookeeper.AtServer(s.cluster, server).Inject(kind, faults.DefaultSeverity())
	}
}

func (s *execution) healServer(server int) {
	if s.ambiguous() {
		return
	}
	s.cluster.ResumeDisk(server)
	s.cluster.HealServer(server)
	if !s.cluster.Up(server) {
		s.cluster.StartServer(server)
	}
}

// ambiguous reports whether losing the connection now would have a nondeterministic effect on
// calls. While the client resends its credentials, calls wait in its queue, and sendLoop then
// selects between that queue and the channel that signals the loss: it fails the first call in the
// queue with ErrConnectionClosed, or none. The others go to the next server, or fail with
// ErrNoServer once all servers have been tried. Only without another server does the choice not
// affect the client's SetWatches.
func (a *participant) ambiguous() bool {
	return !a.link.Crashed() && !a.closing && a.link.Connected() && a.hasSession &&
		a.acknowledged < a.credentials &&
		(len(a.running()) > 0 || a.link.HasOtherServers() && a.watches())
}

func (s *execution) ambiguous() bool {
	return slices.ContainsFunc(s.participants, (*participant).ambiguous)
}

// tick advances time to the cluster's next deadline or until a process acts by itself, by at most
// one second.
func (s *execution) tick() {
	if s.ambiguous() {
		return // The client might close the connection.
	}
	pause := time.Second
	if deadline, ok := s.cluster.Deadline(); ok {
		pause = min(pause, deadline-s.cluster.Now())
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-s.cluster.Activity(): // earlier activity
	default:
	}
	select {
	case <-timer.C:
	case <-s.cluster.Activity():
	}
	synctest.Wait()
	s.cluster.Advance(time.Since(s.began))
}

// settle lets every process settle, collects requests, and records what the clients observe.
func (s *execution) settle() {
	synctest.Wait()
	s.cluster.Collect()
	synctest.Wait()
	s.readLog()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.participants {
		if a.link.Crashed() {
			continue // A crashed process observes nothing.
		}
		s.record(i, a)
		if state := fmt.Sprintf("%v, session %x", a.client.State(),
			a.client.SessionID()); state != a.state {
			a.state = state
			s.notef(i, "is in state %s", state)
		}
	}
}

// finish ends the run and records the remaining results and events.
func (s *execution) finish() {
	s.step++
	for _, a := range s.participants {
		s.readEvents(a)
	}
	for _, a := range s.participants {
		a.link.TearDown()
	}
	time.Sleep(time.Minute) // Sleeping goroutines exit.
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.participants {
		s.record(i, a)
	}
}
