// Package costs measures what the founding documents say of the costs of locks. Its tests print
// the tables of docs/costs.md and verify what the page says.
package costs

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// ensembles are the numbers of servers of the tables.
var ensembles = []int{1, 3, 5, 7}

// A cost is what one process causes.
type cost struct {
	requests   int // to any server
	roundTrips int // one after another; a request before the reply to another adds none
	messages   int // between the process and the servers, and between servers
	leader     int // of these, those that the leader sends or receives
}

func (c cost) minus(other cost) cost {
	return cost{
		c.requests - other.requests, c.roundTrips - other.roundTrips,
		c.messages - other.messages, c.leader - other.leader,
	}
}

// measure counts the messages in a history of one process, which is connected to a follower if the
// ensemble has several servers. The follower forwards a write to the leader. Each follower applies
// it after a proposal, an acknowledgement and a commit (Junqueira, Reed and Serafini, DSN 2011).
func measure(events []history.Event, servers int) (c cost) {
	waiting := false // since the last reply a request has left
	for i := range events {
		own, between := 0, 0
		switch events[i].Kind {
		case history.Send, history.Command:
			own = 1
			c.requests++
			if !waiting {
				c.roundTrips++
			}
			waiting = true
		case history.Reply, history.Answer:
			own = 1
			waiting = false
		case history.NodeCreated, history.NodeDeleted:
			between = min(1, servers-1)
		case history.Applied:
			between = 3
		}
		c.messages += own + between
		c.leader += between
		if servers == 1 {
			c.leader += own
		}
	}
	return c
}

// run performs the schedule of a strategy. If it is cut off, whole is false.
func run(t *testing.T, subject scenarios.Subject, clients, cycles, servers int,
	strategy engine.Strategy,
) (events []history.Event, whole bool) {
	t.Helper()
	scenario := locktest.Planned(t, subject, clients, cycles, "crash=1")
	scenario.Servers = servers
	if scenario.Subject.Real {
		scenario.Client = engine.Real
	}
	if err := scenario.Validate(); err != nil {
		t.Fatal(err)
	}
	r := engine.NewRunner(t).Run(&scenario, strategy)
	if r.Panic != "" {
		t.Fatalf("%v: %s", &scenario, r.Panic)
	}
	return r.Events, !r.CutOff
}

// costOf returns what a further cycle of a process costs that has the lock for itself.
func costOf(t *testing.T, subject scenarios.Subject, servers int) cost {
	t.Helper()
	before, whole := run(t, subject, 1, 2, servers, undisturbed{})
	after, wholeToo := run(t, subject, 1, 3, servers, undisturbed{})
	if !whole || !wholeToo {
		t.Fatalf("%s on %d servers is cut off", subject.Name, servers)
	}
	return measure(after, servers).minus(measure(before, servers))
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

// undisturbed takes the steps of the default policy.
type undisturbed struct{}

func (undisturbed) Choose(_ int, _ []sim.EnabledStep, defaultIndex int) int { return defaultIndex }

// allWait keeps processes in their critical sections until all others wait.
type allWait struct{}

func (allWait) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	if enabled[defaultIndex].Kind != sim.Leave {
		return defaultIndex
	}
	oldest := defaultIndex
	for i := range enabled {
		switch enabled[i].Kind {
		case sim.Serve, sim.Deliver, sim.Enter:
			if oldest == defaultIndex || enabled[i].Age < enabled[oldest].Age {
				oldest = i
			}
		}
	}
	return oldest
}

// crashHolder crashes the first process that is in its critical section.
type crashHolder struct{}

func (crashHolder) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	for i := range enabled {
		for k := range enabled {
			if enabled[i].Kind == sim.Fault && enabled[i].Fault == faults.Crash &&
				enabled[k].Kind == sim.Leave && enabled[k].Process == enabled[i].Process {
				return i
			}
		}
	}
	return defaultIndex
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
		table.add(servers, r.messages, r.leader, w.messages, w.leader)
		followers := servers - 1
		if r.messages != 2 || servers > 1 && r.leader != 0 {
			t.Errorf("a read on %d servers: %+v", servers, r)
		}
		if servers > 1 && (w.messages != 3+3*followers || w.leader != 1+3*followers) {
			t.Errorf("a write on %d servers: %+v", servers, w)
		}
	}
	table.log(t)
}

// An acquisition with its release, by a process that has the lock for itself.
func TestAcquisitions(t *testing.T) {
	table := newTable("lock", "requests", "round trips", "messages on 1 server", "3", "5", "7")
	costs := make(map[string]cost)
	for _, name := range []string{
		"mutex", "zk-lock", "zk-predecessor", "java-zklock", "curator", "redlock",
	} {
		var messages []any
		for _, servers := range ensembles {
			messages = append(messages, costOf(t, locktest.Named(t, name), servers).messages)
		}
		costs[name] = costOf(t, locktest.Named(t, name), 1)
		table.add(append([]any{name, costs[name].requests, costs[name].roundTrips}, messages...)...)
	}
	// These locks use one server.
	for _, name := range []string{
		"setnx-lease", "setnx-fenced", "unique-index", "unique-index-fenced",
	} {
		costs[name] = costOf(t, locktest.Named(t, name), 1)
		table.add(name, costs[name].requests, costs[name].roundTrips, costs[name].messages)
	}
	table.log(t)
	for _, name := range []string{"zk-lock", "zk-predecessor", "java-zklock", "curator"} {
		if costs[name].roundTrips <= costs["setnx-lease"].roundTrips {
			t.Errorf("%s takes no more round trips than setnx-lease", name)
		}
	}
	if costs["mutex"].roundTrips != costs["setnx-lease"].roundTrips {
		t.Errorf("mutex: %+v, setnx-lease: %+v", costs["mutex"], costs["setnx-lease"])
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
			events, _ := run(t, locktest.Named(t, name), clients, 1, 1, allWait{})
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
		events, whole := run(t, locktest.Named(t, tc.name), 2, 2, 1, crashHolder{})
		delay, granted := recovery(events)
		if granted != tc.recovers || granted != whole {
			t.Errorf("%s is granted again: %t; the run ends: %t", tc.name, granted, whole)
		}
		if granted {
			table.add(tc.name, delay.Seconds())
		} else {
			table.add(tc.name, fmt.Sprintf("none in %.0f", delay.Seconds()))
		}
	}
	table.log(t)
}

// recovery returns the time from the crash to the next grant, or to the end of the history.
func recovery(events []history.Event) (delay time.Duration, granted bool) {
	crashed := slices.IndexFunc(events, func(e history.Event) bool {
		return e.Kind == history.Crashed
	})
	for _, e := range events[crashed:] {
		delay = e.At - events[crashed].At
		if e.Kind == history.LockReturn && e.Err == "" {
			return delay, true
		}
	}
	return delay, false
}
