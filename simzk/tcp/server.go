// Package tcp serves simulated ZooKeeper ensembles over TCP in real time, to any ZooKeeper client.
//
// A [Server] is one ensemble. A [Fleet] is a set of ensembles created from the configuration files
// of ZooKeeper servers.
package tcp

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

// Config is the configuration of a [Server].
type Config struct {
	// Cluster configures the ensemble. The server overrides its servers, addresses and time. With
	// Cluster.Lag the members of an ensemble have data of their own, as [Server.Lag],
	// [Server.CutLink] and [Server.Pause] need. They keep their whole log in memory, and cannot be
	// reconfigured.
	Cluster simzk.Config
	// Version is the version string that servers report, for example in response to srvr. The
	// default is [Version].
	Version string
	// Handshake is the time within which a client must request a session, up to its next multiple.
	// The default is 10 s.
	Handshake time.Duration
	// Dispose is the interval at which containers and TTL nodes that are due are deleted. The
	// default is a minute (znode.container.checkIntervalMs); it is never if negative.
	Dispose time.Duration
	// Requests, unless nil, is called for each request except pings, once it is answered or will
	// not be. It must not block, nor call the server.
	Requests func(Request)
}

// A Server serves an ensemble over TCP, with one listener for each member. Its methods are safe for
// concurrent use. Members are numbered from 0.
type Server struct {
	config     Config
	tick       time.Duration
	started    time.Time
	stop       chan struct{} // closed by Close
	timer      *time.Timer   // fires at timerAt
	goroutines sync.WaitGroup

	mu             sync.Mutex // guards the fields below and the cluster
	cluster        *simzk.Cluster
	members        []*member
	pendingLinks   []*simzk.Link // links that may have deliverable messages
	lastConnection uint64        // number of the latest connection
	closed         bool
	nextInstant    time.Duration // before which the cluster has nothing to do by itself
	timerAt        time.Time     // when the next event is due
	// changed when a connection is closed or more requests may be read; uses mu
	unblocked *sync.Cond
}

// defaultTick is the default tick of a cluster.
const defaultTick = 2 * time.Second

// disposeInterval is the default of Config.Dispose.
const disposeInterval = time.Minute

// New returns a server without listeners: see [Server.Up].
func New(config Config) *Server {
	config.Cluster.Down = true
	return newServer(config)
}

// Start returns a running server with one member for each address. Port 0 selects a free port.
func Start(config Config, addresses ...string) (*Server, error) {
	var listeners []net.Listener
	for _, address := range addresses {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			return nil, err
		}
		listeners = append(listeners, listener)
	}
	return Serve(config, listeners...), nil
}

// Serve is [Start] with open listeners, one for each member. The server closes them.
func Serve(config Config, listeners ...net.Listener) *Server {
	config.Cluster.Servers, config.Cluster.Members = len(listeners), nil
	if len(listeners) > 1 {
		config.Cluster.Members = membersAt(listeners)
	}
	config.Cluster.Lag = config.Cluster.Lag && len(listeners) > 1 && !config.Cluster.Reconfig
	s := newServer(config)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, listener := range listeners {
		s.members[i].listen(listener)
	}
	return s
}

// The default ports of the first server for quorum and election traffic. Nothing listens there.
const (
	quorumPort   = 2888
	electionPort = 3888
)

// membersAt returns the configuration of an ensemble with these listeners, so that clients can find
// all servers in /zookeeper/config.
func membersAt(listeners []net.Listener) []simzk.Member {
	members := make([]simzk.Member, len(listeners))
	for i, listener := range listeners {
		members[i] = simzk.Member{
			ID: i + 1, Client: listener.Addr().String(),
			Servers: []simzk.Endpoint{
				{Host: host(listener.Addr()), Quorum: quorumPort + i, Election: electionPort + i},
			},
		}
	}
	return members
}

