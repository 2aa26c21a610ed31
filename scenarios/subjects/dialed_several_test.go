package subjects_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// A furtherClient is a client that the code of a process has opened, of whatever kind.
type furtherClient interface {
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	Delete(path string, version int32) error
	Events() <-chan zk.Event
	Close()
}

// openDialed opens a client of go-zookeeper/zk and waits for its session.
func openDialed(p *scenarios.Process) (furtherClient, error) { return openClient(p) }

// A renewal is a process that opens a new client whenever it loses the connection, and closes the
// old client once the new one has its session.
type renewal struct {
	connect func() (furtherClient, error)

	mu      sync.Mutex
	current *renewedClient
}

// A renewedClient is a client, in use until it has lost its connection.
type renewedClient struct {
	furtherClient
	lost     chan struct{} // closed when it has lost its connection
	replaced chan struct{} // closed when the next one has its session
}

func (r *renewal) open() error {
	client, err := r.connect()
	if err != nil {
		return err
	}
	c := &renewedClient{client, make(chan struct{}), make(chan struct{})}
	r.mu.Lock()
	r.current = c
	r.mu.Unlock()
	go r.follow(c)
	return nil
}

// follow replaces a client when it has lost its connection.
func (r *renewal) follow(c *renewedClient) {
	for e := range c.Events() {
		if e.State != zk.StateDisconnected {
			continue
		}
		close(c.lost)
		if r.open() == nil {
			close(c.replaced)
		}
		c.Close()
		return
	}
}

func (r *renewal) client() *renewedClient {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// lock waits until the process has created the node, and returns the client that has. It sets no
// watches: go-zookeeper/zk decides at random whether a client that is closed sets them again.
func (r *renewal) lock(ctx context.Context, path string) (*renewedClient, error) {
	for ctx.Err() == nil {
		c := r.client()
		_, err := c.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if err == nil {
			return c, nil
		}
		select {
		case <-time.After(time.Second):
		case <-c.replaced:
		case <-ctx.Done():
		}
	}
	return nil, ctx.Err()
}

// renewing returns a lock whose processes open a client after every disconnect. A holder that
// trusts believes that it still has the lock when its second client has a session. The function
// opens a client and waits for its session.
func renewing(trusts bool, open func(*scenarios.Process) (furtherClient, error),
) scenarios.Subject {
	return scenarios.Subject{
		Name: "renewing", Claims: []history.Property{history.ClientMutualExclusion},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			connect := func() (furtherClient, error) { return open(p) }
			r, path := &renewal{connect: connect}, p.Directory+"/node"
			if err := r.open(); err != nil {
				return nil, err
			}
			return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
				c, err := r.lock(ctx, path)
				if err != nil {
					return nil, err
				}
				hold := &scenarios.Hold{Done: c.lost, Unlock: func(context.Context) error {
					select {
					case <-c.lost:
						return errors.New("the session of the lock is lost")
					default:
						return c.Delete(path, -1)
					}
				}}
				if trusts {
					hold.Done = nil
					hold.Unlock = func(context.Context) error {
						return r.client().Delete(path, -1)
					}
				}
				return hold, nil
			}), nil
		},
	}
}

// A process may open a client while it has others. Its connections are open at the same time, each
// with its own messages, and a repeated schedule yields the same history.
func TestDialedClientsAtOnce(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the client")
	}
	runner, struck := engine.NewRunner(t), map[string]bool{}
	for _, servers := range []int{1, 3} {
		scenario := scenarios.Scenario{
			Subject: renewing(false, openDialed), Clients: 2, Cycles: 2,
			Faults: faults.Of(faults.Any, 3), Client: scenarios.Dialed, Servers: servers,
		}
		further := false
		for schedule := range map[int]int{1: 100, 3: 40}[servers] {
			first := runner.Run(&scenario, strategy.NewRandom(5, schedule))
			if len(first.Violations) > 0 {
				t.Fatalf("%d servers, schedule %d: %s", servers, schedule,
					first.Describe(&scenario))
			}
			several := slices.ContainsFunc(first.Events, func(e history.Event) bool {
				return e.Connection > 1 && e.Kind == history.Reply && e.Zxid > 0
			})
			further = further || several
			for _, e := range first.Events {
				if several && e.Name != "" {
					struck[e.Name] = true
				}
			}
			if schedule%long.Count(4, 1) > 0 {
				continue
			}
			hash := first.TraceHash
			if again := runner.Run(&scenario, strategy.NewRandom(5, schedule)); again.TraceHash != hash {
				t.Fatalf("%d servers, schedule %d: trace hashes %x and %x", servers, schedule,
					hash, again.TraceHash)
			}
		}
		if !further {
			t.Errorf("%d servers: no process has had two connections", servers)
		}
	}
	for _, kind := range []faults.Kind{faults.Cut, faults.LoseReply, faults.Expire, faults.Crash} {
		if !struck[kind.String()] {
			t.Errorf("no %v where a process has two connections", kind)
		}
	}
}

// A lock whose holder trusts its second session, while its node belongs to the first, is found.
func TestDialedSecondSession(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the client")
	}
	scenario := scenarios.Scenario{
		Subject: renewing(true, openDialed), Clients: 2, Cycles: 1, Client: scenarios.Dialed,
		Faults: faults.Of(faults.Any, 1),
	}
	runner := engine.NewRunner(t)
	for schedule := range 300 {
		result := runner.Run(&scenario, strategy.NewRandom(1, schedule))
		if !result.Fails(&scenario) {
			continue
		}
		if got := result.Violations[0].Property; got != history.ClientMutualExclusion {
			t.Errorf("schedule %d breaks %v", schedule, got)
		}
		return
	}
	t.Error("no schedule fails")
}

// The servers refuse the connections of a process beyond the limit.
func TestDialedConnectionsMax(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the client")
	}
	subject := renewing(false, openDialed)
	open := subject.Open
	subject.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		for range real.ConnectionsMax {
			go func() { _, _ = openClient(p) }()
		}
		return open(p)
	}
	scenario := scenarios.Scenario{
		Subject: subject, Clients: 1, Cycles: 1, Client: scenarios.Dialed,
	}
	result := engine.NewRunner(t).Run(&scenario, &engine.Replay{})
	most := int32(0)
	for _, e := range result.Events {
		most = max(most, e.Connection)
	}
	if most != real.ConnectionsMax {
		t.Errorf("the highest connection is %d, want %d", most, real.ConnectionsMax)
	}
}
