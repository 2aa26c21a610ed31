package history_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/models"
)

func TestParseClocks(t *testing.T) {
	clocks, err := history.ParseClocks("20ms,c3=1s")
	if err != nil || clocks.Default != 20*time.Millisecond || clocks.Of[3] != time.Second || len(clocks.Of) != 1 {
		t.Errorf("%+v, %v", clocks, err)
	}
	for _, text := range []string{"", "20", "-1ms", "c1", "3=1s", "c0=1s", "c1=", "1ms,,"} {
		if clocks, err := history.ParseClocks(text); err == nil {
			t.Errorf("%q: %+v", text, clocks)
		}
	}
}

// later gives events the times at which their process's clock stood, in milliseconds.
func later(at int, events ...history.Event) []history.Event {
	for i := range events {
		events[i].At = time.Duration(at) * time.Millisecond
	}
	return events
}

func TestCheckWithin(t *testing.T) {
	grant := func(p int32, node string, token int64) history.Event {
		return history.Event{Kind: history.LockReturn, Process: p, Attempt: 1, Path: node, Zxid: token}
	}
	queued := func(p int32, node string) history.Event {
		return history.Event{Kind: history.NodeCreated, Process: p, Path: node, Session: 1}
	}
	stay := func(p int32, from, till int) []history.Event {
		return slices.Concat(later(from, enter(p, 1)), later(till, history.Event{Kind: history.Leave, Process: p, Attempt: 1}))
	}
	have := func(p int32, from, till int) []history.Event {
		return slices.Concat(later(from, lockCall(p, 1)), later(from+10, lockOK(p, 1, "")), later(till, unlockCall(p, 1)), later(till+10, unlockOK(p, 1)))
	}
	for _, test := range []struct {
		name     string
		property history.Property
		events   [][]history.Event
		surely   time.Duration // up to which uncertainty the property is surely broken, -1 if never
	}{
		{"inside together", history.BeliefExclusion, [][]history.Event{stay(1, 0, 100), stay(2, 80, 200)}, 9},
		{"inside one after the other", history.BeliefExclusion, [][]history.Event{stay(1, 0, 100), stay(2, 101, 200)}, -1},
		{"inside until the last event", history.BeliefExclusion, [][]history.Event{later(0, enter(1, 1)), later(100, on(history.Send, 1)), stay(2, 80, 200)}, 9},
		{"inside, and told of a loss", history.BeliefExclusion, [][]history.Event{later(0, enter(1, 1)), later(100, lost(1, 1)), stay(2, 80, 200)}, 9},

		{"overtaken", history.FIFO, [][]history.Event{later(0, queued(1, "/l/a")), later(50, grant(2, "/l/b", 7)), later(80, grant(1, "/l/a", 5))}, 14},
		{"in turn", history.FIFO, [][]history.Event{later(0, queued(1, "/l/a")), later(50, grant(2, "/l/b", 4)), later(80, grant(1, "/l/a", 5))}, -1},
		{"another lock", history.FIFO, [][]history.Event{later(0, queued(1, "/l/a")), later(50, grant(2, "/m/b", 7)), later(80, grant(1, "/l/a", 5))}, -1},
		{"overtaken by one that is lost", history.FIFO, [][]history.Event{later(0, queued(1, "/l/a")), later(50, grant(2, "/l/b", 7), lost(2, 1)), later(80, grant(1, "/l/a", 5))}, -1},

		{"a token fell", history.Token, [][]history.Event{later(0, grant(1, "/l/a", 7)), later(50, lockCall(2, 1)), later(60, grant(2, "/l/b", 5))}, 24},
		{"equal tokens", history.Token, [][]history.Event{later(0, grant(1, "/l/a", 7)), later(50, grant(2, "/l/b", 7))}, 10000},
		{"a token rose", history.Token, [][]history.Event{later(0, grant(1, "/l/a", 5)), later(50, lockCall(2, 1)), later(60, grant(2, "/l/b", 7))}, -1},

		{"two have it", history.Linearizable, [][]history.Event{have(1, 0, 100), have(2, 50, 200)}, 19},
		{"one has it after the other", history.Linearizable, [][]history.Event{have(1, 0, 100), have(2, 105, 200)}, -1},
		{"one that has lost it", history.Linearizable, [][]history.Event{have(2, 50, 200), later(0, lockCall(1, 1)), later(10, lockOK(1, 1, "")), later(300, lost(1, 1))}, -1},

		{"an update is lost", history.NoLostUpdate, [][]history.Event{later(0, read(1, 1, 4)), later(9, read(2, 1, 4), wrote(2, 1, 6)), later(5, wrote(1, 1, 5))}, 10000},
		{"versions count, and not times", history.NoLostUpdate, [][]history.Event{later(0, read(1, 1, 4)), later(9, wrote(1, 1, 5)), later(5, read(2, 1, 5), wrote(2, 1, 6))}, -1},
		{"an older holder writes", history.FencedExclusion, [][]history.Event{later(0, token(1, 1, 7), token(2, 1, 8)), later(9, wrote(1, 1, 6)), later(12, wrote(2, 1, 5))}, 10000},
		{"an older holder writes before", history.FencedExclusion, [][]history.Event{later(0, token(1, 1, 7), token(2, 1, 8)), later(9, wrote(2, 1, 6)), later(12, wrote(1, 1, 5))}, -1},
		{"told otherwise", history.HonestLoss, [][]history.Event{later(0, lockOK(1, 1, "")), later(1, lost(1, 1)), later(2, unlockOK(1, 1))}, 10000},
		{"told", history.HonestLoss, [][]history.Event{later(0, lockOK(1, 1, "")), later(1, lost(1, 1)), later(2, unlockFailed(1, 1))}, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var logs []*history.Log
			for _, events := range test.events {
				logs = append(logs, history.NewLog(events))
			}
			events := history.Merge(logs...).Events()
			for _, within := range []time.Duration{0, test.surely, test.surely + 1} {
				clocks := history.Clocks{Default: max(0, within) * time.Millisecond}
				v, decided := history.CheckWithin(test.property, events, clocks, models.Limits{})
				if broken := test.surely >= 0 && within <= test.surely; !decided || (v != nil) != (broken || test.surely == 10000) {
					t.Errorf("within %v: %+v, decided %v", clocks.Default, v, decided)
				}
			}
		})
	}
}

