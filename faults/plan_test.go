package faults_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/faults"
)

// somePlan draws any plan that has a text.
var somePlan = rapid.Custom(func(t *rapid.T) (plan faults.Plan) {
	count := rapid.OneOf(rapid.Just[uint16](0), rapid.Uint16Range(0, 333))
	for k := range faults.Storage + 1 {
		plan.Add(faults.Entry{Kind: k, Left: count.Draw(t, k.String())})
	}
	for range rapid.IntRange(0, 3).Draw(t, "phased") {
		entry := faults.Entry{
			Kind:  faults.Kind(rapid.IntRange(0, int(faults.Storage)).Draw(t, "kind")),
			Phase: faults.Phase(rapid.IntRange(0, int(faults.Phases)-1).Draw(t, "phase")), Phased: true,
			Left: count.Draw(t, "in phase"),
		}
		if _, err := faults.Parse(entry.String() + "=1"); err == nil { // It can strike there.
			plan.Add(entry)
		}
	}
	targeted := rapid.SliceOfNDistinct(rapid.SampledFrom(someTargeted), 0,
		faults.TargetedFaultsMax, rapid.ID).Draw(t, "targeted")
	text := plan.String()
	for _, name := range targeted {
		text = strings.TrimPrefix(text+","+name+"=3", "none,")
	}
	for k := range faults.Kinds { // An exclusion that the plan refuses is left out.
		if rapid.IntRange(0, 3).Draw(t, "excluded") > 0 {
			continue
		}
		if _, err := faults.Parse(text + ",no:" + k.String()); err == nil {
			text += ",no:" + k.String()
		}
	}
	parsed, err := faults.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
})

// someTargeted holds targeted faults, each as in a plan.
var someTargeted = []string{
	"cut:c1", "cut:c2@hold", "kill-server:s1", "kill-server:leader", "kill-server:leader@hold",
	"partition-server:follower",
	"slow-clock:s7", "unreachable:c1", "unreachable:s2", "unreachable:c1-s2",
	"unreachable:c3-leader@wait", "partition-link:leader",
	"partition-link:s1-s3", "partition-link:s2-follower", "partition-link:follower-follower",
	"partition-link-oneway:s1-s3", "partition-link-oneway:s3-s1",
	"partition-link-oneway:leader-s1@woken",
	"cut@before-ping", "cut@hold@before-ping", "cut:c1@before-expiry",
	"kill-server:leader@hold@before-expiry", "kill-server@after-reply",
}

func TestPlanRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := somePlan.Draw(t, "plan")
		parsed, err := faults.Parse(plan.String())
		if err != nil || parsed != plan {
			t.Fatalf("%v is parsed as %v, error %v", plan, parsed, err)
		}
		text, err := plan.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var unmarshalled faults.Plan
		if err := unmarshalled.UnmarshalText(text); err != nil || unmarshalled != plan {
			t.Fatalf("%s is unmarshalled as %v, error %v", text, unmarshalled, err)
		}
	})
}

func TestParse(t *testing.T) {
	tests := []struct {
		text string
		want faults.Plan
	}{
		{"none", faults.Plan{}},
		{" none ", faults.Plan{}},
		{"default", faults.Default()},
		{"cut=0", faults.Plan{}},
		{"any=1000", faults.Of(faults.Any, 1000)},
		{"crash=1, lose-reply=2", planOf(map[faults.Kind]uint16{faults.Crash: 1, faults.LoseReply: 2},
			0)},
		{"cut@hold=2", phased(faults.Cut, faults.Holding, 2)},
		{"any@woken=1", phased(faults.Any, faults.Woken, 1)},
		{"kill-server:leader=0", faults.Plan{}},
		{"network=2", faults.Of(faults.Network, 2)},
		{"calm@hold=1", phased(faults.Calm, faults.Holding, 1)},
		// These strike a process that has several clients, and any that opens its lock.
		{"slow-open@create=1", phased(faults.SlowOpen, faults.CreateInFlight, 1)},
		{"cut@idle=1", phased(faults.Cut, faults.Idle, 1)},
		{"cancel@wait=1", phased(faults.Cancel, faults.Waiting, 1)},
		{" expire=1,cut=2,any=3 ", planOf(map[faults.Kind]uint16{faults.Expire: 1, faults.Cut: 2}, 3)},
	}
	for _, test := range tests {
		if got, err := faults.Parse(test.text); err != nil || got != test.want {
			t.Errorf("Parse(%q) = %v, error %v, want %v", test.text, got, err, test.want)
		}
	}
}

