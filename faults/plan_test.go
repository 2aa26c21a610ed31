package faults_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/faults"
)

// somePlan draws any plan that a text can stand for.
var somePlan = rapid.Custom(func(t *rapid.T) (plan faults.Plan) {
	count := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 1000))
	for k := range faults.Kinds {
		plan.Of[k] = count.Draw(t, k.String())
	}
	plan.Any = count.Draw(t, "any")
	for range rapid.IntRange(0, 3).Draw(t, "phased") {
		phase := faults.Phase(rapid.IntRange(0, int(faults.Phases)-1).Draw(t, "phase"))
		k := rapid.IntRange(0, int(faults.Kinds)).Draw(t, "kind")
		if k < int(faults.Kinds) {
			plan.At[k][phase] = uint16(count.Draw(t, "in phase"))
		} else {
			plan.AnyAt[phase] = uint16(count.Draw(t, "any in phase"))
		}
	}
	return plan
})

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
		{"any=1000", faults.Plan{Any: 1000}},
		{"crash=1, lose-reply=2", planOf(map[faults.Kind]int{faults.Crash: 1, faults.LoseReply: 2}, 0)},
		{"cut@hold=2", faults.Plan{At: phased(faults.Cut, faults.Holding, 2)}},
		{"any@woken=1", faults.Plan{AnyAt: [faults.Phases]uint16{faults.Woken: 1}}},
		{" expire=1,cut=2,any=3 ", planOf(map[faults.Kind]int{faults.Expire: 1, faults.Cut: 2}, 3)},
	}
	for _, test := range tests {
		if got, err := faults.Parse(test.text); err != nil || got != test.want {
			t.Errorf("Parse(%q) = %v, error %v, want %v", test.text, got, err, test.want)
		}
	}
}

func phased(k faults.Kind, phase faults.Phase, n uint16) (at [faults.Kinds][faults.Phases]uint16) {
	at[k][phase] = n
	return at
}

func planOf(of map[faults.Kind]int, any int) faults.Plan {
	plan := faults.Plan{Any: any}
	for k, n := range of {
		plan.Of[k] = n
	}
	return plan
}

// The text of a plan is short and always in the same order.
func TestPlanString(t *testing.T) {
	plan := planOf(map[faults.Kind]int{faults.Crash: 4, faults.Expire: 3, faults.LoseReply: 2, faults.Cut: 1}, 5)
	if got, want := plan.String(), "cut=1,lose-reply=2,expire=3,crash=4,any=5"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (faults.Plan{}).String(); got != "none" {
		t.Errorf("the zero plan is %q, want none", got)
	}
}

// Every error names the part that is wrong, and what could stand there.
func TestParseErrors(t *testing.T) {
	const form = " is not of the form kind=N or kind@phase=N with N from 0 to 1000"
	const known = "; known are cut, lose-reply, expire, crash, cancel, reset, kill-server, part-server, " +
		"deafen-server, mute-server, hold-requests, hold-replies, pause, slow-client, fast-client, slow-clock, fast-clock, jump-clock, restart, fail-write, any"
	tests := []struct{ text, want string }{
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
		{"Cut=1", `unknown fault "Cut"` + known},
		{"cut@nap=1", `unknown phase "nap"; known are idle, create, list, watch, ask, wait, woken, hold, release`},
		{"cut=1,fire=2", `unknown fault "fire"` + known},
		{"cut=1,cut=1", `fault "cut" stands twice`},
		{"any=1,cut=1,any=2", `fault "any" stands twice`},
	}
	for _, test := range tests {
		plan, err := faults.Parse(test.text)
		if err == nil || err.Error() != test.want || plan != (faults.Plan{}) {
			t.Errorf("Parse(%q) = %v, error %v, want %s", test.text, plan, err, test.want)
		}
	}
}

// A fault is taken from its own kind first, then from those of any kind.
func TestSpend(t *testing.T) {
	plan := planOf(map[faults.Kind]int{faults.Cut: 1}, 1)
	for _, step := range []struct {
		kind faults.Kind
		left string
	}{{faults.Cut, "any=1"}, {faults.Cut, "none"}} {
		if !plan.Allows(step.kind) {
			t.Fatalf("%v does not allow %v", plan, step.kind)
		}
		plan.Spend(step.kind, faults.Idle)
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

// A plan never allows more faults of a kind than it says, whatever is spent on the way.
func TestSpendIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := somePlan.Draw(t, "plan")
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, int(faults.Kinds)-1), 0, 50).Draw(t, "faults") {
			k, before := faults.Kind(n), left
			phase := faults.Phase(rapid.IntRange(0, int(faults.Phases)-1).Draw(t, "phase"))
			if allowed := budget(&before, k, phase) > 0; left.AllowsIn(k, phase) != allowed {
				t.Fatalf("%v allows %v, phase %v: %v", left, k, phase, !allowed)
			}
			if !left.AllowsIn(k, phase) {
				continue
			}
			left.Spend(k, phase)
			if total(left) != total(before)-1 || budget(&left, k, phase) != budget(&before, k, phase)-1 {
				t.Fatalf("%v is left of %v after %v, phase %v", left, before, k, phase)
			}
		}
	})
}

// budget returns how many faults of the kind a plan has for the phase.
func budget(p *faults.Plan, k faults.Kind, phase faults.Phase) int {
	n := p.Of[k] + int(p.At[k][phase])
	if k < faults.AnyKinds {
		n += p.Any + int(p.AnyAt[phase])
	}
	return n
}

func total(p faults.Plan) int {
	n := p.Any
	for k, count := range p.Of {
		n += count
		for _, inPhase := range p.At[k] {
			n += int(inPhase)
		}
	}
	for _, inPhase := range p.AnyAt {
		n += int(inPhase)
	}
	return n
}

func TestSpendPanics(t *testing.T) {
	plan := planOf(map[faults.Kind]int{faults.Cut: 1}, 0)
	defer func() {
		if reason := fmt.Sprint(recover()); !strings.Contains(reason, "crash") {
			t.Errorf("panic %q, want one that names the fault", reason)
		}
	}()
	plan.Spend(faults.Crash, faults.Idle)
}

// No text makes Parse panic. What it takes, it takes again as the plan says it.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"none", "default", "cut=1,any=2", "lose-reply=3, expire=0", "crash", "cut=-1", "=", ",", "\xff=1"} {
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
