package faults_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/faults"
)

// A targeted fault is allowed only at its target, which depends on who leads at the time.
func TestTargets(t *testing.T) {
	const c1, c2 = 1, 2
	for _, tc := range []struct {
		plan   string
		kind   faults.Kind
		at     faults.Place
		phase  faults.Phase
		allows bool
	}{
		{"cut:c1=1", faults.Cut, faults.Place{Client: c1}, faults.Holding, true},
		{"cut:c1=1", faults.Cut, faults.Place{Client: c2}, faults.Holding, false},
		{"cut:c1=1", faults.LoseReply, faults.Place{Client: c1}, faults.Holding, false},
		{"cut:c1@hold=1", faults.Cut, faults.Place{Client: c1}, faults.Waiting, false},
		{"cut:c1@hold=1", faults.Cut, faults.Place{Client: c1}, faults.Holding, true},
		{
			"kill-server:s2=1", faults.KillServer,
			faults.Place{Server: 2, Leader: 3},
			faults.Idle,
			true,
		},
		{
			"kill-server:s2=1", faults.KillServer,
			faults.Place{Server: 3, Leader: 3},
			faults.Idle,
			false,
		},
		{
			"kill-server:leader=1", faults.KillServer,
			faults.Place{Server: 3, Leader: 3},
			faults.Idle,
			true,
		},
		{
			"kill-server:leader=1", faults.KillServer,
			faults.Place{Server: 2, Leader: 3},
			faults.Idle,
			false,
		},
		{"kill-server:leader=1", faults.KillServer, faults.Place{Server: 2}, faults.Idle, false},
		{
			"kill-server:follower=1", faults.KillServer,
			faults.Place{Server: 2, Leader: 3},
			faults.Idle,
			true,
		},
		{
			"kill-server:follower=1", faults.KillServer,
			faults.Place{Server: 3, Leader: 3},
			faults.Idle,
			false,
		},
		{
			"unreachable:c1=1", faults.Unreachable,
			faults.Place{Client: c1, Server: 2, Leader: 3},
			faults.Waiting, true,
		},
		{
			"unreachable:c1=1", faults.Unreachable,
			faults.Place{Client: c2, Server: 2, Leader: 3},
			faults.Waiting, false,
		},
		{
			"unreachable:leader=1", faults.Unreachable,
			faults.Place{Client: c2, Server: 3, Leader: 3},
			faults.Waiting, true,
		},
		{
			"unreachable:leader=1", faults.Unreachable,
			faults.Place{Client: c2, Server: 2, Leader: 3},
			faults.Waiting, false,
		},
		{
			"unreachable:leader-c1=1", faults.Unreachable,
			faults.Place{Client: c1, Server: 3, Leader: 3},
			faults.Waiting, true,
		},
		{
			"unreachable:leader-c1=1", faults.Unreachable,
			faults.Place{Client: c1, Server: 2, Leader: 3},
			faults.Waiting, false,
		},
		{
			"unreachable:leader-c1=1", faults.Unreachable,
			faults.Place{Client: c2, Server: 3, Leader: 3},
			faults.Waiting, false,
		},
		{
			"partition-link:s3-s1=1", faults.PartitionLink,
			faults.Place{Server: 1, Peer: 3, Leader: 3},
			faults.Idle, true,
		},
		{
			"partition-link:s3-s1=1", faults.PartitionLink,
			faults.Place{Server: 1, Peer: 2, Leader: 3},
			faults.Idle, false,
		},
		{
			"partition-link:leader=1", faults.PartitionLink,
			faults.Place{Server: 1, Peer: 3, Leader: 3},
			faults.Idle, true,
		},
		{
			"partition-link:leader=1", faults.PartitionLink,
			faults.Place{Server: 1, Peer: 2, Leader: 3},
			faults.Idle, false,
		},
		{"partition-link:follower-follower=1", faults.PartitionLink, faults.Place{
			Server: 1, Peer: 2,
			Leader: 3,
		}, faults.Idle, true},
		{"partition-link:follower-follower=1", faults.PartitionLink, faults.Place{
			Server: 1, Peer: 3,
			Leader: 3,
		}, faults.Idle, false},
		{"partition-link-oneway:leader=1", faults.PartitionLinkOneway, faults.Place{
			Server: 3, Peer: 1,
			Leader: 3,
		}, faults.Idle, true},
		{"partition-link-oneway:leader=1", faults.PartitionLinkOneway, faults.Place{
			Server: 1, Peer: 3,
			Leader: 3,
		}, faults.Idle, false},
		{"partition-link-oneway:s1-leader=1", faults.PartitionLinkOneway, faults.Place{
			Server: 1, Peer: 3,
			Leader: 3,
		}, faults.Idle, true},
		{"partition-link-oneway:s1-leader=1", faults.PartitionLinkOneway, faults.Place{
			Server: 3, Peer: 1,
			Leader: 3,
		}, faults.Idle, false},
	} {
		plan, err := faults.Parse(tc.plan)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.AllowsIn(tc.kind, tc.phase, tc.at); got != tc.allows {
			t.Errorf("%s allows %v at %+v, phase %v: %v", tc.plan, tc.kind, tc.at, tc.phase, got)
		}
	}
}