func phased(k faults.Kind, phase faults.Phase, n uint16) (plan faults.Plan) {
	plan.Add(faults.Entry{Kind: k, Phase: phase, Phased: true, Left: n})
	return plan
}

func planOf(of map[faults.Kind]uint16, any uint16) faults.Plan {
	plan := faults.Of(faults.Any, any)
	for k, n := range of {
		plan.Add(faults.Entry{Kind: k, Left: n})
	}
	return plan
}

// The text of a plan omits zeros and has a fixed order.
func TestPlanString(t *testing.T) {
	plan := planOf(map[faults.Kind]uint16{
		faults.Crash: 4, faults.Expire: 3, faults.LoseReply: 2,
		faults.Cut: 1,
	}, 5)
	if got, want := plan.String(), "cut=1,lose-reply=2,expire=3,crash=4,any=5"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (faults.Plan{}).String(); got != "none" {
		t.Errorf("the zero plan is %q, want none", got)
	}
}

// Every error names the part that is wrong and what is valid there.
func TestParseErrors(t *testing.T) {
	const form = " is not of the form kind=N, kind@phase=N, kind:target=N or kind:target@phase=N " +
		"with N from 0 to 1000"
	const phases = `; known are idle, create, list, watch, ask, wait, woken, hold, release, ` +
		`after-reply, before-ping, before-expiry`
	const forServers = "; it can be a server such as s2, leader, or follower"
	const forLinks = "; it can be a server such as s2, leader or follower, or two of these as in " +
		"s1-leader"
	known := "; known are "
	for kind := range faults.Kinds {
		known += kind.String() + ", "
	}
	known += "any, calm, network, clocks, crashes, storage"
	var many []string
	for _, kind := range []string{
		"cut", "expire", "crash", "pause", "reset", "restart", "slow-client", "any",
	} {
		for phase := range faults.Phases {
			many = append(many, kind+"@"+phase.Key()+"=1")
		}
	}
	tests := []struct{ text, want string }{
		{strings.Join(many, ","), "a plan can have at most 64 entries"},
		{"", `""` + form},
		{"cut", `"cut"` + form},
		{"cut=", `"cut="` + form},
		{"cut=x", `"cut=x"` + form},
		{"cut=-1", `"cut=-1"` + form},
		{"cut=1001", `"cut=1001"` + form},
		{"cut=99999999999999999999", `"cut=99999999999999999999"` + form},
		{"cut=1,", `""` + form},
		{"cut=1, crash:2 ", `"crash:2"` + form},
		{"cut=1=2", `"cut=1=2"` + form},
		{"none,cut=1", `"none"` + form},
		{"=1", `unknown fault ""` + known},
		{"Cut=1", `unknown fault "Cut": did you mean cut?`},
		{"cut@nap=1", `unknown phase or instant "nap"` + phases},
		{"cut=1,fire=2", `unknown fault "fire"` + known},
		{"cut=1,cut=1", `fault "cut" stands twice`},
		{"any=1,cut=1,any=2", `fault "any" stands twice`},
		{"any:leader=1", `any takes no target: name the fault for "leader"`},
		{"fire:s1=1", `unknown fault "fire"` + known},
		{"cut:s1=1", `unknown target "s1" of cut; it can be a client such as c1`},
		{"cut:c1-s1=1", `unknown target "c1-s1" of cut; it can be a client such as c1`},
		{"cut:=1", `unknown target "" of cut; it can be a client such as c1`},
		{
			"kill-server:boss=1",
			`unknown target "boss" of kill-server` + forServers,
		},
		{
			"kill-server:c1=1",
			`unknown target "c1" of kill-server` + forServers,
		},
		{
			"kill-server:s0=1",
			`unknown target "s0" of kill-server` + forServers,
		},
		{
			"kill-server:s01=1",
			`unknown target "s01" of kill-server` + forServers,
		},
		{
			"kill-server:s1-s2=1",
			`unknown target "s1-s2" of kill-server` + forServers,
		},
		{
			"unreachable:s1-s2=1",
			`unknown target "s1-s2" of unreachable; it can be a client such as c1, ` +
				`a server such as s2, leader or follower, or both as in c1-s2`,
		},
		{"partition-link:s1-s1=1", `unknown target "s1-s1" of partition-link` + forLinks},
		{"partition-link:c1-s1=1", `unknown target "c1-s1" of partition-link` + forLinks},
		{"partition-link-oneway:s1-c1=1", `unknown target "s1-c1" of partition-link-oneway` +
			forLinks},
		{
			"partition-link-oneway:leader-leader=1",
			`unknown target "leader-leader" of partition-link-oneway` + forLinks,
		},
		{"partition-link:s1-=1", `unknown target "s1-" of partition-link` + forLinks},
		{
			"kill-server:leader@lunch=1",
			`unknown phase or instant "lunch"` + phases,
		},
		{
			"partition-link:s1-s3=1,partition-link:s3-s1=1",
			`fault "partition-link:s1-s3" stands twice`,
		},
		{
			"cut:c1=1,cut:c2=1,cut:c3=1,cut:c4=1,cut:c5=1,cut:c6=1,cut:c7=1,cut:c8=1,cut:c9=1",
			"a plan can name at most 8 targets and instants",
		},
		{"cut@=1", `unknown phase or instant ""` + phases},
		{"cut@hold@nap=1", `unknown phase or instant "hold@nap"` + phases},
		{"cut@before-ping@hold=1", `unknown phase or instant "before-ping@hold"` + phases},
		{"cut@before-ping@after-reply=1", `unknown phase or instant "before-ping@after-reply"` + phases},
		{"any@before-ping=1", `any takes no instant: name the fault for "before-ping"`},
		{
			"cut@wait@after-reply=1", "the fault cut@wait@after-reply cannot strike: a process " +
				"in that phase has no request in flight",
		},
		{
			"delay-rewatch@before-ping=1", "the fault delay-rewatch@before-ping cannot strike: " +
				"it strikes a client that has no connection, and so no request in flight",
		},
		{"cut@before-ping=1,cut@before-ping=2", `fault "cut@before-ping" stands twice`},
		{"network:c1=1", `network takes no target: name the fault for "c1"`},
		{"calm@before-ping=1", `calm takes no instant: name the fault for "before-ping"`},
		{"netwrk=1", `unknown fault "netwrk": did you mean network?`},
		{
			"cancel@hold=1", "the fault cancel@hold cannot strike: only a process that waits for " +
				"its lock can cancel the call; its phases are create, list, watch, ask, wait, woken",
		},
		{
			"cancel:c1@idle=1", "the fault cancel:c1@idle cannot strike: only a process that waits " +
				"for its lock can cancel the call; its phases are create, list, watch, ask, wait, woken",
		},
		{"no:cut", "no:cut needs a group that it restricts, as in any=2,no:cut"},
		{"no:cut,expire=1", "no:cut needs a group that it restricts, as in any=2,no:cut"},
		{"any=0,no:cut", "no:cut needs a group that it restricts, as in any=2,no:cut"},
		{"cut=1,no:cut", "the plan names cut, and excludes it by no:cut"},
		{"no:cut,any=2,cut@hold=1", "the plan names cut, and excludes it by no:cut"},
		{"any=2,no:ct", `unknown fault "ct": did you mean cut?`},
		{"any=2,no:jumpclock", `unknown fault "jumpclock": did you mean jump-clock?`},
		{"any=2,no:", `unknown fault ""` + strings.TrimSuffix(known, ", any, calm, network, clocks, "+
			"crashes, storage")},
		{"any=2,no:clocks", "no:clocks is not of the form no:kind: clocks is a group"},
		{"any=2,no:cut=1", `"no:cut=1" is not of the form no:kind, without a count, a phase, an ` +
			`instant and a target`},
		{"any=2,no:cut@hold", `"no:cut@hold" is not of the form no:kind, without a count, a phase, ` +
			`an instant and a target`},
		{"any=2,no:cut,no:cut", `fault "no:cut" stands twice`},
		{
			"clocks=2,no:cut", "no:cut excludes nothing: no group of the plan covers the kind",
		},
		{
			"any=2,no:restart", "no:restart excludes nothing: no group of the plan covers the kind",
		},
		{"any=2,calm=1,no:cut,no:lose-reply,no:reset", "the plan excludes all kinds of calm"},
	}
	for _, test := range tests {
		plan, err := faults.Parse(test.text)
		if err == nil || err.Error() != test.want || plan != (faults.Plan{}) {
			t.Errorf("Parse(%q) = %v, error %v, want %s", test.text, plan, err, test.want)
		}
	}
}

