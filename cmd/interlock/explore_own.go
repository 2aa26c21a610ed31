package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/base/processgroup"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/gobuild"
	"github.com/interlock-sim/interlock/internal/run/supervise"
	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// An explored is what a person explores.
type explored struct {
	runs     explore.Runs
	recorded explore.Path   // of the schedule to begin with
	build    *gobuild.Build // of a test in a user's module, or nil
}

// close ends what has been started.
func (e *explored) close() {
	if remote, ok := e.runs.(*explore.Remote); ok {
		remote.Close()
	}
	if e.build != nil {
		e.build.Close()
	}
}

// exploreRecorded explores from a recorded schedule on. Schedules are saved below out; if that is
// empty, where they usually are. The lock of a user runs in its test.
func exploreRecorded(ctx context.Context, t *testing.T, path, out string, stderr io.Writer) (
	*explored, error,
) {
	r, err := newReplayer(path)
	if other := (*notBundled)(nil); errors.As(err, &other) {
		test, err := other.test(ctx)
		if err != nil {
			return nil, err
		}
		return test.explore(ctx, out, stderr)
	}
	if err != nil {
		return nil, err
	}
	save := explore.Below(cmp.Or(out, defaultOut), replayCommand)
	return &explored{
		runs:     explore.NewLocal(engine.NewRunner(t), *r.scenario, save),
		recorded: explore.Path{Length: engine.StepsMax, Deviations: r.recording.Deviations},
	}, nil
}

// explore explores from the counterexample on in the test that replays it.
func (o *ownLock) explore(ctx context.Context, out string, stderr io.Writer) (*explored, error) {
	r, err := recording.Read(o.path)
	if err != nil {
		return nil, err
	}
	if err := o.prepare(ctx); err != nil {
		return nil, err
	}
	if out != "" {
		if out, err = filepath.Abs(out); err != nil {
			return nil, err
		}
	}
	served := &servedTest{
		ctx: ctx, name: o.test.Name, lock: r.Lock, packaged: o.packaged,
		stderr: stderr,
		command: func(ctx context.Context) *exec.Cmd {
			command := o.goTest(ctx, servedFlags...)
			if out != "" {
				command.Env = append(command.Env, recording.OutVariable+"="+out)
			}
			return command
		},
	}
	_, recorded, err := recordedTest(o.path, r)
	if err != nil {
		return nil, err
	}
	runs, err := explore.NewRemote(served.connect)
	return &explored{runs: runs, recorded: recorded}, err
}

// recordedTest returns the test that has written a counterexample, and the path of its schedule. If
// that ends the program, the path ends before the last decision.
func recordedTest(directory string, r *recording.Recording) (string, explore.Path, error) {
	test, steps, err := recording.TestOf(directory)
	path := explore.Path{Length: engine.StepsMax, Deviations: r.Deviations}
	if _, reason, _ := strings.Cut(r.Signature, ": "); supervise.Deadly(reason) {
		path = path.To(steps - 1)
	}
	return test, path, err
}

