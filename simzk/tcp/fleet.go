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

// A Fleet is a set of ensembles whose servers are launched one at a time from their configuration
// files, like processes of real servers. Servers belong to the same ensemble if their
// configurations share a server.N line. An ensemble serves clients once a majority of its members
// runs.
//
// The fleet keeps the data in memory. A marker file in a server's data directory identifies it: a
// server launched with the same directory finds its data again, and emptying the directory deletes
// the data. The methods of a fleet are safe for concurrent use.
type Fleet struct {
	config Config
	name   string // distinguishes the markers of this fleet from those of others

	mu           sync.Mutex
	closed       bool
	ensembles    []*ensemble
	lastEnsemble int // number of the latest ensemble
}

// An ensemble is an ensemble of a fleet.
type ensemble struct {
	number      int
	server      *Server
	standalone  bool
	memberNames map[string]bool // of the configured members
	directories map[int]string  // data directories by member
	processes   map[int]chan struct{}
}

// NewFleet returns an empty fleet. It uses the version, the sequence number rule and the version
// string of the configuration.
func NewFleet(config Config) *Fleet { return &Fleet{config: config, name: rand.Text()} }

// A Process is a running server of a fleet.
type Process struct {
	fleet    *Fleet
	ensemble *ensemble
	index    int
	stopped  chan struct{}
}

// restartTimeout is the time a launch waits for an earlier process of the same server to stop.
const restartTimeout = 5 * time.Second

// Launch starts a server. Its clients connect to the listener, which the fleet closes; nil selects
// a listener at the configured address.
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
	for timeout := time.After(restartTimeout); e.processes[index] != nil; {
		if !f.await(e.processes[index], timeout) {
			return nil, fmt.Errorf("server %d runs already", config.ID)
		}
		e, index, known = f.find(config) // Everything may have changed meanwhile.
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
	if err := f.writeMarker(e, index); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// await waits until a process stops, and returns false on timeout. It releases the caller's lock
// while it waits.
func (f *Fleet) await(stopped <-chan struct{}, timeout <-chan time.Time) bool {
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-stopped:
		return true
	case <-timeout:
		return false
	}
}

// Address returns the address of the server's listener.
func (p *Process) Address() string { return p.ensemble.server.Addresses()[p.index] }

// Stop kills the server's process, as SIGKILL does.
func (p *Process) Stop() error {
	p.fleet.mu.Lock()
	defer p.fleet.mu.Unlock()
	return p.stop()
}

// stop implements Stop. The caller holds the fleet's lock.
func (p *Process) stop() error {
	err := p.ensemble.server.Kill(p.index)
	delete(p.ensemble.processes, p.index)
	close(p.stopped)
	return err
}

// find returns the ensemble of a server, its index there, and whether its data exist. If there is
// no such ensemble, find creates one.
func (f *Fleet) find(config *ServerConfig) (e *ensemble, index int, known bool) {
	f.dropStopped()
	for _, e := range f.ensembles {
		for index, directory := range e.directories {
			if directory == config.DataDir && e.standalone == config.Standalone() &&
				f.hasData(e, index) {
				return e, index, true
			}
		}
	}
	if !config.Standalone() {
		for _, e := range f.ensembles {
			if slices.ContainsFunc(config.Members,
				func(m simzk.Member) bool { return e.memberNames[memberName(m)] }) {
				return e, e.member(config), false
			}
		}
	}
	e = f.newEnsemble(config)
	return e, e.member(config), false
}

// memberName returns the name by which servers of an ensemble identify a member.
func memberName(m simzk.Member) string {
	return simzk.Member{ID: m.ID, Servers: m.Servers}.String()
}

// member returns the index of the server. A server that is not a member joins the ensemble.
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
	c.Cluster.LocalSessions = config.LocalSessions
	f.lastEnsemble++
	e := &ensemble{
		number: f.lastEnsemble, server: New(c), standalone: config.Standalone(),
		memberNames: make(map[string]bool),
		directories: make(map[int]string), processes: make(map[int]chan struct{}),
	}
	for _, m := range config.Members {
		e.memberNames[memberName(m)] = true
	}
	f.ensembles = append(f.ensembles, e)
	return e
}

// dropStopped closes and removes the ensembles without a running server or a server with data.
func (f *Fleet) dropStopped() {
	f.ensembles = slices.DeleteFunc(f.ensembles, func(e *ensemble) bool {
		for index := range e.directories {
			if e.processes[index] != nil || f.hasData(e, index) {
				return false
			}
		}
		e.server.Close()
		return true
	})
}

// markerPath returns the path of the marker file, which lies among the server's data, so that it is
// deleted with them.
func markerPath(directory string) string {
	return filepath.Join(directory, "version-2", "interlock")
}

func (f *Fleet) marker(e *ensemble, index int) string {
	return fmt.Sprintf("%s %d %d\n", f.name, e.number, index)
}

func (f *Fleet) writeMarker(e *ensemble, index int) error {
	path := markerPath(e.directories[index])
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(f.marker(e, index)), 0o666)
}

// hasData reports whether the data of a server still exist.
func (f *Fleet) hasData(e *ensemble, index int) bool {
	content, err := readFile(markerPath(e.directories[index]))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true // The marker may still exist.
	}
	return string(content) == f.marker(e, index)
}

// Servers returns the ensembles in order of creation.
func (f *Fleet) Servers() []*Server {
	f.mu.Lock()
	defer f.mu.Unlock()
	servers := make([]*Server, len(f.ensembles))
	for i, e := range f.ensembles {
		servers[i] = e.server
	}
	return servers
}

// Close stops all servers and deletes their data.
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
