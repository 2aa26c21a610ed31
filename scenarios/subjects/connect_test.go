package subjects_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// openFurther opens a further client of the kind of the scenario and waits for its session.
func openFurther(p *scenarios.Process) (furtherClient, error) {
	c, err := p.Connect()
	if err != nil {
		return nil, err
	}
	for e := range c.Events() {
		if e.State == zk.StateHasSession {
			return c, nil
		}
	}
	return nil, errors.New("the client is closed")
}

// A process may open clients of the model while it has others: faults strike processes that have,
// sessions that are given up expire, and a repeated schedule yields the same history.
func TestConnect(t *testing.T) {
	runner, struck := engine.NewRunner(t), map[string]bool{}
	for _, servers := range []int{1, 3} {
		scenario := scenarios.Scenario{
			Subject: renewing(false, openFurther), Clients: 2, Cycles: 2,
			Faults: faults.Of(faults.Any, 3), Servers: servers,
		}
		expired := false
		for schedule := range long.Count(40, 100) {
			first := runner.Run(&scenario, strategy.NewRandom(5, schedule))
			if len(first.Violations) > 0 {
				t.Fatalf("%d servers, schedule %d: %s", servers, schedule,
					first.Describe(&scenario))
			}
			newest := map[int32]int64{} // session of each process
			for _, e := range first.Events {
				switch e.Kind {
				case history.SessionOpened:
					newest[e.Process] = e.Session
				case history.SessionExpired:
					expired = expired || newest[e.Process] != e.Session
				case history.Fault:
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
		if !expired {
			t.Errorf("%d servers: no session has expired after the process began another", servers)
		}
	}
	for _, kind := range []faults.Kind{
		faults.Cut, faults.LoseReply, faults.Expire, faults.Crash, faults.Pause, faults.StallReplies,
	} {
		if !struck[kind.String()] {
			t.Errorf("no %v", kind)
		}
	}
}

// A lock whose holder trusts its second session, while its node belongs to the first, is found.
func TestConnectSecondSession(t *testing.T) {
	scenario := scenarios.Scenario{
		Subject: renewing(true, openFurther), Clients: 2, Cycles: 1,
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

// A client that is closed makes room for another. Its session ends, and beyond the limit of clients
// at a time, Connect fails.
func TestConnectionsMax(t *testing.T) {
	subject := scenarios.Subject{
		Name: "connects", Claims: []history.Property{history.NoSpuriousFailure},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			return scenarios.Mutex(func() error { return connectOften(p) },
				func() error { return nil }), nil
		},
	}
	for _, kind := range []scenarios.ClientKind{scenarios.Model, scenarios.Real} {
		if kind == scenarios.Real && real.RaceDetector {
			continue
		}
		scenario := scenarios.Scenario{
			Subject: subject, Clients: 1, Cycles: 1, Client: kind,
		}
		result := engine.NewRunner(t).Run(&scenario, &engine.Replay{})
		if len(result.Violations) > 0 {
			t.Fatal(result.Describe(&scenario))
		}
		most, closed := int32(0), 0
		for _, e := range result.Events {
			most = max(most, e.Connection)
			if e.Kind == history.SessionClosed {
				closed++
			}
		}
		if most != model.ConnectionsMax || closed < 20 {
			t.Errorf("client %v: the highest connection is %d, %d sessions are closed", kind, most,
				closed)
		}
	}
}

// connectOften opens and closes clients one after the other, and then opens as many as it may have.
func connectOften(p *scenarios.Process) error {
	for range 20 {
		c, err := openFurther(p)
		if err != nil {
			return err
		}
		c.Close()
	}
	for range model.ConnectionsMax - 1 {
		if _, err := openFurther(p); err != nil {
			return err
		}
	}
	if _, err := p.Connect(); err == nil {
		return errors.New("there is no limit")
	}
	return nil
}

// Threads share the client of their process.
func TestConnectOfThreads(t *testing.T) {
	subject := scenarios.Subject{
		Name: "connects", Claims: []history.Property{history.NoSpuriousFailure},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			_, err := p.Connect()
			return nil, err
		},
	}
	scenario := scenarios.Scenario{
		Subject: subject, Clients: 1, Cycles: 1, Threads: 2,
	}
	result := engine.NewRunner(t).Run(&scenario, &engine.Replay{})
	if !slices.ContainsFunc(result.Events, func(e history.Event) bool {
		return strings.Contains(e.Err, "threads share the client of their process")
	}) {
		t.Errorf("no error:\n%s", result.Describe(&scenario))
	}
}

// The same decisions yield the same events of each connection, and the same of each lock, with
// further clients of the model and of the library. What a step does on several connections, and what
// the code does in reaction, may come in another order, and requests have other numbers then.
func TestConnectOfBothClients(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the real client")
	}
	runner, several := engine.NewRunner(t), 0
	for _, servers := range []int{1, 3} {
		scenario := scenarios.Scenario{
			Subject: renewing(false, openFurther), Clients: 2, Cycles: 2,
			Servers: servers, Faults: planForBothClients(1),
		}
		for schedule := range long.Count(20, 40) {
			scenario.Client = scenarios.Model
			result := runner.Run(&scenario, strategy.NewRandom(3, schedule))
			model := eventsByConnection(withoutTimeJump(result.Events))
			scenario.Client = scenarios.Real
			result = runner.Run(&scenario, strategy.NewRandom(3, schedule))
			library := eventsByConnection(result.Events)
			for of := range library {
				if of.connection > 1 {
					several++
				}
				if !slices.Equal(model[of], library[of]) {
					t.Errorf("%v, schedule %d: %+v has\n%+v\nwith the library\n%+v", &scenario,
						schedule, of, model[of], library[of])
				}
			}
			if t.Failed() || len(model) != len(library) {
				t.Fatalf("%d sequences of events, with the library %d", len(model), len(library))
			}
		}
	}
	if several < long.Count(40, 80) {
		t.Errorf("only %d further connections", several)
	}
}

// An origin is where events come from.
type origin struct {
	process, connection int32
	lock                bool // the code under test, and no client
}

func eventsByConnection(events []history.Event) map[origin][]history.Event {
	by := make(map[origin][]history.Event)
	for _, e := range events {
		of := origin{e.Process, e.Connection, e.Kind <= history.Finished}
		e.Request = 0
		by[of] = append(by[of], e)
	}
	return by
}
