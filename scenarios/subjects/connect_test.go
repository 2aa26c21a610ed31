package subjects_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/conversion"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// openModel opens a further client of the model and waits for its session.
func openModel(p *scenarios.Process) (furtherClient, error) {
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
		scenario := engine.Scenario{
			Subject: conversion.Subject(renewing(false, openModel)), Clients: 2, Cycles: 2,
			Faults: faults.Plan{Any: 3}, Servers: servers,
		}
		expired := false
		for schedule := range 100 {
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
	scenario := engine.Scenario{
		Subject: conversion.Subject(renewing(true, openModel)), Clients: 2, Cycles: 1,
		Faults: faults.Plan{Any: 1},
	}
	runner := engine.NewRunner(t)
	for schedule := range 300 {
		result := runner.Run(&scenario, strategy.NewRandom(1, schedule))
		if !scenario.Fails(result) {
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
	scenario := engine.Scenario{Subject: conversion.Subject(subject), Clients: 1, Cycles: 1}
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
		t.Errorf("the highest connection is %d, %d sessions are closed", most, closed)
	}
}

// connectOften opens and closes clients one after the other, and then opens as many as it may have.
func connectOften(p *scenarios.Process) error {
	for range 20 {
		c, err := openModel(p)
		if err != nil {
			return err
		}
		c.Close()
	}
	for range model.ConnectionsMax - 1 {
		if _, err := openModel(p); err != nil {
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
	scenario := engine.Scenario{
		Subject: conversion.Subject(subject), Clients: 1, Cycles: 1, Threads: 2,
	}
	result := engine.NewRunner(t).Run(&scenario, &engine.Replay{})
	if !slices.ContainsFunc(result.Events, func(e history.Event) bool {
		return strings.Contains(e.Err, "threads share the client of their process")
	}) {
		t.Errorf("no error:\n%s", result.Describe(&scenario))
	}
}
