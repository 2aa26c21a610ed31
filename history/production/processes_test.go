package production_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/history/production"
)

// started returns the event of a recorder that starts.
func started(name string) history.Event {
	return history.Event{Kind: history.Started, Process: 1, Name: name}
}

// Each recorder that starts is another process. A history without one keeps its numbers.
func TestNumberProcesses(t *testing.T) {
	logs, processes, err := production.NumberProcesses(
		history.NewLog([]history.Event{started("a"), enter(1, 1), started("a"), enter(1, 1)}),
		history.NewLog([]history.Event{enter(2, 1), enter(7, 1)}),
		history.NewLog([]history.Event{started("b"), enter(1, 1), on(history.Tick, 0)}),
	)
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int32
	for _, log := range logs {
		for _, e := range log.Events() {
			numbers = append(numbers, e.Process)
		}
	}
	if want := []int32{1, 1, 3, 3, 2, 7, 4, 4, 0}; !slices.Equal(numbers, want) {
		t.Errorf("processes %v, want %v", numbers, want)
	}
	for name, want := range map[string][]int32{
		"a": {1, 3}, "b": {4}, "c2": {2}, "c": nil, "c1.2": nil,
	} {
		if got := processes.Find(name); !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if processes.Name(history.ThreadNumber(4, 2)) != "b" || processes.Name(2) != "" {
		t.Error("the names are wrong")
	}
	clocks, err := production.ParseClocks("1ms,a=2ms,c2=3ms", processes)
	if err != nil || len(clocks.Of) != 3 || clocks.Of[1] != 2e6 || clocks.Of[3] != 2e6 ||
		clocks.Of[2] != 3e6 {
		t.Errorf("%+v, %v", clocks, err)
	}
	var many []history.Event
	for range 10_001 {
		many = append(many, started("a"))
	}
	if _, _, err := production.NumberProcesses(history.NewLog(many)); err == nil {
		t.Error("10,001 processes are accepted")
	}
}

func TestParsePause(t *testing.T) {
	events := history.NewLog([]history.Event{started("a=b"), started("a=b")})
	_, processes, _ := production.NumberProcesses(events)
	for text, want := range map[string][]production.Pause{
		"c1=5..7":   {{Process: 1, From: 5, Till: 7}},
		"a=b=-5..7": {{Process: 1, From: -5, Till: 7}, {Process: 2, From: -5, Till: 7}},
		"c9=1970-01-01T00:00:01Z..1970-01-01T01:00:01.5+01:00": {
			{Process: 9, From: time.Second, Till: 1500 * time.Millisecond},
		},
	} {
		if got, err := production.ParsePause(text, processes); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"c1":               `"c1" is not PROCESS=FROM..TO`,
		"c1=5":             `"c1=5" is not PROCESS=FROM..TO`,
		"c1=now..5":        `"now" is not a time`,
		"c1=5..noon":       `"noon" is not a time`,
		"c1=7..5":          "ends before it begins",
		"c0=5..7":          `"c0" is not a process`,
		"billing-1=5..7":   `"billing-1" is not a process`,
		"c1.2=5..7":        `"c1.2" is not a process`,
		"c1=5..7..9":       `"7..9" is not a time`,
		"c1=..":            `"" is not a time`,
		"c1=2026-01-31..5": `"2026-01-31" is not a time`,
	} {
		_, err := production.ParsePause(text, processes)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// A pause has the same effect whether the history records it or not. It covers all goroutines of
// the process.
func TestKnownPause(t *testing.T) {
	events := production.Merge(history.NewLog(slices.Concat(
		used(1, 1, "/b", 0, 9000, 4), used(1, 2, "/a", 0, 9000, 5), used(1, 3, "/a", 9, 20, 5),
		used(2, 1, "/a", 5000, 6000, 6)))).Events()
	for _, test := range []struct {
		pauses []production.Pause
		want   int
	}{
		{nil, 2},
		{[]production.Pause{{1, 4e9, 8e9}}, 1},
		{[]production.Pause{{1, 5.5e9, 8e9}, {1, 4e9, 5.5e9}}, 1},
		{[]production.Pause{{1, 0, 8e9}}, 0},
		{[]production.Pause{{2, 4e9, 8e9}}, 1},
		{[]production.Pause{{3, 4e9, 8e9}}, 2},
		{[]production.Pause{{1, 4e9, 4.1e9}}, 2},
	} {
		clocks := production.Clocks{Pause: 200 * time.Millisecond, Pauses: test.pauses}
		all, _ := production.AllWithin(history.ClientMutualExclusion, events, clocks, models.Limits{})
		if len(all) != test.want {
			t.Errorf("%v: %d violations, want %d", test.pauses, len(all), test.want)
		}
	}
}