// MustParse returns the plan that Parse does. Where Parse fails, it panics with the text and the
// error.
func TestMustParse(t *testing.T) {
	want, err := faults.Parse("expire=1,cut@hold=2,any=1")
	if got := faults.MustParse("expire=1,cut@hold=2,any=1"); err != nil || got != want {
		t.Errorf("%v, want %v, error %v", got, want, err)
	}
	_, err = faults.Parse("cut=one")
	defer func() {
		message := fmt.Sprintf("faults.MustParse(\"cut=one\"): %v", err)
		if got := recover(); err == nil || got != message {
			t.Errorf("panic %v, want %s", got, message)
		}
	}()
	faults.MustParse("cut=one")
}

// Spend takes a fault from its own kind first, then from "any".
func TestSpend(t *testing.T) {
	plan := planOf(map[faults.Kind]uint16{faults.Cut: 1}, 1)
	for _, step := range []struct {
		kind faults.Kind
		left string
	}{{faults.Cut, "any=1"}, {faults.Cut, "none"}} {
		if !plan.Allows(step.kind) {
			t.Fatalf("%v does not allow %v", plan, step.kind)
		}
		plan.Spend(step.kind, faults.Idle, faults.Place{})
		if got := plan.String(); got != step.left {
			t.Errorf("%s is left, want %s", got, step.left)
		}
	}
	for k := range faults.Kinds {
		if plan.Allows(k) {
			t.Errorf("the empty plan allows %v", k)
		}
	}
}

