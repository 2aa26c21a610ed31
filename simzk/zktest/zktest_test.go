package zktest_test

import (
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk/zktest"
)

type silent struct{}

func (silent) Printf(string, ...any) {}

// An ensemble serves until its test ends, and survives the loss of a server.
func TestStartEnsemble(t *testing.T) {
	var addresses []string
	t.Run("ensemble", func(t *testing.T) {
		server := zktest.StartEnsemble(t, 3)
		addresses = server.Addresses()
		if err := server.Kill(2); err != nil {
			t.Fatal(err)
		}
		conn, _, err := zk.Connect(addresses[:2], 10*time.Second, zk.WithLogger(silent{}))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Create("/n", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Error(err)
		}
	})
	for _, address := range addresses {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Errorf("%s accepts a connection after the test", address)
		}
	}
}

// Start starts one server.
func TestStart(t *testing.T) {
	if server := zktest.Start(t); len(server.Addresses()) != 1 {
		t.Errorf("addresses %q", server.Addresses())
	}
}
