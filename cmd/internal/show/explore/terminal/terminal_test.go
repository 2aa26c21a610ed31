package terminal_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/show/explore/terminal"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// newModel returns the display of the schedule in which no-recheck fails, with a step that is not
// possible.
func newModel(t *testing.T) *terminal.Model {
	t.Helper()
	subject, err := bundled.Named("no-recheck")
	if err != nil {
		t.Fatal(err)
	}
	scenario := scenarios.Scenario{Subject: subject, Clients: 3, Cycles: 1}
	if scenario.Faults, err = faults.Parse("cut=1"); err != nil {
		t.Fatal(err)
	}
	cut := sim.Step{Process: 2}.StruckBy(faults.Cut)
	deviations := []engine.Deviation{
		{Index: 10, Step: cut},
		{Index: 12, Step: sim.Step{Kind: sim.Resume, Process: 1}},
	}
	runs := explore.NewLocal(engine.NewRunner(t), scenario, nil)
	m, err := terminal.New(t.Context(), explore.New(runs),
		explore.Path{Length: engine.StepsMax, Deviations: deviations})
	if err != nil {
		t.Fatal(err)
	}
	m.Update(tea.WindowSizeMsg{Width: 140, Height: 50})
	return m
}

// keys are the keys that have names.
var keys = map[string]rune{
	"right": tea.KeyRight, "left": tea.KeyLeft, "up": tea.KeyUp, "down": tea.KeyDown,
	"home": tea.KeyHome, "end": tea.KeyEnd, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp,
	"enter": tea.KeyEnter, "esc": tea.KeyEscape, "space": tea.KeySpace,
}

// press presses keys and reports whether the last one quits.
func press(t *testing.T, m *terminal.Model, names ...string) (quits bool) {
	t.Helper()
	for _, name := range names {
		key := tea.Key{Code: keys[name]}
		switch {
		case name == "ctrl+c":
			key = tea.Key{Code: 'c', Mod: tea.ModCtrl}
		case key.Code == 0:
			key = tea.Key{Code: []rune(name)[0], Text: name}
		}
		if got := tea.KeyPressMsg(key).String(); got != name {
			t.Fatalf("%s is the key %s", name, got)
		}
		_, command := m.Update(tea.KeyPressMsg(key))
		quits = false
		if command != nil {
			_, quits = command().(tea.QuitMsg)
		}
	}
	return quits
}

var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

// shown returns what the display shows, without styles.
func shown(m *terminal.Model) string { return escape.ReplaceAllString(m.View().Content, "") }

func expect(t *testing.T, m *terminal.Model, want ...string) {
	t.Helper()
	text := shown(m)
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the display lacks %q:\n%s", w, text)
		}
	}
}

// A schedule is gone through forward and back.
func TestForwardAndBack(t *testing.T) {
	m := newModel(t)
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	expect(t, m, "no-recheck, 3 clients × 1 cycles, faults cut=1", "after 0 of 39 steps",
		"1 recorded step is not possible any more", "next: step 0, serve c1",
		"▶ serve c1 (default)  the server handles c1's create _c_", "c3 asks for the lock",
		"c1 asks for the lock, waits for the reply to create _c_", "/lock", "cut c3")
	start := shown(m)
	press(t, m, "right", "n", "space", "enter")
	expect(t, m, "after 4 of 39 steps")
	press(t, m, "left", "p", "h", "left", "left")
	if shown(m) != start {
		t.Error("back at the start, the display differs")
	}
	press(t, m, "pgdown")
	expect(t, m, "after 10 of 39 steps",
		"next: step 10, cut c2, a deviation from the default policy", "▶ cut c2")
	press(t, m, "l")
	expect(t, m, "FAULT cut c2", "c1 has the lock by c1#0")
	press(t, m, "end")
	expect(t, m, "after 39 of 39 steps", "the run has ended", "c1 finished")
	press(t, m, "right", "home", "d")
	expect(t, m, "after 11 of 39 steps")
	press(t, m, "d")
	expect(t, m, "after 11 of 39 steps")
}

// At each step a znode has the name that it has in the timeline, also one without a number.
func TestNamesOfZnodes(t *testing.T) {
	subject := locktest.Subject("node", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			node, err := p.Client.Create(p.Directory+"/node", nil, zk.FlagEphemeral,
				zk.WorldACL(zk.PermAll))
			return &scenarios.Hold{Node: node, Unlock: locktest.Free}, err
		}
	})
	runs := explore.NewLocal(engine.NewRunner(t),
		scenarios.Scenario{Subject: subject, Clients: 1, Cycles: 1}, nil)
	m, err := terminal.New(t.Context(), explore.New(runs), explore.Path{Length: engine.StepsMax})
	if err != nil {
		t.Fatal(err)
	}
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 200})
	press(t, m, "right", "right")
	expect(t, m, "node created by c1", "  node of c1", "  /lock")
	if text := shown(m); strings.Contains(text, "/lock/node") {
		t.Errorf("a path:\n%s", text)
	}
}

// The violation is reached by one key, and explained.
func TestViolation(t *testing.T) {
	m := newModel(t)
	m.Update(tea.WindowSizeMsg{Width: 2000, Height: 50})
	press(t, m, "v")
	expect(t, m, "VIOLATION server-mutual-exclusion: ", "took the lock without listing again",
		"c1 has the lock by c1#0", "c3 has the lock by c3#2")
	press(t, m, "left")
	if strings.Contains(shown(m), "VIOLATION") {
		t.Error("the violation is shown before it happens")
	}
}

// The display fits windows of all sizes, and long lists of events can be scrolled.
func TestWindow(t *testing.T) {
	m := newModel(t)
	press(t, m, "end")
	for _, size := range [][2]int{{200, 60}, {100, 24}, {80, 24}, {40, 20}} {
		m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		lines := strings.Split(shown(m), "\n")
		if len(lines) > size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, line := range lines {
			if columns := utf8.RuneCountInString(line); columns > size[0] {
				t.Errorf("%v: %d columns: %s", size, columns, line)
			}
		}
	}
	for _, size := range [][2]int{{10, 3}, {1, 1}, {0, 0}} {
		m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		shown(m) // It must not panic.
	}
	m.Update(tea.WindowSizeMsg{Width: 140, Height: 20})
	expect(t, m, "c3 is finished")
	press(t, m, "up", "k")
	if strings.Contains(shown(m), "c3 is finished") {
		t.Error("scrolled up, the last event is shown")
	}
	press(t, m, "down", "j", "down")
	expect(t, m, "c3 is finished")
}

// Each of several keys quits, and others do not.
func TestQuit(t *testing.T) {
	m := newModel(t)
	for name, want := range map[string]bool{
		"q": true, "esc": true, "ctrl+c": true, "x": false, "right": false,
	} {
		if got := press(t, m, name); got != want {
			t.Errorf("%s quits: %v", name, got)
		}
	}
	if m.Init() != nil {
		t.Error("the display asks for something at its start")
	}
}
