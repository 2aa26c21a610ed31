package costs_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/judge/costs"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
)

// ensembles are the numbers of servers of the tables.
var ensembles = []int{1, 3, 5, 7}

// scenarioOf returns a scenario of a lock without faults.
func scenarioOf(t *testing.T, subject scenarios.Subject, clients, cycles, servers int,
) *scenarios.Scenario {
	t.Helper()
	scenario := locktest.Planned(t, subject, clients, cycles, "none")
	scenario.Servers = max(servers, subject.Servers)
	if scenario.Subject.Real {
		scenario.Client = scenarios.Real
	}
	if err := scenario.Validate(); err != nil {
		t.Fatal(err)
	}
	return &scenario
}

// costOf returns what a further cycle of a process costs that has the lock for itself.
func costOf(t *testing.T, subject scenarios.Subject, servers int) costs.Cost {
	t.Helper()
	scenario := scenarioOf(t, subject, 1, 1, servers)
	cost, err := costs.Cycle(engine.NewRunner(t), *scenario)
	if err != nil {
		t.Fatal(err)
	}
	return cost
}

// A table is text in columns.
type table struct {
	text bytes.Buffer
	w    *tabwriter.Writer
}

func newTable(header ...any) *table {
	t := new(table)
	t.w = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	t.add(header...)
	return t
}

func (t *table) add(cells ...any) {
	fmt.Fprintf(t.w, strings.TrimSuffix(strings.Repeat("%v\t", len(cells)), "\t")+"\n", cells...)
}

func (t *table) log(to *testing.T) {
	to.Helper()
	t.w.Flush()
	to.Output().Write(t.text.Bytes())
}

// operation is no lock: each cycle performs one operation.
func operation(name string, perform func(p *scenarios.Process) error) scenarios.Subject {
	return locktest.Subject(name, func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			return &scenarios.Hold{Unlock: locktest.Free}, perform(p)
		}
	})
}

// More servers serve more reads and fewer writes: a read costs as much as ever, and any server
// serves it; a write costs the leader more with each follower.
func TestReadsAndWrites(t *testing.T) {
	read := operation("read", func(p *scenarios.Process) error {
		_, _, err := p.Client.Get(p.Directory)
		return err
	})
	write := operation("write", func(p *scenarios.Process) error {
		_, err := p.Client.Create(p.Directory+"/", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
		return err
	})
	table := newTable("servers", "messages of a read", "at the leader", "messages of a write",
		"at the leader")
	for _, servers := range ensembles {
		r, w := costOf(t, read, servers), costOf(t, write, servers)
		table.add(servers, r.Messages, r.Leader, w.Messages, w.Leader)
		followers := servers - 1
		if r.Messages != 2 || servers > 1 && r.Leader != 0 {
			t.Errorf("a read on %d servers: %+v", servers, r)
		}
		if servers > 1 && (w.Messages != 3+3*followers || w.Leader != 1+3*followers) {
			t.Errorf("a write on %d servers: %+v", servers, w)
		}
	}
	table.log(t)
}

// An acquisition with its release, by a process that has the lock for itself.
func TestAcquisitions(t *testing.T) {
	table := newTable("lock", "requests", "round trips", "messages on 1 server", "3", "5", "7")
	measured := make(map[string]costs.Cost)
	for _, name := range []string{
		"mutex", "zk-lock", "zk-predecessor", "java-zklock", "curator", "redlock",
	} {
		var messages []any
		for _, servers := range ensembles {
			messages = append(messages, costOf(t, locktest.Find(t, name, bundled.All()), servers).Messages)
		}
		measured[name] = costOf(t, locktest.Find(t, name, bundled.All()), 1)
		table.add(append([]any{name, measured[name].Requests, measured[name].RoundTrips}, messages...)...)
	}
	// These locks use one server.
	for _, name := range []string{
		"setnx-lease", "setnx-fenced", "unique-index", "unique-index-fenced",
	} {
		measured[name] = costOf(t, locktest.Find(t, name, bundled.All()), 1)
		table.add(name, measured[name].Requests, measured[name].RoundTrips, measured[name].Messages)
	}
	table.log(t)
	for _, name := range []string{"zk-lock", "zk-predecessor", "java-zklock", "curator"} {
		if measured[name].RoundTrips <= measured["setnx-lease"].RoundTrips {
			t.Errorf("%s takes no more round trips than setnx-lease", name)
		}
	}
	if measured["mutex"].RoundTrips != measured["setnx-lease"].RoundTrips {
		t.Errorf("mutex: %+v, setnx-lease: %+v", measured["mutex"], measured["setnx-lease"])
	}
}

// If every contender watches the directory, a release wakes all of them.
func TestHerd(t *testing.T) {
	contenders := []int{2, 10, 50}
	table := newTable("lock", "woken by a release, 2 contenders", "10", "50")
	for _, name := range []string{"mutex", "zk-predecessor", "curator", "zk-herd"} {
		row := []any{name}
		for _, clients := range contenders {
			// The herd's requests exceed what a run allows; its first release does not.
			scenario := scenarioOf(t, locktest.Find(t, name, bundled.All()), clients, 1, 1)
			events := engine.NewRunner(t).Run(scenario, costs.AllWait{}).Events
			cost, _ := check.Measure(events, history.Limits{
				WakeUps: clients, Requests: math.MaxInt32,
			})
			want := 1
			if name == "zk-herd" {
				want = clients - 1
			}
			if cost.WakeUpsMax != want {
				t.Errorf("%s: a release wakes %d of %d contenders, not %d", name, cost.WakeUpsMax,
					clients, want)
			}
			row = append(row, cost.WakeUpsMax)
		}
		table.add(row...)
	}
	table.log(t)
}

// After a crash of its holder, a lock is free when a session or a key has expired, or never.
func TestRecovery(t *testing.T) {
	table := newTable("lock", "seconds from the crash of the holder to the next grant")
	for _, tc := range []struct {
		name     string
		recovers bool
	}{
		{"mutex", true},
		{"curator", true},
		{"setnx-lease", true},
		{"redlock", true},
		{"setnx", false},
		{"unique-index", false},
	} {
		scenario := scenarioOf(t, locktest.Find(t, tc.name, bundled.All()), 1, 1, 1)
		after := costs.Crash(engine.NewRunner(t), *scenario)
		if after.Granted != tc.recovers || after.Granted != after.Ends {
			t.Errorf("%s after the crash of its holder: %+v", tc.name, after)
		}
		if delay := after.Delay; after.Granted {
			table.add(tc.name, delay.Seconds())
		} else {
			table.add(tc.name, fmt.Sprintf("none in %.0f", delay.Seconds()))
		}
	}
	table.log(t)
}