// Each Spend lowers the budget of its fault by one and never makes another budget grow.
func TestSpendIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := somePlan.Draw(t, "plan")
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, int(faults.Kinds)-1), 0, 50).Draw(t,
			"faults") {
			k, before := faults.Kind(n), left
			phase := faults.Phase(rapid.IntRange(0, int(faults.Phases)-1).Draw(t, "phase"))
			at := somePlace.Draw(t, "place")
			if allowed := budget(&before, k, phase, at) > 0; left.AllowsIn(k, phase,
				at) != allowed ||
				allowed && !left.Allows(k) {
				t.Fatalf("%v allows %v, phase %v, at %v: %v", left, k, phase, at, !allowed)
			}
			if !left.AllowsIn(k, phase, at) {
				continue
			}
			left.Spend(k, phase, at)
			if total(left) != total(before)-1 || budget(&left, k, phase, at) != budget(&before, k,
				phase, at)-1 {
				t.Fatalf("%v is left of %v after %v, phase %v, at %v", left, before, k, phase, at)
			}
		}
	})
}

// somePlace draws where a fault strikes.
var somePlace = rapid.Custom(func(t *rapid.T) faults.Place {
	number := rapid.Uint8Range(1, 3)
	at := faults.Place{
		Client: number.Draw(t, "client"), Server: number.Draw(t, "server"),
		Leader: number.Draw(t, "leader"),
	}
	at.Peer = at.Server%3 + 1
	return at
})

// budget returns how many faults of the kind a plan has for the phase and the place.
func budget(p *faults.Plan, k faults.Kind, phase faults.Phase, at faults.Place) (n int) {
	for _, entry := range p.Entries() {
		if !entry.Kind.Covers(k) || p.Excludes(k) || entry.Phased && entry.Phase != phase {
			continue
		}
		if entry.Kind = k; entry.Matches(k, phase, at) {
			n += int(entry.Left)
		}
	}
	return n
}

