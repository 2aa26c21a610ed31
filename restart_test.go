package interlock_test

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// A cleaningLock is a queue whose nodes name their makers. A process that replaces another deletes
// the node that the other has left, instead of waiting until its session expires.
type cleaningLock struct {
	*scenarios.Process
	own string
}

// openCleaning opens the lock. The function returns the data of the nodes of a process.
func openCleaning(owner func(host string, pid int) string) func(*scenarios.Process) (
	scenarios.Locker, error,
) {
	return func(p *scenarios.Process) (scenarios.Locker, error) {
		l := &cleaningLock{Process: p}
		if p.Replacement() {
			if err := l.clean(owner(p.Host, p.PID-1)); err != nil {
				return nil, err
			}
		}
		return scenarios.Mutex(func() error { return l.lock(owner(p.Host, p.PID)) },
			func() error { return p.Client.Delete(l.own, -1) }), nil
	}
}

// clean deletes the nodes of a maker.
func (l *cleaningLock) clean(maker string) error {
	names, _, err := l.Client.Children(l.Directory)
	if err != nil {
		return err
	}
	for _, name := range names {
		node := l.Directory + "/" + name
		data, _, err := l.Client.Get(node)
		if err == nil && string(data) == maker {
			err = l.Client.Delete(node, -1)
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	return nil
}

func (l *cleaningLock) lock(maker string) (err error) {
	l.own, err = l.Client.Create(l.Directory+"/n-", []byte(maker),
		zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	for err == nil {
		var names []string
		var changes <-chan zk.Event
		if names, _, changes, err = l.Client.ChildrenW(l.Directory); err != nil {
			break
		}
		if len(names) > 0 && slices.Min(names) == path.Base(l.own) {
			return nil
		}
		<-changes
	}
	return err
}

// violates reports whether any of 150 schedules violates client-mutual-exclusion.
func violates(t *testing.T, owner func(host string, pid int) string, client scenarios.ClientKind,
) bool {
	scenario := scenarios.Scenario{
		Clients: 2, Cycles: 1, Faults: faults.MustParse("restart=1"), Client: client,
		Subject: scenarios.Subject{
			Name: "cleaning", Claims: []history.Property{history.ClientMutualExclusion},
			Open: openCleaning(owner),
		},
	}.Resolved()
	runner, replaced := engine.NewRunner(t), 0
	for schedule := range 150 {
		result := runner.Run(&scenario, strategy.NewRandom(1, schedule))
		if result.Fails(&scenario) {
			if result.Violations[0].Property != history.ClientMutualExclusion {
				t.Fatal(result.Describe(&scenario))
			}
			return true
		}
		if slices.ContainsFunc(result.Events, func(e history.Event) bool { return e.Process > 2 }) {
			replaced++
		}
	}
	if replaced == 0 {
		t.Error("no process is replaced")
	}
	return false
}

// A process that replaces another knows the host and the PID of the other, and may delete its
// nodes. A lock that goes by the PID alone deletes nodes of processes on other hosts.
func TestReplacementDeletesStaleNodes(t *testing.T) {
	for _, client := range []scenarios.ClientKind{scenarios.Model, scenarios.Real} {
		if client == scenarios.Real && real.RaceDetector {
			continue
		}
		if violates(t, func(host string, pid int) string {
			return fmt.Sprintf("%s:%d", host, pid)
		}, client) {
			t.Errorf("client %d: a lock that goes by host and PID fails", client)
		}
		if !violates(t, func(_ string, pid int) string { return fmt.Sprint(pid) }, client) {
			t.Errorf("client %d: the fault of a lock that goes by the PID alone is not found", client)
		}
	}
}