// exploreBuilt explores the lock of a test as interlock test builds it, from the recorded schedule
// on that the flags name.
func (f *testFlags) exploreBuilt(ctx context.Context, pattern string, stderr io.Writer) (*explored,
	error,
) {
	served := &servedTest{ctx: ctx, stderr: stderr, packaged: pattern}
	e := new(explored)
	if f.replay != "" {
		r, err := recording.Read(f.replay)
		if err != nil {
			return nil, fmt.Errorf("--schedule: %w", err)
		}
		test, path, err := recordedTest(f.replay, r)
		if err != nil {
			return nil, fmt.Errorf("--schedule: %w", err)
		}
		f.run = cmp.Or(f.run, recording.Pattern(test))
		served.lock, e.recorded = r.Lock, path
	}
	f.schedules, f.timeout, f.verbose, served.name = 1, servedTimeout, true, f.run
	if err := f.validate(); err != nil {
		return nil, err
	}
	environment, err := f.environment(pattern, "")
	if err != nil {
		return nil, err
	}
	if e.build, err = f.build(ctx, pattern, stderr); err != nil {
		return nil, err
	}
	served.command = func(ctx context.Context) *exec.Cmd {
		command := e.build.Command(ctx)
		command.Env = append(command.Env, environment...)
		return command
	}
	if e.runs, err = explore.NewRemote(served.connect); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// A servedTest is a user's test that performs the runs of an explorer, in its own process.
type servedTest struct {
	ctx      context.Context // of the program
	command  func(context.Context) *exec.Cmd
	name     string // the pattern of the test
	lock     string // that it is to check, or "" for the first that it checks
	packaged string // the directory of its package
	stderr   io.Writer
}

// servedTimeout bounds how long a test serves. With a timeout, runs that stand still are noticed.
const servedTimeout = 24 * time.Hour

// servedFlags are flags of go test. The output then says why a test does nothing.
var servedFlags = []string{"-timeout=" + servedTimeout.String(), "-v"}

// How long a build takes before the program says what it waits for, and a test to end itself.
const (
	buildSilence = 2 * time.Second
	endGrace     = 5 * time.Second
)

// connect starts the test, and waits until it connects.
func (s *servedTest) connect() (io.ReadWriteCloser, error) {
	directory, err := os.MkdirTemp("", "interlock-explore-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	listener, err := net.Listen("unix", filepath.Join(directory, "socket"))
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	// The connection ends a test that serves.
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.ctx))
	defer context.AfterFunc(s.ctx, cancel)()
	p := &servingProcess{cancel: cancel, ended: make(chan struct{})}
	command := s.command(ctx)
	processgroup.Interrupt(command)
	command.WaitDelay = endGrace
	command.Env = append(command.Env, recording.ExploreVariable+"="+listener.Addr().String())
	command.Stdout, command.Stderr = &p.printed, &p.printed
	if err := command.Start(); err != nil {
		cancel()
		return nil, err
	}
	go func() {
		command.Wait() // What it prints says how it ended.
		close(p.ended)
	}()
	accepted := make(chan net.Conn, 1)
	go func() {
		if connection, err := listener.Accept(); err == nil {
			accepted <- connection
		}
	}()
	slow := time.After(buildSilence)
	for {
		select {
		case p.Conn = <-accepted:
			return p, nil
		case <-p.ended:
			cancel()
			return nil, s.explain(p.printed.String())
		case <-slow:
			fmt.Fprintf(s.stderr, "building the test in %s\n", s.packaged)
		}
	}
}

// explain returns why a test has ended without a connection, and prints its output if that says
// more.
func (s *servedTest) explain(printed string) error {
	switch {
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case strings.Contains(printed, "no tests to run"), strings.Contains(printed, "[no test files]"):
		return fmt.Errorf("the package in %s has no test %s", s.packaged, s.name)
	}
	fmt.Fprint(s.stderr, printed)
	switch {
	case strings.Contains(printed, "[build failed]"), strings.Contains(printed, "[setup failed]"):
		return fmt.Errorf("the package in %s does not build", s.packaged)
	case !strings.Contains(printed, "=== RUN"):
		return fmt.Errorf("the tests in %s, whose output is above, do not run", s.packaged)
	}
	of := ""
	if s.lock != "" {
		of = fmt.Sprintf(" for the lock %q", s.lock)
	}
	return fmt.Errorf("the test %s in %s, whose output is above, has ended without a search by "+
		"interlock.Check%s", s.name, s.packaged, of)
}

// A servingProcess is the process of a [servedTest], and the connection to it.
type servingProcess struct {
	net.Conn
	cancel  context.CancelFunc
	ended   chan struct{}
	printed bytes.Buffer // not to be read before the end
}

// Read reads from the connection. The error at the end of the process says why it has ended.
func (p *servingProcess) Read(into []byte) (int, error) {
	n, err := p.Conn.Read(into)
	if err == nil || errors.Is(err, net.ErrClosed) {
		return n, err
	}
	p.Close()
	return n, fmt.Errorf("the test's process has ended%s; the next request starts it again",
		howEnded(p.printed.String()))
}

// howEnded returns how the process of a test has ended, from what it has printed.
func howEnded(printed string) string {
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return ": " + strings.TrimSpace(line)
		}
	}
	if strings.Contains(printed, "\n--- ") {
		return " with the test"
	}
	return ", as by os.Exit"
}

// Close ends the process.
func (p *servingProcess) Close() error {
	p.Conn.Close()
	select {
	case <-p.ended:
	case <-time.After(endGrace):
		p.cancel()
		<-p.ended
	}
	p.cancel()
	return nil
}
