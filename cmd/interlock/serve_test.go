package main

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
)

// testTimeout bounds the wait for an expected event. Only a failing test waits that long.
const testTimeout = 30 * time.Second

// serveOn starts interlock serve on a free port and returns its first address.
func serveOn(t *testing.T, arguments ...string) (*child, string) {
	t.Helper()
	c := start(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--json"}, arguments...)...)
	var s struct{ Addresses []string }
	if err := json.Unmarshal([]byte(c.first), &s); err != nil {
		t.Fatal(err)
	}
	return c, s.Addresses[0]
}

// A client can use the ensemble until a signal ends the program.
func TestServe(t *testing.T) {
	t.Parallel()
	c, address := serveOn(t, "--extended-types")
	client, events, err := zk.Connect([]string{address}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if path, err := client.CreateTTL("/a", nil, zk.FlagTTL, zk.WorldACL(zk.PermAll),
		time.Hour); err != nil || path != "/a" {
		t.Errorf("%q %v", path, err)
	}
	if err := c.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for e := range events {
		if e.State == zk.StateDisconnected {
			break
		}
	}
	if rest, status := c.end(t); rest != "" || status != exit.OK || c.stderr.String() != "" {
		t.Errorf("%q, status %d, stderr %q", rest, status, &c.stderr)
	}
}

// A port in use is an error.
func TestServePortInUse(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	executable, err := exec.LookPath("interlock")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(executable, "serve", "--listen", listener.Addr().String())
	output, _ := command.CombinedOutput()
	if status := command.ProcessState.ExitCode(); status != exit.Usage ||
		!strings.HasPrefix(string(output), "interlock: --listen: ") ||
		!strings.Contains(string(output), listener.Addr().String()) ||
		!strings.Contains(string(output), "address already in use") {
		t.Errorf("status %d, %s", status, output)
	}
}

// A launchedServer is a running zkServer.sh.
type launchedServer struct {
	command *exec.Cmd
	lines   *bufio.Reader
	stderr  strings.Builder
}

// launchScript starts zkServer.sh in a working directory, as tests of ZooKeeper clients do, and
// returns the server's address.
func launchScript(t *testing.T, directory, socket, config string) (*launchedServer, string) {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("..", "zkserver", "zkServer.sh"))
	if err != nil {
		t.Fatal(err)
	}
	executable, err := exec.LookPath("interlock")
	if err != nil {
		t.Fatal(err)
	}
	l := &launchedServer{command: exec.Command(script, "start-foreground", config)}
	l.command.Dir = directory
	name, value := raceOptions()
	l.command.Env = append(os.Environ(), "INTERLOCK="+executable, "INTERLOCK_CONTROL="+socket,
		name+"="+value,
		"SERVER_JVMFLAGS=-Dzookeeper.extendedTypesEnabled=true -Dother='with blank'")
	l.command.Stderr = &l.stderr
	stdout, err := l.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.command.Process.Kill() })
	l.lines = bufio.NewReader(stdout)
	line, err := l.lines.ReadString('\n')
	address, found := strings.CutPrefix(line, "listens on ")
	if err != nil || !found {
		l.command.Wait()
		t.Fatalf("%q %v %s", line, err, &l.stderr)
	}
	return l, strings.TrimSpace(address)
}

// A server that ZooKeeper's script launches keeps its data when it is killed and launched again.
func TestLaunch(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	socket, config := filepath.Join(directory, "socket"), filepath.Join(directory, "my zoo.cfg")
	content := "dataDir=" + directory + "\nclientPort=0\ntickTime=500\n"
	if err := os.WriteFile(config, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	daemon, _ := serveOn(t, "--control", socket)

	l, address := launchScript(t, directory, socket, config)
	client, _, err := zk.Connect([]string{address}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.CreateTTL("/a", nil, zk.FlagTTL, zk.WorldACL(zk.PermAll),
		time.Hour); err != nil {
		t.Fatal(err)
	}
	if servers, ok := zk.FLWSrvr([]string{address}, testTimeout); !ok ||
		servers[0].Mode != zk.ModeStandalone {
		t.Errorf("%+v", servers[0])
	}
	if err := l.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	l.command.Wait()

	l, again := launchScript(t, directory, socket, config)
	other, _, err := zk.Connect([]string{again}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if exists, _, err := other.Exists("/a"); err != nil || !exists {
		t.Errorf("the server has lost its data: %v", err)
	}

	if err := daemon.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	daemon.end(t)
	l.command.Wait()
	if status := l.command.ProcessState.ExitCode(); status != exit.Internal ||
		l.stderr.String() != "interlock: interlock serve has ended, and so has the server\n" {
		t.Errorf("status %d, stderr %q", status, &l.stderr)
	}
}

// Relative paths in a configuration are relative to the working directory of launch.
func TestLaunchRelative(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "zoo.cfg"),
		[]byte("dataDir=the data\nclientPort=0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "socket")
	serveOn(t, "--control", socket) // has another working directory
	launchScript(t, directory, socket, "zoo.cfg")
	if _, err := os.Stat(filepath.Join(directory, "the data", "version-2")); err != nil {
		t.Error(err)
	}
}

// A signal ends a launched server with status 0.
func TestLaunchInterrupted(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	socket, config := filepath.Join(directory, "socket"), filepath.Join(directory, "zoo.cfg")
	if err := os.WriteFile(config, []byte("dataDir="+directory+"\nclientPort=0\n"),
		0o666); err != nil {
		t.Fatal(err)
	}
	serveOn(t, "--control", socket)
	l, _ := launchScript(t, directory, socket, config)
	if err := l.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := l.command.Wait(); err != nil {
		t.Errorf("%v, stderr %q", err, &l.stderr)
	}
}
