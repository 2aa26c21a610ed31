package sim_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/sim"
)

func TestStepNames(t *testing.T) {
	steps := []sim.Step{
		{Kind: sim.Tick},
		{Kind: sim.Fair},
		{Kind: sim.Before},
		{Kind: sim.After},
		{Kind: sim.Pass, For: 1500 * time.Millisecond},
		{Kind: sim.Shift, Process: sim.ExpiryTimer, Peer: 1},
		{Kind: sim.Shift, Process: sim.RelayTimer, Peer: sim.PhaseParts - 1},
		{Kind: sim.Shift, Process: 3, Peer: 16},
	}
	for _, kind := range []sim.StepKind{
		sim.Serve, sim.Deliver, sim.Enter,
		sim.Leave, sim.Heal,
	} {
		steps = append(steps, sim.Step{Kind: kind, Process: 12})
	}
	for kind := range faults.Kinds {
		step := sim.Step{Kind: sim.Fault, Fault: kind, Process: 3}
		switch kind.Strikes() {
		case faults.OneServer:
			step.Process = -3
		case faults.LinkToServer:
			step.Peer = 2
		case faults.LinkOfServers:
			step.Process, step.Peer = -1, 3
		}
		steps = append(steps, step)
	}
	steps = append(steps, sim.Step{Kind: sim.Apply, Process: -2},
		sim.Step{Kind: sim.Heal, Process: -1},
		sim.Step{Kind: sim.Heal, Process: 4, Peer: 2},
		sim.OnLink(sim.Serve, 2, 1), sim.OnLink(sim.Deliver, 12, 6), sim.Step{
			Kind:    sim.Heal,
			Process: -3, Peer: 2,
		},
		sim.Step{
			Kind: sim.Fault, Fault: faults.PartitionLinkOneway, Process: -3,
			Peer: 2,
		})
	for _, step := range steps {
		if got, err := sim.ParseStep(step.String()); err != nil || got != step {
			t.Errorf("ParseStep(%q) = %v, %v", step.String(), got, err)
		}
	}
	for _, name := range []string{
		"", "tick c1", "fair c1", "serve", "serve c", "serve c0", "serve c-1", "serve cx",
		"serve c101",
		"dance c1", "servec1", "cut s1", "cut c1-s1", "kill-server c1",
		"kill-server s1-s2", "partition-link s1", "partition-link s3-s1", "partition-link s1-s1",
		"partition-link c1-s2", "partition-link-oneway s1-c1", "partition-link-oneway s1-s8",
		"unreachable c1",
		"shift", "shift expiry", "shift expiry 0", "shift c1 64", "shift c1.2 3", "shift s1 3",
		"after c1",
		"unreachable s1-s2", "heal s1-s1", "heal c1-", "serve s1-s2", "enter c1-s1", "log s1-s2",
	} {
		if step, err := sim.ParseStep(name); err == nil {
			t.Errorf("ParseStep(%q) = %v, want an error", name, step)
		}
	}
}
