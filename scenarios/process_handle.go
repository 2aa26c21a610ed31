package scenarios

import (
	"context"
	"io"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk"
)

// A Process is the environment of lock code under test: one contender with its client.
type Process struct {
	Number         int           // from 1
	Client         simzk.Client  // the process's connection to ZooKeeper
	Directory      string        // an existing znode for the znodes of the lock
	SessionTimeout time.Duration // granted by the ensemble
	Random         io.Reader     // deterministic: differs between processes, not between runs

	ctx context.Context
}

// newProcess returns the environment of the process with that client.
func newProcess(client Client) Process {
	zk := processOf(client)
	return Process{
		Number: client.Process(), Client: zk.Client, Directory: zk.Directory,
		SessionTimeout: zk.SessionTimeout,
	}
}

// Context returns a context that ends with the run, also for a process that has crashed. It is for
// goroutines that a lock keeps between calls: they end with the context, or [context.AfterFunc]
// calls the method of the lock that ends them.
func (p *Process) Context() context.Context { return p.ctx }

// Conn returns the process's connection for code that needs a *zk.Conn. It panics unless the
// scenario runs the real client, [Real]. [simzk.RealConn.Conn] says what such code must not do.
func (p *Process) Conn() *zk.Conn {
	real, ok := p.Client.(*simzk.RealConn)
	if !ok {
		panic("Process.Conn: the scenario runs a model of the client and has no *zk.Conn; it " +
			"needs Client: scenarios.Real")
	}
	return real.Conn()
}

// randomBytes is an endless stream of bytes that depends only on the seed.
type randomBytes struct{ state uint64 }

// Read fills p. It never fails.
func (r *randomBytes) Read(p []byte) (int, error) {
	for i := range p {
		// The step of splitmix64; one output for each byte is plenty for the few bytes of a GUID.
		r.state += 0x9e3779b97f4a7c15
		x := (r.state ^ r.state>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		p[i] = byte(x >> 56)
	}
	return len(p), nil
}
