// Package zookeeper is the simulated ZooKeeper of package simzk as a System: its steps, how it
// suffers each kind of fault, and what exhaustive searches need to know of it.
package zookeeper

import (
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/client/real"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// lockDirectory is the parent of the contenders' znodes.
const lockDirectory = "/lock"

// A Service is ZooKeeper as a [sim.Service].
type Service struct {
	// Sequence is the number of the first sequential znode in the lock's directory.
	Sequence int32
	// Adapter is the prefix of the full names of functions that pass calls between the engine and
	// the lock.
	Adapter string
}

// Name returns ZooKeeper.
func (Service) Name() string { return "ZooKeeper" }

// New returns a simulated ZooKeeper.
func (s Service) New() sim.System { return &System{service: s} }

// Guarantees returns ZooKeeper's consistency guarantees. See [sim.Guarantor].
func (Service) Guarantees() []history.Property {
	return []history.Property{history.ZooKeeperConsistency}
}

// A System is a simulated ZooKeeper as a [sim.System].
type System struct {
	service Service
	config  sim.Config
	cluster simzk.Cluster
	clients []*processClient // by number of the process, the first at 0
	// The code for which a stub stands has opened a further client; see [System.Several].
	connects bool
}

var (
	_ sim.Snapshotter = (*System)(nil)
	_ sim.Stubber     = (*System)(nil)
	_ sim.Independent = (*System)(nil)
	_ sim.Dialing     = (*System)(nil)
)

// Reset begins a run with an empty directory for the lock.
func (z *System) Reset(config sim.Config) {
	z.config, z.connects = config, false
	z.clients = z.clients[:0]
	z.cluster.Reset(simzk.Config{
		Settle: config.Settle, Servers: config.Servers, Lag: config.Servers > 1,
		Stacks: config.Stacks, Thread: config.Thread, Owner: config.Owner,
		MaxSessionTimeout: sessionTimeout(config),
	}, config.Log)
	z.cluster.Prepare(&tree.Write{Op: wire.OpCreate, Path: lockDirectory, ACL: tree.Open})
	if z.service.Sequence != 0 {
		z.cluster.PrepareSequence(lockDirectory, z.service.Sequence)
	}
}

// ownTimeout is the session timeout that clients get which processes open themselves, whatever they
// ask for. It is the shortest that ZooKeeper grants, so that runs are short.
const ownTimeout = 4 * time.Second

// sessionTimeout returns the longest session timeout that the ensemble grants, 0 for the default.
func sessionTimeout(config sim.Config) time.Duration {
	if config.OwnClients {
		return ownTimeout
	}
	return 0
}

// Connect adds a client, model or real, or a process that opens its clients itself.
func (z *System) Connect() sim.Client {
	return z.connect(model.Connect, real.Connect)
}

// Join adds such a client to the run under way.
func (z *System) Join() sim.Client { return z.connect(model.Join, real.Join) }

// connect adds a client by the function for its kind, or a process that opens its clients itself.
func (z *System) connect(ofModel func(*simzk.Cluster) *model.Conn,
	ofLibrary func(*simzk.Cluster) (*real.Conn, error),
) sim.Client {
	switch {
	case z.config.OwnClients:
		endpoint := real.Listen(&z.cluster)
		return z.add(endpoint, endpoint.Link())
	case !z.config.RealClient:
		conn := ofModel(&z.cluster)
		return z.add(conn, conn.Link)
	}
	conn, err := ofLibrary(&z.cluster)
	if err != nil {
		panic(err)
	}
	return z.add(conn, conn.Link())
}

// add adds a client, in the memory of one of an earlier run if there is one.
func (z *System) add(handle any, link *simzk.Link) sim.Client {
	n := len(z.clients)
	if n == cap(z.clients) || z.clients[:n+1][n] == nil {
		z.clients = append(z.clients, new(processClient))
	}
	z.clients = z.clients[:n+1]
	conn, _ := handle.(client.Client)
	*z.clients[n] = processClient{Link: link, handle: handle, conn: conn, cluster: &z.cluster}
	return z.clients[n]
}

// Reached reports whether processes do not open clients, or one has dialed a server. See
// [sim.Dialing].
func (z *System) Reached() bool {
	return !z.config.OwnClients || slices.ContainsFunc(z.clients, func(c *processClient) bool {
		return c.handle.(*real.Endpoint).Dialed()
	})
}

// Servers returns the size of the ensemble.
func (z *System) Servers() int { return z.cluster.Servers() }

// AppendMessages appends the requests that can be served and the messages that can be delivered.
func (z *System) AppendMessages(steps []sim.EnabledStep) []sim.EnabledStep {
	links := z.cluster.Links()
	for _, link := range links {
		if age, ok := link.Servable(); ok {
			steps = append(steps, sim.EnabledStep{
				Step: sim.Step{Kind: sim.Serve, Process: connectionOf(link)}, Age: age,
			})
		}
	}
	for _, link := range links {
		if age, ok := link.Deliverable(); ok {
			steps = append(steps, sim.EnabledStep{
				Step: sim.Step{Kind: sim.Deliver, Process: connectionOf(link)}, Age: age,
			})
		}
	}
	return steps
}

// connectionOf returns the number by which steps name a connection: that of the process, or for a
// further connection that of a thread.
func connectionOf(link *simzk.Link) int32 {
	return history.ThreadNumber(int32(link.Process()), link.Connection())
}

// AppendRepairs appends the healing of clients' links and the ends of pauses, the healing of links
// to and between servers, and the steps of servers.
func (z *System) AppendRepairs(steps []sim.EnabledStep, fair bool) []sim.EnabledStep {
	for _, c := range z.clients {
		link := c.Link
		if link.Down() {
			steps = append(steps,
				sim.EnabledStep{Step: sim.Step{Kind: sim.Heal, Process: int32(link.Process())}})
		}
		if link.Paused() {
			steps = append(steps,
				sim.EnabledStep{Step: sim.Step{Kind: sim.Resume, Process: int32(link.Process())}})
		}
	}
	if z.config.LinkFaults {
		steps = z.appendLinkHeals(steps)
	}
	return z.appendServers(steps, fair)
}

// appendLinkHeals appends the healing of single links: of a client to a server, and of each
// direction between two servers.
func (z *System) appendLinkHeals(steps []sim.EnabledStep) []sim.EnabledStep {
	servers := z.cluster.Servers()
	for _, c := range z.clients {
		link := c.Link
		for server := range servers {
			if link.Blocked(server) && !link.Crashed() {
				steps = append(steps, sim.EnabledStep{Step: sim.OnLink(sim.Heal, link.Process(),
					server)})
			}
		}
	}
	for from := range servers {
		for to := range servers {
			if z.cluster.LinkPartitioned(from, to) {
				steps = append(steps, sim.EnabledStep{Step: sim.Between(sim.Heal, from, to)})
			}
		}
	}
	return steps
}

func (z *System) appendServers(steps []sim.EnabledStep, fair bool) []sim.EnabledStep {
	if z.cluster.Standalone() && z.cluster.Up(0) {
		return steps // A single server has no followers.
	}
	for server := range z.cluster.Servers() {
		if age, ok := z.cluster.Loggable(server); ok {
			steps = append(steps, sim.EnabledStep{Step: sim.OnServer(sim.Log, server), Age: age})
		}
		if age, ok := z.cluster.Applicable(server); ok {
			steps = append(steps, sim.EnabledStep{Step: sim.OnServer(sim.Apply, server), Age: age})
		}
		// In the fair phase a majority is healed; a server that no leader needs may stay down.
		if !z.cluster.Up(server) && !(fair && z.cluster.HasLeader()) ||
			z.cluster.Partitioned(server) && !z.cluster.Resumed(server) ||
			z.cluster.DiskStalled(server) {
			steps = append(steps, sim.EnabledStep{Step: sim.OnServer(sim.Heal, server)})
		}
	}
	return steps
}

// Perform performs a step of a client, of a server, or the healing of a link.
func (z *System) Perform(step sim.Step) {
	server, atServer := step.Server()
	switch {
	case step.Peer != 0:
		z.healLink(step)
	case atServer:
		z.performAt(step, server)
	default:
		z.performOn(step, z.link(step))
	}
}

// link returns the link that a step names.
func (z *System) link(step sim.Step) *simzk.Link {
	process, connection := history.ProcessOf(step.Process)
	link := z.clients[process-1].Link
	if connection > 1 {
		return link.Further()[connection-2]
	}
	return link
}

func (z *System) performOn(step sim.Step, link *simzk.Link) {
	switch step.Kind {
	case sim.Serve:
		z.cluster.Serve(link)
	case sim.Deliver:
		z.cluster.Deliver(link)
	case sim.Resume:
		z.cluster.Resume(link)
	case sim.Heal:
		z.cluster.Heal(link)
	}
}

func (z *System) performAt(step sim.Step, server int) {
	switch step.Kind {
	case sim.Log:
		z.cluster.Log(server)
	case sim.Apply:
		z.cluster.Apply(server)
	case sim.Heal:
		z.cluster.ResumeDisk(server)
		if c := &z.cluster; c.ServerPaused(server) {
			c.ResumeServer(server)
		} else if c.HealServer(server); !c.Up(server) {
			c.StartServer(server)
		}
		z.config.Log.Append(history.Event{
			At: z.cluster.Now(), Kind: history.Healed, Server: int32(server + 1),
		})
	}
}

func (z *System) healLink(step sim.Step) {
	e := history.Event{At: z.cluster.Now(), Kind: history.Healed, Peer: step.Peer}
	peer := int(step.Peer) - 1
	if from, ofServers := step.Server(); ofServers {
		e.Server = int32(from + 1)
		z.config.Log.Append(e)
		z.cluster.HealLink(from, peer)
		return
	}
	e.Process = step.Process
	z.config.Log.Append(e)
	z.cluster.UnblockClient(z.link(step), peer)
}

// Now returns the time since the start of the run.
func (z *System) Now() time.Duration { return z.cluster.Now() }

// Deadline returns when next a session expires, a client dials, a message arrives on a slow link,
// or a server acts by itself.
func (z *System) Deadline() (at time.Duration, ok bool) { return z.cluster.Deadline() }

// Advance sets the time and lets what is due by then happen.
func (z *System) Advance(now time.Duration) { z.cluster.Advance(now) }

// AwaitsTime reports whether an effect of a fault waits only for time: the expiry of a session
// without a connection, a client that is about to dial or to give up a stalled connection, the end
// of a pause, a message on a slow link, a proposal while a disk stalls, or a server that is about
// to notice a partition. Timers of processes do not count.
func (z *System) AwaitsTime() bool {
	for _, link := range z.cluster.Links() {
		if link.InTransit() || link.Opening() {
			return true
		}
	}
	for _, c := range z.clients {
		if c.Crashed() {
			continue
		}
		if c.Paused() || awaitsTime(c.Link) || slices.ContainsFunc(c.Further(), awaitsTime) {
			return true
		}
	}
	return z.cluster.WillNoticePartition() || z.cluster.AwaitsDisk() ||
		slices.ContainsFunc(z.cluster.SessionList(),
			func(s simzk.SessionInfo) bool { return s.Server < 0 })
}

// Expiry returns 0: the servers delete no containers and no TTL nodes.
func (z *System) Expiry() (last, next time.Duration) { return 0, 0 }

// awaitsTime reports whether the client of a link is about to dial, or to give up a connection that
// is stalled, or that leads to a paused server. A model client that its process has closed is not;
// of others nobody knows.
func awaitsTime(l *simzk.Link) bool {
	if l.Connected() {
		requests, replies := l.Stalled()
		return requests || replies || l.Held()
	}
	_, acts := l.End().Deadline()
	return (acts || !l.IsModel()) && !l.Down()
}

// Collect receives the requests of processes.
func (z *System) Collect() { z.cluster.Collect() }

// Activity returns a channel that receives when a process has acted.
func (z *System) Activity() <-chan struct{} { return z.cluster.Activity() }

// Woken reports whether anything has reached a process since the last call.
func (z *System) Woken() bool { return z.cluster.Woken() }

// NextAge returns the age of the next message.
func (z *System) NextAge() uint64 { return z.cluster.NextAge() }

// RenumberAges makes the ages of messages depend on the state alone.
func (z *System) RenumberAges() { z.cluster.RenumberAges() }

// Transactions returns the newest zxid.
func (z *System) Transactions() int64 { return z.cluster.Zxid() }

// Converged reports whether all servers have applied all transactions.
func (z *System) Converged() bool { return z.cluster.Converged() }

// FullyConnected reports whether all servers run and reach each other.
func (z *System) FullyConnected() bool { return z.cluster.FullyConnected() }

// Leader reports whether the server leads.
func (z *System) Leader(server int) bool { return z.cluster.Leader(server) }

// Key returns a hash of the cluster and its messages.
func (z *System) Key() uint64 { return z.cluster.Key() }

// StateHash returns a hash of what the future depends on.
func (z *System) StateHash(steady bool) uint64 { return z.cluster.StateHash(steady) }

// CanSave reports whether every client has a stub.
func (z *System) CanSave() bool { return z.cluster.CanSave() }

// A snapshot is a saved state of a [System].
type snapshot struct {
	cluster simzk.Snapshot
	clients []*processClient
}

// Save stores the state of the cluster.
func (z *System) Save(old any) any {
	s, _ := old.(*snapshot)
	if s == nil {
		s = new(snapshot)
	}
	z.cluster.Save(&s.cluster)
	s.clients = append(s.clients[:0], z.clients...)
	return s
}

// Restore returns to a saved state.
func (z *System) Restore(saved any) {
	s := saved.(*snapshot)
	z.cluster.Restore(&s.cluster)
	z.clients = append(z.clients[:0], s.clients...)
}
