package interlock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/scenarios"
)

// Contend is for code that opens its own client. This test gives it the model client instead, so
// that it runs without the command interlock test. A function that excludes nobody is found, unless
// it returns an error with its hold.
func TestContend(t *testing.T) {
	excludes, failure := true, error(nil)
	var mu sync.Mutex // The race detector sees no order among processes.
	called := make(map[string]bool)
	scenario := scenarios.Contend("node", func(p *scenarios.Process) (*scenarios.Hold, error) {
		mu.Lock()
		called[p.Name()] = true
		mu.Unlock()
		lock := &nodeLock{client: p.Client, path: p.Directory + "/node"}
		if !excludes {
			return scenarios.Held(func() {}, nil), failure
		}
		if err := lock.Lock(); err != nil {
			return nil, err
		}
		return scenarios.Held(lock.Unlock, nil), nil
	})
	if scenario.Client != scenarios.Dialed || scenario.Clients != 3 || scenario.Faults != faults.Of(faults.Any, 1) {
		t.Errorf("Contend returns %+v", scenario)
	}
	scenario.Client, scenario.Faults = scenarios.Model, faults.Plan{}
	if test := runRapid(t, scenario); test.failed {
		t.Errorf("the lock fails: %s", test.log.String())
	}
	if len(called) != 3 || !called["c1"] || !called["c3"] {
		t.Errorf("the processes that called are %v", called)
	}
	excludes = false
	if log := runRapid(t, scenario).log.String(); !strings.Contains(log,
		"client-mutual-exclusion: a process entered its critical section") {
		t.Errorf("the lock excludes nobody, and that is not found:\n%s", log)
	}
	failure = errors.New("not acquired")
	if test := runRapid(t, scenario); test.failed {
		t.Errorf("a failed attempt enters the critical section: %s", test.log.String())
	}
}

// Unlock of a hold calls the function, and Done is the channel.
func TestHeld(t *testing.T) {
	lost := make(chan struct{})
	hold := scenarios.Held(func(context.Context) error { return zk.ErrNoNode }, lost)
	if err := hold.Unlock(t.Context()); !errors.Is(err, zk.ErrNoNode) || hold.Done != lost {
		t.Errorf("Unlock returns %v, and Done is %v", err, hold.Done)
	}
}
