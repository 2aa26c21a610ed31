package scenarios

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/internal/run/zookeeper"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk/client"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// A Process is the environment of lock code under test: one contender with its client.
type Process struct {
	Number int // from 1
	// Client is the process's connection to ZooKeeper; nil if Dialed. Give lock.NewSession
	// [client.Connecting] of it.
	Client         client.Client
	Directory      string        // an existing znode for the znodes of the lock
	SessionTimeout time.Duration // granted by the ensemble
	Random         io.Reader     // deterministic: differs between processes, not between runs
	// Host and PID are the name of the process's host, and its number there, from 1. Each process
	// starts on a host of its own. The replacement of a restarted process runs on the same host
	// with the next PID, so the process that it replaces had PID-1.
	Host string
	PID  int
	// Handle is the process's access to a service that is not ZooKeeper: for package simredis, a
	// *simredis.Client, for simsql, a *simsql.Client. Client, Directory and SessionTimeout are zero
	// then.
	Handle any

	ctx     context.Context
	address string
}

// NewProcess returns the environment of lock code for the process of a run.
func NewProcess(e *sim.Environment) *Process {
	if !zookeeper.Connects(e.Client) {
		return &Process{
			Number: e.Number, Handle: e.Client.Handle(), Random: e.Random, ctx: e.Context,
			Host: hostName(e.Host), PID: e.PID,
		}
	}
	connection := zookeeper.ConnectionOf(e.Client)
	return &Process{
		Number: e.Number, Client: connection.Client, Directory: connection.Directory,
		SessionTimeout: connection.SessionTimeout, Random: e.Random, ctx: e.Context,
		address: connection.Address, Host: hostName(e.Host), PID: e.PID,
	}
}

// Name returns the name of the process in reports, such as c1. It serves as an identity that no two
// processes share.
func (p *Process) Name() string { return fmt.Sprintf("c%d", p.Number) }

// hostName returns the name of a host.
func hostName(host int) string { return "host" + strconv.Itoa(host) }

// Replacement reports whether the process replaces a process that a restart has stopped.
func (p *Process) Replacement() bool { return p.PID > 1 }

// Context returns a context that ends with the run, also for a process that has crashed. It is for
// goroutines that a lock keeps between calls: they end with the context, or [context.AfterFunc]
// calls the method of the lock that ends them.
func (p *Process) Context() context.Context { return p.ctx }

// Connect opens a further client of the process, beside [Process.Client], and returns at once, as
// zk.Connect does: the client's events tell when it has its session. It is for code that opens a
// client itself, such as a new one after every disconnect; Close gives a client up. It fails for
// more than 8 clients at a time, and in a scenario with threads. It panics if the scenario is
// [Dialed], so that the code connects to [Process.Address].
func (p *Process) Connect() (client.Client, error) {
	connector, ok := p.Client.(interface {
		Connect() (client.Client, error)
	})
	if !ok {
		panic("Process.Connect: the scenario gives the process no client; code that opens its " +
			"own connects to Process.Address")
	}
	return connector.Connect()
}

// Conn returns the process's connection for code that needs a *zk.Conn. It panics unless the
// scenario runs the real client, [Real]. [real.Conn.ZK] says what such code must not do.
func (p *Process) Conn() *zk.Conn {
	conn, ok := p.Client.(*real.Conn)
	if !ok {
		panic("Process.Conn: the scenario runs a model of the client and has no *zk.Conn; it " +
			"needs Client: scenarios.Real")
	}
	return conn.ZK()
}

// Address returns the servers of ZooKeeper as a connection string: host:port, separated by commas.
// It is for code that opens its own client, of go-zookeeper/zk or of a fork of it. It panics unless
// the scenario has such clients, [Dialed].
func (p *Process) Address() string {
	if p.address == "" {
		panic("Process.Address: the scenario gives each process a client; code that opens its " +
			"own needs Client: scenarios.Dialed")
	}
	return p.address
}

// Servers returns the servers of [Process.Address] as a list, under the same condition.
func (p *Process) Servers() []string { return strings.Split(p.Address(), ",") }