func newServer(config Config) *Server {
	now := time.Now()
	if config.Version == "" {
		config.Version = Version(config.Cluster.Version, false)
	}
	if config.Cluster.TickTime == 0 {
		config.Cluster.TickTime = defaultTick
	}
	if config.Dispose == 0 {
		config.Dispose = disposeInterval
	}
	if config.Handshake == 0 {
		config.Handshake = handshakeTimeout
	}
	s := &Server{
		config: config, tick: config.Cluster.TickTime, started: now,
		stop: make(chan struct{}),
	}
	s.unblocked = sync.NewCond(&s.mu)
	config.Cluster.EpochMillis = now.UnixMilli()
	config.Cluster.FirstSession = firstSession(now)
	config.Cluster.Posted = func(l *simzk.Link) { s.pendingLinks = append(s.pendingLinks, l) }
	s.cluster = simzk.New(config.Cluster, nil)
	// A real server rounds the ends of sessions by a clock of its machine, and pings from its
	// election on, so that the two do not agree. Here that clock is the time of day.
	tick := max(1, s.tick.Milliseconds())
	s.cluster.ShiftExpiry(int(tick-1-(now.UnixMilli()-1)%tick), int(tick))
	s.addMembers()
	s.timer = time.NewTimer(0)
	s.goroutines.Go(s.runClock)
	return s
}

// firstSession returns the first session id without the server's part: the milliseconds shifted to
// leave two bytes of ids each, as in ZooKeeper (SessionTrackerImpl.initializeNextSessionId).
func firstSession(now time.Time) int64 { return int64(uint64(now.UnixMilli()) << 24 >> 8) }

// addMembers creates members until there is one for each server of the cluster. The caller holds
// the lock or has exclusive access.
func (s *Server) addMembers() {
	for i := len(s.members); i < s.cluster.Servers(); i++ {
		s.members = append(s.members, newMember(s, i))
	}
}

// runClock processes the events that are due.
func (s *Server) runClock() {
	defer s.timer.Stop()
	dispose := s.config.Dispose
	for {
		select {
		case <-s.stop:
			return
		case <-s.timer.C:
		}
		s.mu.Lock()
		s.advance()
		s.serveWaiting()
		if now := s.cluster.Now(); now >= dispose && s.config.Dispose > 0 {
			s.cluster.Dispose()
			dispose = now + s.config.Dispose
		}
		s.flush()
		s.schedule()
		s.mu.Unlock()
	}
}

// advance updates the cluster's clock. The caller holds the lock.
func (s *Server) advance() {
	now := time.Since(s.started)
	if now < s.nextInstant {
		s.cluster.SetNow(now)
		return
	}
	s.cluster.Advance(now)
	s.nextInstant = s.cluster.NextInstant(now)
}

// schedule sets the timer to the time at which the next event is due. The caller holds the lock.
func (s *Server) schedule() {
	s.nextInstant = s.cluster.NextInstant(s.cluster.Now())
	s.timerAt = s.started.Add(s.nextInstant)
	s.timer.Reset(time.Until(s.timerAt))
	s.scheduleApply()
}

// scheduleApply sets the timer no later than a member applies a transaction. The caller holds the
// lock.
func (s *Server) scheduleApply() {
	for _, m := range s.members {
		if due, waits := m.nextApply(); waits && due.Before(s.timerAt) {
			s.timerAt = due
			s.timer.Reset(time.Until(due))
		}
	}
}

// flush replicates transactions, as far as members do not lag, and delivers all messages that wait
// for clients. The caller holds the lock.
func (s *Server) flush() {
	for s.replicate() {
		s.serveWaiting()
	}
	s.scheduleApply()
	for i := 0; i < len(s.pendingLinks); i++ {
		for l := s.pendingLinks[i]; ; {
			if _, ok := l.Deliverable(); !ok {
				break
			}
			s.cluster.Deliver(l)
		}
		s.pendingLinks[i] = nil
	}
	s.pendingLinks = s.pendingLinks[:0]
	s.addMembers() // A reconfig may have added a server.
}

// do calls a function that changes the cluster.
func (s *Server) do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	change()
	s.serveWaiting()
	s.flush()
	s.schedule()
}

// Close closes all listeners and connections. It returns when all goroutines of the server have
// ended.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.stop)
	var errs []error
	for _, m := range s.members {
		errs = append(errs, m.close())
	}
	s.mu.Unlock()
	s.goroutines.Wait()
	return errors.Join(errs...)
}

// Join adds a server that is not yet part of the ensemble's configuration and returns its index. It
// serves clients once it is up.
func (s *Server) Join(id int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	index := s.cluster.AddServer(id)
	s.addMembers()
	return index
}

// Addresses returns the current or last address of each member, as host:port.
func (s *Server) Addresses() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	addresses := make([]string, len(s.members))
	for i, m := range s.members {
		addresses[i] = m.address
	}
	return addresses
}

// Version returns the version string that the servers report.
func (s *Server) Version() string { return s.config.Version }
