package subjects_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client/real"
	"github.com/interlock-sim/interlock/simzk/dial"
)

// An ownClient is a client that the code of a process has opened itself.
type ownClient struct {
	*zk.Conn
	events <-chan zk.Event
	// keep keeps the end of the run from closing the client, and reports whether it was in time.
	keep func() bool
}

// Close closes the client unless the run is over: a second Close would block on a mutex.
func (c ownClient) Close() {
	if c.keep() {
		c.Conn.Close()
	}
}

func (c ownClient) Events() <-chan zk.Event { return c.events }

// An ordered host provider keeps the order of its servers, which the library shuffles.
type ordered struct {
	servers    []string
	next, last int
}

func (o *ordered) Init([]string) error { return nil }
func (o *ordered) Len() int            { return len(o.servers) }
func (o *ordered) Connected()          { o.last = o.next }

func (o *ordered) Next() (server string, retryStart bool) {
	o.next = (o.next + 1) % len(o.servers)
	return o.servers[o.next], o.next == o.last
}

// connect makes a client as a program does that knows only the servers' addresses. The library is
// not patched: its dialer asks package dial.
func connect(p *scenarios.Process) ownClient {
	servers := strings.Split(p.Address(), ",")
	conn, events, err := zk.Connect(servers, time.Minute, zk.WithLogger(silent{}),
		zk.WithHostProvider(&ordered{servers: servers, next: -1}),
		zk.WithMaxBufferSize(1<<16), zk.WithMaxConnBufferSize(1<<16),
		zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			return dial.Dial(net.DialTimeout, network, address, timeout)
		}))
	if err != nil {
		panic(err)
	}
	return ownClient{conn, events, context.AfterFunc(p.Context(), conn.Close)}
}

// openClient makes a client and waits for its session.
func openClient(p *scenarios.Process) (ownClient, error) {
	client := connect(p)
	for e := range client.events {
		if e.State == zk.StateHasSession {
			return client, nil
		}
	}
	return ownClient{}, errors.New("the client is closed")
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// dialed returns a lock whose processes open their clients themselves.
func dialed(lock scenarios.Subject) scenarios.Subject {
	open := lock.Open
	lock.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		client, err := openClient(p)
		if err != nil {
			return nil, err
		}
		own := *p
		own.Client = client
		return open(&own)
	}
	return lock
}

// A correct lock on clients that the processes open themselves passes under all faults, on one
// server and on three, and a repeated schedule yields the same history.
func TestDialedClients(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the client")
	}
	runner := engine.NewRunner(t)
	for _, servers := range []int{1, 3} {
		scenario := scenarios.Scenario{
			Subject: dialed(subjects.Textbook()), Clients: 3, Cycles: 2,
			Faults: faults.Of(faults.Any, 3), Client: scenarios.Dialed, Servers: servers,
		}
		struck := map[string]bool{}
		for schedule := range long.Count(60, 150) {
			first := runner.Run(&scenario, strategy.NewRandom(7, schedule))
			if len(first.Violations) > 0 {
				t.Fatalf("%d servers, schedule %d: %s", servers, schedule,
					first.Describe(&scenario))
			}
			hash := first.TraceHash
			for _, e := range first.Events {
				if e.Name != "" {
					struck[e.Name] = true
				}
			}
			second := runner.Run(&scenario, strategy.NewRandom(7, schedule)).TraceHash
			if hash != second {
				t.Fatalf("%d servers, schedule %d: trace hashes %x and %x", servers, schedule,
					hash, second)
			}
		}
		for _, kind := range []faults.Kind{faults.Cut, faults.LoseReply, faults.Expire, faults.Crash} {
			if !struck[kind.String()] {
				t.Errorf("%d servers: no %v", servers, kind)
			}
		}
	}
}

// A broken lock on clients that the processes open themselves is found.
func TestDialedClientsOfBrokenLock(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the client")
	}
	scenario := scenarios.Scenario{
		Subject: dialed(subjects.ExistsThenWait()), Clients: 2, Cycles: 1,
		Client: scenarios.Dialed,
	}
	runner := engine.NewRunner(t)
	for schedule := range 300 {
		if runner.Run(&scenario, strategy.NewRandom(1, schedule)).Fails(&scenario) {
			return
		}
	}
	t.Error("no schedule fails")
}

// A process may close its client and open another.
func TestDialedClientOpenedAgain(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the client")
	}
	lock := subjects.Textbook()
	open, times := lock.Open, 0
	lock.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
			times++
			client, err := openClient(p)
			if err != nil {
				return nil, err
			}
			own := *p
			own.Client = client
			locker, err := open(&own)
			if err != nil {
				return nil, err
			}
			hold, err := locker.Lock(ctx)
			if err != nil {
				client.Close()
				return nil, err
			}
			unlock := hold.Unlock
			hold.Unlock = func(ctx context.Context) error {
				defer client.Close()
				return unlock(ctx)
			}
			return hold, nil
		}), nil
	}
	scenario := scenarios.Scenario{
		Subject: lock, Clients: 2, Cycles: 3, Faults: faults.Of(faults.Any, 1),
		Client: scenarios.Dialed,
	}
	runner := engine.NewRunner(t)
	for schedule := range long.Count(60, 200) {
		result := runner.Run(&scenario, strategy.NewRandom(3, schedule))
		if len(result.Violations) > 0 {
			t.Fatalf("schedule %d: %s", schedule, result.Describe(&scenario))
		}
	}
	if times < long.Count(300, 1000) {
		t.Errorf("only %d clients were opened", times)
	}
}

// An Open that gives up when its client loses the connection costs an attempt. It is no mistake in
// the scenario, because a fault has struck.
func TestDialedOpenGivesUp(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the client")
	}
	lock := subjects.Textbook()
	open := lock.Open
	lock.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		client := connect(p)
		for e := range client.events {
			switch e.State {
			case zk.StateHasSession:
				own := *p
				own.Client = client
				return open(&own)
			case zk.StateDisconnected:
				client.Close()
			}
		}
		return nil, errors.New("no session")
	}
	scenario := scenarios.Scenario{
		Subject: lock, Clients: 2, Cycles: 2, Faults: faults.Of(faults.Any, 2),
		Client: scenarios.Dialed,
	}
	runner, failed := engine.NewRunner(t), 0
	for schedule := range 100 {
		result := runner.Run(&scenario, strategy.NewRandom(3, schedule))
		if len(result.Violations) > 0 {
			t.Fatalf("schedule %d: %s", schedule, result.Describe(&scenario))
		}
		for _, e := range result.Events {
			if e.Err == "Subject.Open fails: no session" {
				failed++
			}
		}
	}
	if failed == 0 {
		t.Error("no Open fails")
	}
}
