package conform

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlock-sim/interlock/internal/base/processgroup"
)

// A RealServer is a ZooKeeper server of Debian's package, a member of an ensemble. Its methods must
// not be called concurrently.
type RealServer struct {
	Address string // for clients
	// Environment has further environment variables, NAME=value.
	Environment []string

	directory string
	command   realCommand
	process   *realProcess // nil unless it runs
}

// NewRealEnsemble configures the servers of an ensemble as [StartRealEnsemble] does, and starts
// none. The error is [ErrNotInstalled] if java or the package is missing.
func NewRealEnsemble(directory string, servers int) ([]*RealServer, error) {
	command, err := findReal()
	if err != nil {
		return nil, err
	}
	addresses, directories, err := configureEnsemble(directory, servers)
	if err != nil {
		return nil, err
	}
	members := make([]*RealServer, servers)
	for i := range members {
		members[i] = &RealServer{
			Address: addresses[i], directory: directories[i], command: command,
		}
	}
	return members, nil
}

// Configure adds lines to the configuration of the server, which applies them when it next starts.
func (s *RealServer) Configure(lines ...string) error {
	path := filepath.Join(s.directory, configurationFile)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, strings.Join(lines, "\n")+"\n")
	return errors.Join(err, file.Close())
}

// Start starts the server and returns when it serves clients, for which a majority must run. The
// end of the context kills the server.
func (s *RealServer) Start(ctx context.Context) (err error) {
	s.process, err = s.command.launch(ctx, s.directory, s.Address, s.Environment...)
	return err
}

// Kill ends the server without notice. It has no effect on a server that does not run.
func (s *RealServer) Kill() error {
	if s.process == nil {
		return nil
	}
	process := s.process
	s.process = nil
	return process.kill()
}

// Pause suspends the server: it keeps its connections and answers nothing.
func (s *RealServer) Pause() error { return s.change(processgroup.Pause) }

// Resume ends [RealServer.Pause].
func (s *RealServer) Resume() error { return s.change(processgroup.Resume) }

var errNotRunning = errors.New("the server does not run")

func (s *RealServer) change(how func(*os.Process) error) error {
	if s.process == nil {
		return errNotRunning
	}
	return how(s.process.command.Process)
}

// Leads reports whether the server says that it is the leader, within a second.
func (s *RealServer) Leads() bool {
	return strings.Contains(fourLetterWord(s.Address, "srvr"), "Mode: leader")
}
