package conform_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/conform"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// compareStalledDisks compares servers whose disks stall with the facts on file, which are those of
// ZooKeeper 3.8.0.
func compareStalledDisks(t *testing.T, leader, other string, ofLeader, ofFollower conform.Disk) {
	t.Helper()
	compareFacts(t, "testdata/stalled-disks.txt", func(report func(string)) error {
		return conform.StalledDiskFacts(t.Context(), leader, other, ofLeader, ofFollower, report)
	})
}

// TestStalledDisksOfSimulation compares a simulated ensemble with the facts on file.
func TestStalledDisksOfSimulation(t *testing.T) {
	server, err := tcp.Start(tcp.Config{
		Cluster: simzk.Config{Lag: true, TickTime: 2 * time.Second},
	}, "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	disk := func(of int) conform.Disk {
		return conform.Disk{
			Stall:  func() error { return server.StallDisk(of) },
			Resume: func() error { return server.Resume(of) },
		}
	}
	const leader, follower, other = 2, 1, 0
	addresses := server.Addresses()
	compareStalledDisks(t, addresses[leader], addresses[other], disk(leader), disk(follower))
}

// TestStalledDisksOfReal compares the facts on file with Debian's ZooKeeper, for which no call of
// fsync ends while a disk stalls.
func TestStalledDisksOfReal(t *testing.T) {
	long.Only(t)
	directory := t.TempDir()
	library := filepath.Join(directory, "stall_disk.so")
	output, err := exec.Command("cc", "-shared", "-fPIC", "-o", library, "testdata/stall_disk.c",
		"-ldl").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	disks := make(map[*conform.RealServer]conform.Disk)
	leader, followers := startRealEnsemble(t, func(s *conform.RealServer) error {
		stalled := filepath.Join(directory, fmt.Sprint("stalled-", len(disks)))
		disks[s] = conform.Disk{
			Stall:  func() error { return os.WriteFile(stalled, nil, 0o644) },
			Resume: func() error { return os.Remove(stalled) },
		}
		s.Environment = []string{"LD_PRELOAD=" + library, "STALLED_DISK=" + stalled}
		return s.Configure("forceSync=yes")
	})
	compareStalledDisks(t, leader.Address, followers[0].Address, disks[leader],
		disks[followers[1]])
}
