package shrink_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/binding"
	"github.com/interlock-sim/interlock/internal/campaign"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/shrink"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim"
)

var table = flag.Bool("table", false, "print the costs of shrinking")
var only = flag.String("only", "", "")

func TestTable(t *testing.T) {
	if !*table {
		t.Skip()
	}
	runtime.GOMAXPROCS(1)
	var names []string
	for _, d := range subjects.Defects() {
		names = append(names, d.Name)
	}
	names = append(names, "zk-lock")
	for _, name := range names {
		if *only != "" && name != *only {
			continue
		}
		subj, err := subjects.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		c := &campaign.Campaign{
			Seed: 1, Schedules: 20000, Workers: 1,
			Scenario: engine.Scenario{
				Subject: binding.Subject(subj), Clients: 3, Cycles: 2,
				Faults: faults.Default(),
			},
		}
		if c.Scenario.Subject.Real {
			c.Scenario.Client = engine.Real
		}
		r := c.Run(context.Background(), t)
		if r.Failure == nil {
			t.Errorf("%s not found", name)
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
		began := time.Now()
		sc, d, runs, sz := shrink.Counted(ctx, engine.NewRunner(t), c.Scenario, r.Failure.Deviations, r.Failure.Violations[0].Signature())
		cancel()
		took := time.Since(began)
		f, ticks, sw, last := 0, 0, 0, int32(0)
		lastTick := -2
		for _, x := range d {
			if x.Step.Kind == sim.Fault {
				f++
			}
			if x.Step.Kind == sim.Tick {
				if lastTick != x.Index-1 {
					ticks++
				}
				lastTick = x.Index
			} else if x.Step.Process != last {
				last = x.Step.Process
				sw++
			}
		}
		fmt.Fprintf(os.Stderr, "%-18s %6d %6.2f  f%d p%d c%d dev%d %v from %d %s\n", name, runs, took.Seconds(), f, sc.Clients, sc.Cycles, len(d), sz[4:6], len(r.Failure.Deviations), r.Failure.Violations[0].Signature())
		if len(d) < 12 {
			fmt.Fprintln(os.Stderr, "     ", sc.Faults, d)
		}
	}
}