func total(p faults.Plan) (n int) {
	for _, entry := range p.Entries() {
		n += int(entry.Left)
	}
	return n
}

func TestSpendPanics(t *testing.T) {
	plan := planOf(map[faults.Kind]uint16{faults.Cut: 1}, 0)
	defer func() {
		if reason := fmt.Sprint(recover()); !strings.Contains(reason, "crash") {
			t.Errorf("panic %q, want a panic that names the fault", reason)
		}
	}()
	plan.Spend(faults.Crash, faults.Idle, faults.Place{})
}

// Parse panics for no text, and Plan.String round-trips for every text that Parse accepts.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"none", "default", "cut=1,any=2", "lose-reply=3, expire=0", "crash",
		"kill-server:leader@hold=1", "partition-link-oneway:s3-s1=2", "unreachable:s2-c1=1",
		"cut=-1",
		"=", ",", "\xff=1", "any=2,no:jump-clock,no:wipe-server", "calm=1,network@hold=2",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := faults.Parse(text)
		if err != nil {
			if err.Error() == "" || plan != (faults.Plan{}) {
				t.Errorf("Parse(%q) = %v, error %q", text, plan, err)
			}
			return
		}
		if again, err := faults.Parse(plan.String()); err != nil || again != plan {
			t.Errorf("%q is %v, and that is %v, error %v", text, plan, again, err)
		}
	})
}

// A plan with exclusions allows what its groups cover and it does not exclude. Its text puts the
// exclusions last, in the order of the kinds. When its last fault of a group is spent, they go.
func TestExclusions(t *testing.T) {
	plan, err := faults.Parse("no:wipe-server, any=2,no:jump-clock,slow-link=1")
	if err != nil {
		t.Fatal(err)
	}
	const text = "slow-link=1,any=2,no:jump-clock,no:wipe-server"
	if got := plan.String(); got != text {
		t.Errorf("%s, want %s", got, text)
	}
	for k := range faults.Kinds {
		excluded := k == faults.JumpClock || k == faults.WipeServer
		want := !excluded && (faults.Any.Covers(k) || k == faults.SlowLink)
		if plan.Allows(k) != want || plan.AllowsAnywhere(k) != want || plan.Excludes(k) != excluded ||
			plan.AllowsIn(k, faults.Holding, faults.Place{}) != want ||
			len(plan.Cells([]faults.Kind{k})) > 0 != want {
			t.Errorf("%v: allowed %v, excluded %v", k, plan.Allows(k), plan.Excludes(k))
		}
	}
	if plan == faults.MustParse("any=2,slow-link=1") {
		t.Error("the plan equals the one without exclusions")
	}
	plan.Spend(faults.Cut, faults.Idle, faults.Place{})
	plan.Spend(faults.Crash, faults.Idle, faults.Place{})
	if want := faults.Of(faults.SlowLink, 1); plan != want {
		t.Errorf("%v is left, want %v", plan, want)
	}
}

// Each group covers some kinds. Of several groups that cover a fault, the smallest loses it.
func TestGroups(t *testing.T) {
	for g := range faults.Groups {
		some := false
		for k := range faults.Kinds {
			some = some || g.Covers(k)
			if g == faults.Calm && g.Covers(k) && !faults.Network.Covers(k) {
				t.Errorf("calm covers %v, and network does not", k)
			}
		}
		if !some {
			t.Errorf("%v covers no kind", g)
		}
	}
	plan := faults.MustParse("any=1,network@hold=1,calm=1")
	for _, left := range []string{"any=1,network@hold=1", "any=1", "none"} {
		plan.Spend(faults.Cut, faults.Holding, faults.Place{})
		if got := plan.String(); got != left {
			t.Errorf("%s is left, want %s", got, left)
		}
	}
}

// A plan that leaves a kind out has no room for a fault of the kind.
func TestAddPanicsForAnExcludedKind(t *testing.T) {
	plan := faults.MustParse("any=1,no:cut")
	defer func() {
		if reason := fmt.Sprint(recover()); !strings.Contains(reason, "excludes cut") {
			t.Errorf("panic %q", reason)
		}
	}()
	plan.Add(faults.Entry{Kind: faults.Cut, Left: 1})
}
