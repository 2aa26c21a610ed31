package tcp

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

// A Fleet is ensembles made from the configuration files of their servers, which are launched one
// by one, as the processes of real servers are. Servers belong together if their configurations
// have a server.N line in common. An ensemble serves once a majority of its members runs.
//
// The data is the fleet's own, in memory. A mark in a server's data directory says which are the
// server's: whoever starts it again with the same directory finds them again, and whoever empties
// the directory has deleted them. The methods of a fleet may be called by any goroutine.
type Fleet struct {
	config Config
	name   string // what tells the marks of this fleet from those of others

	mu        sync.Mutex
	closed    bool
	ensembles []*ensemble
	last      int // the number of the latest ensemble
}

// An ensemble is one of a fleet.
type ensemble struct {
	number      int
	server      *Server
	standalone  bool
	names       map[string]bool // of members, by all that servers need to find each other
	directories map[int]string  // the members' data directories, by index
	processes   map[int]chan struct{}
}

// NewFleet returns a fleet without a server. Of the configuration it takes the release, the rule
// for sequence numbers and what servers say of their version.
func NewFleet(config Config) *Fleet { return &Fleet{config: config, name: rand.Text()} }

// A Process is a server of a fleet that runs.
type Process struct {
	fleet    *Fleet
	ensemble *ensemble
	index    int
	stopped  chan struct{}
}

// restartTime is how long a launch waits for an earlier process of the same server to be gone.
const restartTime = 5 * time.Second

// Launch starts a server. Its clients come by the listener, which the fleet closes; nil stands for
// one at the address of the configuration.
func (f *Fleet) Launch(config *ServerConfig, listener net.Listener) (*Process, error) {
	if listener == nil {
		var err error
		if listener, err = net.Listen("tcp", config.Address); err != nil {
			return nil, err
		}
	}
	p, err := f.launch(config, listener)
	if err != nil {
		listener.Close()
	}
	return p, err
}

func (f *Fleet) launch(config *ServerConfig, listener net.Listener) (*Process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, index, known := f.find(config)
	for over := time.After(restartTime); e.processes[index] != nil; {
		if !f.await(e.processes[index], over) {
			return nil, fmt.Errorf("server %d runs already", config.ID)
		}
		e, index, known = f.find(config) // Nothing need be as it was.
	}
	if f.closed {
		return nil, net.ErrClosed
	}
	if !known {
		if err := e.server.Wipe(index); err != nil {
			return nil, err
		}
	}
	if err := e.server.UpOn(index, listener); err != nil {
		return nil, err
	}
	p := &Process{fleet: f, ensemble: e, index: index, stopped: make(chan struct{})}
	e.processes[index], e.directories[index] = p.stopped, config.DataDir
	if err := f.mark(e, index); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// await waits until a process has stopped, and returns false if that takes too long. The caller
// holds the lock, which others have meanwhile.
func (f *Fleet) await(stopped <-chan struct{}, over <-chan time.Time) bool {
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-stopped:
		return true
	case <-over:
		return false
	}
}

// Address returns where the server listens.
func (p *Process) Address() string { return p.ensemble.server.Addresses()[p.index] }

// Stop ends the server's process as SIGKILL would.
func (p *Process) Stop() error {
	p.fleet.mu.Lock()
	defer p.fleet.mu.Unlock()
	return p.stop()
}

// stop is Stop for who holds the lock.
func (p *Process) stop() error {
	err := p.ensemble.server.Kill(p.index)
	delete(p.ensemble.processes, p.index)
	close(p.stopped)
	return err
}

// find returns the ensemble to which a server belongs, its index there, and whether its data are
// known. The ensemble is a new one if there is none.
func (f *Fleet) find(config *ServerConfig) (e *ensemble, index int, known bool) {
	f.forget()
	for _, e := range f.ensembles {
		for index, directory := range e.directories {
			if directory == config.DataDir && e.standalone == config.Standalone() &&
				f.marked(e, index) {
				return e, index, true
			}
		}
	}
	if !config.Standalone() {
		for _, e := range f.ensembles {
			if slices.ContainsFunc(config.Members,
				func(m simzk.Member) bool { return e.names[name(m)] }) {
				return e, e.member(config), false
			}
		}
	}
	e = f.newEnsemble(config)
	return e, e.member(config), false
}

// name is that by which servers of an ensemble know each other.
func name(m simzk.Member) string { return simzk.Member{ID: m.ID, Servers: m.Servers}.String() }

// member returns the index of the server, which joins the ensemble if it is none of its members.
func (e *ensemble) member(config *ServerConfig) int {
	if e.standalone {
		return 0
	}
	index, found := e.server.Index(config.ID)
	if !found {
		index = e.server.Join(config.ID)
	}
	return index
}

func (f *Fleet) newEnsemble(config *ServerConfig) *ensemble {
	c := f.config
	c.Cluster.TickTime, c.Cluster.MinSessionTimeout, c.Cluster.MaxSessionTimeout = config.TickTime,
		config.MinTimeout, config.MaxTimeout
	c.Cluster.Servers, c.Cluster.Members = 1, config.Members
	c.Cluster.Reconfig, c.Cluster.LoneVoter = config.Reconfig, config.LoneVoter
	c.Cluster.SuperDigest, c.Cluster.ExtendedTypes = config.SuperDigest, config.ExtendedTypes
	f.last++
	e := &ensemble{
		number: f.last, server: New(c), standalone: config.Standalone(),
		names:       make(map[string]bool),
		directories: make(map[int]string), processes: make(map[int]chan struct{}),
	}
	for _, m := range config.Members {
		e.names[name(m)] = true
	}
	f.ensembles = append(f.ensembles, e)
	return e
}

// forget drops the ensembles none of whose servers runs or could be started again.
func (f *Fleet) forget() {
	f.ensembles = slices.DeleteFunc(f.ensembles, func(e *ensemble) bool {
		for index := range e.directories {
			if e.processes[index] != nil || f.marked(e, index) {
				return false
			}
		}
		e.server.Close()
		return true
	})
}

// markPath is where a data directory says whose it is: among the server's data, so that it goes
// with them.
func markPath(directory string) string { return filepath.Join(directory, "version-2", "interlock") }

func (f *Fleet) markOf(e *ensemble, index int) string {
	return fmt.Sprintf("%s %d %d\n", f.name, e.number, index)
}

func (f *Fleet) mark(e *ensemble, index int) error {
	path := markPath(e.directories[index])
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(f.markOf(e, index)), 0o666)
}

// marked tells whether the data of a server are still there.
func (f *Fleet) marked(e *ensemble, index int) bool {
	content, err := readFile(markPath(e.directories[index]))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true // Nobody has deleted it, as far as one can tell.
	}
	return string(content) == f.markOf(e, index)
}

// Servers returns the ensembles, in the order in which they were made.
func (f *Fleet) Servers() []*Server {
	f.mu.Lock()
	defer f.mu.Unlock()
	servers := make([]*Server, len(f.ensembles))
	for i, e := range f.ensembles {
		servers[i] = e.server
	}
	return servers
}

// Close ends all servers and forgets their data.
func (f *Fleet) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, e := range f.ensembles {
		errs = append(errs, e.server.Close())
	}
	f.ensembles, f.closed = nil, true
	return errors.Join(errs...)
}