// Spend prefers a fault for the target and the phase, then one for the target, then the others.
func TestSpendTargets(t *testing.T) {
	plan, err := faults.Parse("any=1,kill-server=1,kill-server@hold=1,kill-server:leader=2," +
		"kill-server:leader@hold=1,kill-server:s1=1")
	if err != nil {
		t.Fatal(err)
	}
	leader := faults.Place{Server: 3, Leader: 3}
	for _, want := range []string{
		"kill-server=1,kill-server@hold=1,kill-server:s1=1,kill-server:leader=2,any=1",
		"kill-server=1,kill-server@hold=1,kill-server:s1=1,kill-server:leader=1,any=1",
		"kill-server=1,kill-server@hold=1,kill-server:s1=1,any=1",
		"kill-server=1,kill-server:s1=1,any=1", "kill-server:s1=1,any=1", "kill-server:s1=1",
	} {
		plan.Spend(faults.KillServer, faults.Holding, leader)
		if plan.String() != want {
			t.Fatalf("%v is left, want %s", &plan, want)
		}
	}
	if plan.AllowsIn(faults.KillServer, faults.Holding, leader) || !plan.Names(faults.KillServer) ||
		plan.Names(faults.Cut) {
		t.Errorf("%v is left", &plan)
	}
}

// A target that a run does not have is an error.
func TestTargetedFaultFits(t *testing.T) {
	for _, tc := range []struct {
		plan             string
		clients, servers int
		want             string
	}{
		{"cut:c3=1", 3, 1, ""},
		{"cut:c4=1", 3, 1, "the fault cut:c4 cannot strike: the clients are c1 to c3"},
		{"kill-server:s3@hold=1", 3, 3, ""},
		{"kill-server:s4@hold=1", 3, 3, "the fault kill-server:s4@hold cannot strike: the " +
			"servers are s1 to s3"},
		{"unreachable:c1-s4=1", 3, 3, "the fault unreachable:c1-s4 cannot strike: the servers " +
			"are s1 to s3"},
		{"slow-clock:leader=1", 3, 1, ""},
		{"slow-clock:follower=1", 3, 1, "the fault slow-clock:follower cannot strike: there is " +
			"but one server"},
	} {
		plan, err := faults.Parse(tc.plan)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := plan.Entries()[0].Fits(tc.clients, tc.servers); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.plan, got, tc.want)
		}
	}
}

// A fault that is restricted to an instant strikes at that instant alone, at any target, and comes
// before one with fewer restrictions.
func TestSpendInstants(t *testing.T) {
	plan, err := faults.Parse("cut@hold=1,cut@before-ping=1,cut@hold@before-ping=1")
	if err != nil {
		t.Fatal(err)
	}
	var ping, expiry faults.Place
	ping.Instants = ping.Instants.With(faults.BeforePing)
	expiry.Instants = expiry.Instants.With(faults.BeforeExpiry)
	if plan.AllowsIn(faults.Cut, faults.Waiting, expiry) ||
		!plan.AllowsIn(faults.Cut, faults.Waiting, ping) || plan.AllowsAnywhere(faults.Cut) {
		t.Error("the instant is ignored")
	}
	for _, want := range []string{"cut@hold=1,cut@before-ping=1", "cut@hold=1", "none"} {
		plan.Spend(faults.Cut, faults.Holding, ping)
		if plan.String() != want {
			t.Fatalf("%v is left, want %s", &plan, want)
		}
	}
}

func TestNamesClient(t *testing.T) {
	for text, want := range map[string][]int32{
		"none": nil, "any=1,crash@hold=1": nil, "kill-server:s2=1": nil,
		"crash:c2=1": {2}, "crash:c1@hold=1,unreachable:c3-s2=1": {1, 3},
	} {
		plan := faults.MustParse(text)
		var got []int32
		for number := int32(1); number <= 4; number++ {
			if plan.NamesClient(number) {
				got = append(got, number)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s names %v, want %v", text, got, want)
		}
	}
}