// TestWithinIsSound gives processes clocks that are off by any amount within their bounds, while they use the lock by the
// rules: nothing may be found.
func TestWithinIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		contest := play(t, false)
		contest.finish()
		clocks := history.Clocks{Of: map[int32]time.Duration{}}
		off := map[int32]time.Duration{}
		for p := int32(1); p <= 4; p++ {
			clocks.Of[p] = time.Duration(rapid.IntRange(0, 30).Draw(t, "uncertainty"))
			off[p] = time.Duration(rapid.Int64Range(-int64(clocks.Of[p]), int64(clocks.Of[p])).Draw(t, "off"))
		}
		var logs []*history.Log
		for p := int32(1); p <= 4; p++ {
			log := new(history.Log)
			for i, e := range contest.events {
				if e.Process == p && (e.Kind <= history.Finished || e.Kind == history.NodeCreated || e.Kind >= history.ReenterCall) {
					e.At = time.Duration(i) + off[p]
					log.Append(e)
				}
			}
			logs = append(logs, log)
		}
		events := history.Merge(logs...).Events()
		for _, property := range history.WithinClocks {
			if property == history.HonestLoss {
				continue // Of nodes it needs all events or none.
			}
			if v, decided := history.CheckWithin(property, events, clocks, models.Limits{}); v != nil || !decided {
				t.Fatalf("%+v, decided %v, in\n%v", v, decided, events)
			}
		}
	})
}

// The logs of two processes of a service, which were recorded as the example does, are right; with the clock of one put forward
// they are not, unless its uncertainty allows for that.
func TestProductionHistories(t *testing.T) {
	merged := func(forward time.Duration) []history.Event {
		var logs []*history.Log
		for p := range 2 {
			file, err := os.Open(fmt.Sprintf("testdata/billing-%d.jsonl", p+1))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			log, err := history.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			events := slices.Clone(log.Events())
			for i := range events {
				events[i].At += time.Duration(p) * forward
			}
			logs = append(logs, history.NewLog(events))
		}
		return history.Merge(logs...).Events()
	}
	within := func(milliseconds int) history.Clocks {
		return history.Clocks{Default: time.Millisecond, Of: map[int32]time.Duration{2: time.Duration(milliseconds) * time.Millisecond}}
	}
	for _, test := range []struct {
		forward time.Duration
		within  int
		broken  []history.Property
	}{
		{0, 0, nil},
		{0, 20, nil},
		{10 * time.Millisecond, 1, []history.Property{history.BeliefExclusion, history.Linearizable}},
		{10 * time.Millisecond, 11, nil},
	} {
		events := merged(test.forward)
		for _, property := range history.WithinClocks {
			v, decided := history.CheckWithin(property, events, within(test.within), models.Limits{})
			if want := slices.Contains(test.broken, property); !decided || (v != nil) != want {
				t.Errorf("forward %v, within %d ms: %s: %+v, want a violation: %v", test.forward, test.within, property, v, want)
			}
		}
	}
}

func TestCheckWithinPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for a property that clocks say nothing of")
		}
	}()
	history.CheckWithin(history.Progress, nil, history.Clocks{}, models.Limits{})
}
