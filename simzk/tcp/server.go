// Package tcp serves a simulated ZooKeeper ensemble on TCP and in real time, to any client of
// ZooKeeper.
//
// A [Server] is one ensemble. A [Fleet] is any number of them, made from the configuration files of
// ZooKeeper servers.
package tcp

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

// Config is what a server is made with.
type Config struct {
	// Cluster is the ensemble. What it is told of servers, addresses and the time is replaced.
	Cluster simzk.Config
	// Version is what the servers say of their version, in answer to the word srvr among others;
	// [Version] unless set.
	Version string
	// Handshake is how long a client may take until it has asked for a session; 10 s unless set.
	Handshake time.Duration
}

// A Server is an ensemble that is served on TCP: a listener for each of its members, and the
// cluster behind them. Its methods may be called by any goroutine. Members are numbered from 0.
type Server struct {
	config  Config
	tick    time.Duration
	started time.Time
	stop    chan struct{} // closed when the server is
	running sync.WaitGroup

	mu      sync.Mutex // guards all below, and the cluster itself
	cluster *simzk.Cluster
	members []*member
	posted  []*simzk.Link // that may have something to be delivered
	last    uint64        // the number of the latest connection
	closed  bool
}

// defaultTick is the tick of a cluster whose configuration has none.
const defaultTick = 2 * time.Second

// disposeEvery is how often a server deletes containers and TTL nodes
// (znode.container.checkIntervalMs).
const disposeEvery = time.Minute

// New returns a server that does not listen anywhere yet: see [Server.Up].
func New(config Config) *Server {
	config.Cluster.Down = true
	return open(config)
}

// Start returns a server with a member for each address, which runs and listens there. A port of 0
// stands for any that is free.
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

// Serve is [Start] with listeners that are open, as many as there are to be servers. The server
// closes them.
func Serve(config Config, listeners ...net.Listener) *Server {
	config.Cluster.Servers, config.Cluster.Members = len(listeners), nil
	if len(listeners) > 1 {
		config.Cluster.Members = membersAt(listeners)
	}
	s := open(config)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, listener := range listeners {
		s.members[i].open(listener)
	}
	return s
}

// The ports at which servers speak with each other, unless they are told otherwise. Nobody listens
// there.
const (
	quorumPort   = 2888
	electionPort = 3888
)

// membersAt returns the configuration of an ensemble that listens there, so that a client can learn
// of all servers from the node /zookeeper/config.
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

func open(config Config) *Server {
	now := time.Now()
	if config.Version == "" {
		config.Version = Version(config.Cluster.Version, false)
	}
	if config.Cluster.TickTime == 0 {
		config.Cluster.TickTime = defaultTick
	}
	if config.Handshake == 0 {
		config.Handshake = handshakeTime
	}
	s := &Server{
		config: config, tick: config.Cluster.TickTime, started: now,
		stop: make(chan struct{}),
	}
	config.Cluster.EpochMillis = now.UnixMilli()
	config.Cluster.FirstSession = firstSession(now)
	config.Cluster.Posted = func(l *simzk.Link) { s.posted = append(s.posted, l) }
	s.cluster = simzk.New(config.Cluster, nil)
	s.growMembers()
	s.running.Go(s.keepTime)
	return s
}

// firstSession returns the id that sessions are counted from, without the server's part:
// milliseconds and room for two bytes of sessions in each, as in ZooKeeper
// (SessionTrackerImpl.initializeNextSessionId).
func firstSession(now time.Time) int64 { return int64(uint64(now.UnixMilli()) << 24 >> 8) }

// growMembers makes as many members as the cluster has servers. The caller holds the lock, or is
// the only one yet.
func (s *Server) growMembers() {
	for i := len(s.members); i < s.cluster.Servers(); i++ {
		s.members = append(s.members, newMember(s, i))
	}
}

// keepTime lets happen what is due, which is so at multiples of the tick only.
func (s *Server) keepTime() {
	timer := time.NewTimer(s.tick)
	defer timer.Stop()
	dispose := disposeEvery
	for {
		select {
		case <-s.stop:
			return
		case <-timer.C:
		}
		s.mu.Lock()
		now := time.Since(s.started)
		s.cluster.Advance(now)
		if now >= dispose {
			s.cluster.Dispose()
			dispose = now + disposeEvery
		}
		s.flush()
		s.mu.Unlock()
		timer.Reset(s.tick - now%s.tick)
	}
}

// advance makes the cluster's clock current. The caller holds the lock.
func (s *Server) advance() {
	now := time.Since(s.started)
	if now/s.tick == s.cluster.Now()/s.tick {
		s.cluster.Keep(now)
	} else {
		s.cluster.Advance(now)
	}
}

// flush hands out all messages that wait for clients. The caller holds the lock.
func (s *Server) flush() {
	for i := 0; i < len(s.posted); i++ {
		for l := s.posted[i]; ; {
			if _, ok := l.Deliverable(); !ok {
				break
			}
			s.cluster.Deliver(l)
		}
		s.posted[i] = nil
	}
	s.posted = s.posted[:0]
	s.growMembers() // A reconfig may have named a server that was not known.
}

// do calls a function that changes something about the cluster.
func (s *Server) do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	change()
	s.flush()
}

// Close closes all listeners and connections, and returns when nothing of the server runs any more.
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
		errs = append(errs, m.shut())
	}
	s.mu.Unlock()
	s.running.Wait()
	return errors.Join(errs...)
}

// Join adds a server that is no part of the ensemble's configuration yet, and returns its index. It
// serves as the others do once it is up.
func (s *Server) Join(id int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	index := s.cluster.AddServer(id)
	s.growMembers()
	return index
}

// Addresses returns where the members listen, or last listened, in the form host:port.
func (s *Server) Addresses() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	addresses := make([]string, len(s.members))
	for i, m := range s.members {
		addresses[i] = m.address
	}
	return addresses
}

// Version returns what the servers say of their version.
func (s *Server) Version() string { return s.config.Version }
