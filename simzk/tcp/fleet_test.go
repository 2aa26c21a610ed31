package tcp_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tcp"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// superFlags are JVM flags that make super:test the superuser and enable TTL nodes.
const superFlags = "-Dzookeeper.DigestAuthenticationProvider.superDigest=" +
	"super:D/InIHSb7yEEbrWz8b9l71RjZJU= -Dzookeeper.extendedTypesEnabled=true"

func newFleet(t *testing.T) *tcp.Fleet {
	f := tcp.NewFleet(tcp.Config{Version: tcp.Version(simzk.V38, true)})
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// configure writes and reads a server's configuration, and creates its data directory.
func configure(t *testing.T, directory string, id int, lines ...string) *tcp.ServerConfig {
	t.Helper()
	data := filepath.Join(directory, "data")
	if err := os.MkdirAll(data, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(directory, "zoo.cfg")
	lines = append(lines, "dataDir="+data, "tickTime=2000", "reconfigEnabled=true",
		"standaloneEnabled=false")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "myid"), []byte(fmt.Sprintln(id)),
		0o666); err != nil {
		t.Fatal(err)
	}
	config, err := tcp.ReadServerConfig(path, "", superFlags)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// freePorts returns ports without a listener.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// members returns the server.N lines of n servers with distinct addresses.
func members(ports []int) []string {
	lines := make([]string, len(ports))
	for i, port := range ports {
		lines[i] = fmt.Sprintf("server.%d=127.0.0.1:%d:%d:participant;127.0.0.1:%d", i+1,
			port%30000+30000, port%30000+1000, port)
	}
	return lines
}

func launch(t *testing.T, f *tcp.Fleet, config *tcp.ServerConfig) *tcp.Process {
	t.Helper()
	p, err := f.Launch(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLaunchStandalone restarts a standalone server with its data, and then without them.
func TestLaunchStandalone(t *testing.T) {
	f, directory := newFleet(t), t.TempDir()
	config := configure(t, directory, 0, "clientPort=0")
	p := launch(t, f, config)
	a, _ := open(t, p.Address(), 10*time.Second)
	if reply := a.call(create("/a", nil, wire.Persistent)); reply.Code != wire.OK {
		t.Fatal(reply.Code)
	}
	p.Stop()
	a.awaitEnd()

	p = launch(t, f, config)
	a, _ = open(t, p.Address(), 10*time.Second)
	if reply := a.call(create("/a", nil, wire.Persistent)); reply.Code != wire.NodeExists {
		t.Errorf("the server has lost its data: %v", reply.Code)
	}
	other := launch(t, f, configure(t, t.TempDir(), 0, "clientPort=0"))
	b, _ := open(t, other.Address(), 10*time.Second)
	if reply := b.call(create("/a", nil, wire.Persistent)); reply.Code != wire.OK {
		t.Errorf("another server has its data: %v", reply.Code)
	}
	p.Stop()

	if err := os.RemoveAll(filepath.Join(config.DataDir, "version-2")); err != nil {
		t.Fatal(err)
	}
	p = launch(t, f, config)
	a, _ = open(t, p.Address(), 10*time.Second)
	if reply := a.call(create("/a", nil, wire.Persistent)); reply.Code != wire.OK {
		t.Errorf("the server still has deleted data: %v", reply.Code)
	}
	if servers := f.Servers(); len(servers) != 2 {
		t.Errorf("%d ensembles, want 2: a deleted ensemble is still listed", len(servers))
	}
}

// TestLaunchRunning launches a running server: the second launch waits until the first process
// stops.
func TestLaunchRunning(t *testing.T) {
	f := newFleet(t)
	config := configure(t, t.TempDir(), 0, "clientPort=0")
	first := launch(t, f, config)
	launched := make(chan error)
	go func() {
		_, err := f.Launch(config, nil)
		launched <- err
	}()
	first.Stop()
	if err := <-launched; err != nil {
		t.Error(err)
	}
}

// launchEnsemble starts the servers of a new ensemble.
func launchEnsemble(t *testing.T, f *tcp.Fleet, n int) (configs []*tcp.ServerConfig,
	processes []*tcp.Process, addresses []string,
) {
	t.Helper()
	lines := members(freePorts(t, n))
	for i := range n {
		config := configure(t, t.TempDir(), i+1, lines...)
		p := launch(t, f, config)
		configs, processes, addresses = append(configs, config), append(processes, p),
			append(addresses, p.Address())
	}
	return configs, processes, addresses
}

// TestLaunchEnsemble starts three servers, which serve clients once two of them run, and restarts
// each in turn.
func TestLaunchEnsemble(t *testing.T) {
	f := newFleet(t)
	lines := members(freePorts(t, 3))
	configs := make([]*tcp.ServerConfig, 3)
	processes := make([]*tcp.Process, 3)
	for i := range configs {
		configs[i] = configure(t, t.TempDir(), i+1, lines...)
	}
	processes[0] = launch(t, f, configs[0])
	if answer := fourLetterWord(t, processes[0].Address(), "srvr"); !strings.HasPrefix(answer,
		"This ZooKeeper instance is not") {
		t.Errorf("one of three servers responds %q", answer)
	}
	processes[1] = launch(t, f, configs[1])
	processes[2] = launch(t, f, configs[2])
	var addresses []string
	for _, p := range processes {
		addresses = append(addresses, p.Address())
	}
	client, events := connect(t, 20*time.Second, addresses...)
	if _, err := client.Create("/a", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		i := slices.Index(addresses, client.Server())
		processes[i].Stop()
		await(t, events, zk.StateHasSession)
		processes[i] = launch(t, f, configs[i])
		if _, _, err := client.Get("/a"); err != nil {
			t.Error(err)
		}
	}
	if servers := f.Servers(); len(servers) != 1 || servers[0].Status().Servers[2].Server != 3 {
		t.Errorf("%d ensembles", len(servers))
	}
}

// TestTwoEnsembles starts the servers of two ensembles alternately.
func TestTwoEnsembles(t *testing.T) {
	f := newFleet(t)
	ports := freePorts(t, 4)
	first, second := members(ports[:2]), members(ports[2:])
	a1, b1 := launch(t, f, configure(t, t.TempDir(), 1, first...)),
		launch(t, f, configure(t, t.TempDir(), 1, second...))
	launch(t, f, configure(t, t.TempDir(), 2, first...))
	launch(t, f, configure(t, t.TempDir(), 2, second...))
	a, _ := open(t, a1.Address(), 10*time.Second)
	b, _ := open(t, b1.Address(), 10*time.Second)
	a.call(create("/a", nil, wire.Persistent))
	if reply := b.call(wire.Request{Op: wire.OpExists, Path: "/a"}); reply.Code != wire.NoNode {
		t.Errorf("the second ensemble has the first one's data: %v", reply.Code)
	}
}

// TestLaunchWaits launches a running server. Before the launch completes, its data are deleted, it
// is stopped, and another server is launched, which makes the fleet drop its ensemble.
func TestLaunchWaits(t *testing.T) {
	for range 20 {
		again, other := configure(t, t.TempDir(), 0, "clientPort=0", "standaloneEnabled=true"),
			configure(t, t.TempDir(), 0, "clientPort=0")
		synctest.Test(t, func(t *testing.T) {
			f := tcp.NewFleet(tcp.Config{})
			first, err := f.Launch(again, newPipeListener())
			if err != nil {
				t.Fatal(err)
			}
			second := make(chan error, 1)
			go func() {
				_, err := f.Launch(again, newPipeListener())
				second <- err
			}()
			synctest.Wait()
			if err := os.RemoveAll(filepath.Join(again.DataDir, "version-2")); err != nil {
				t.Fatal(err)
			}
			if err := first.Stop(); err != nil {
				t.Error(err)
			}
			if _, err := f.Launch(other, newPipeListener()); err != nil {
				t.Error(err)
			}
			if err := <-second; err != nil {
				t.Error(err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLaunchAfterClose launches a server of a closed fleet.
func TestLaunchAfterClose(t *testing.T) {
	f := newFleet(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Launch(configure(t, t.TempDir(), 0, "clientPort=0"), nil); !errors.Is(err,
		net.ErrClosed) {
		t.Errorf("error %v", err)
	}
}
