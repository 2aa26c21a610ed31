package lock_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/conform"
)

// startZooKeeper starts a real ZooKeeper server and returns its address. If none is installed it
// skips the test, or fails it if INTERLOCK_REQUIRE_ZOOKEEPER=1.
func startZooKeeper(tb testing.TB) string {
	tb.Helper()
	address, stop, err := conform.StartReal(context.Background(), tb.TempDir())
	if errors.Is(err, conform.ErrNotInstalled) && os.Getenv("INTERLOCK_REQUIRE_ZOOKEEPER") != "1" {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Error(err)
		}
	})
	return address
}

// clientBuffer suffices for what the tests send. The client's default would cost 3 MB per
// connection.
const clientBuffer = 64 << 10

// openSession connects a client, which is closed with the test, and returns its session.
func openSession(tb testing.TB, address string, timeout time.Duration,
	dialer zk.Dialer,
) *lock.Session {
	tb.Helper()
	session, err := lock.Dial(background, []string{address}, timeout, lock.WithDialer(dialer),
		lock.WithClientOption(zk.WithLogger(silent{})),
		lock.WithClientOption(zk.WithMaxBufferSize(clientBuffer)),
		lock.WithClientOption(zk.WithMaxConnBufferSize(clientBuffer)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(session.Client.(*zk.Conn).Close)
	return session
}
