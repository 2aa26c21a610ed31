package production_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/history/production"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

func TestParseClocks(t *testing.T) {
	clocks, err := production.ParseClocks("20ms,c3=1s", new(production.Processes))
	if err != nil || clocks.Default != 20*time.Millisecond || clocks.Of[3] != time.Second ||
		len(clocks.Of) != 1 {
		t.Errorf("%+v, %v", clocks, err)
	}
	for _, text := range []string{"", "20", "-1ms", "c1", "3=1s", "c0=1s", "c1=", "1ms,,"} {
		if clocks, err := production.ParseClocks(text, new(production.Processes)); err == nil {
			t.Errorf("%q: %+v", text, clocks)
		}
	}
}

// later sets the times of events, in milliseconds of the clocks of their processes.
func later(at int, events ...history.Event) []history.Event {
	for i := range events {
		events[i].At = time.Duration(at) * time.Millisecond
	}
	return events
}

func TestCheckWithin(t *testing.T) {
	grant := func(p int32, node string, token int64) history.Event {
		return history.Event{
			Kind: history.LockReturn, Process: p, Attempt: 1, Path: node,
			Zxid: token,
		}
	}
	queued := func(p int32, node string) history.Event {
		return history.Event{Kind: history.NodeCreated, Process: p, Path: node, Session: 1}
	}
	stay := func(p int32, from, till int) []history.Event {
		return slices.Concat(later(from, enter(p, 1)),
			later(till, history.Event{Kind: history.Leave, Process: p, Attempt: 1}))
	}
	have := func(p int32, from, till int) []history.Event {
		return slices.Concat(later(from, lockCall(p, 1)), later(from+10, lockOK(p, 1, "")),
			later(till, unlockCall(p, 1)), later(till+10, unlockOK(p, 1)))
	}
	for _, test := range []struct {
		name     string
		property history.Property
		events   [][]history.Event
		surely   time.Duration // up to which uncertainty the property is surely broken, -1 if never
	}{
		{"inside together", history.ClientMutualExclusion, [][]history.Event{
			stay(1, 0, 100),
			stay(2, 80, 200),
		}, 9},
		{"inside one after the other", history.ClientMutualExclusion, [][]history.Event{
			stay(1, 0, 100),
			stay(2, 101, 200),
		}, -1},
		{
			"inside until the last event", history.ClientMutualExclusion,
			[][]history.Event{
				later(0, enter(1, 1)), later(100, on(history.Send, 1)),
				stay(2, 80, 200),
			},
			9,
		},
		{
			"inside, and notified of a loss", history.ClientMutualExclusion,
			[][]history.Event{later(0, enter(1, 1)), later(100, lost(1, 1)), stay(2, 80, 200)},
			9,
		},

		{"overtaken", history.FIFO, [][]history.Event{
			later(0, queued(1, "/l/a")),
			later(50, grant(2, "/l/b", 7)), later(80, grant(1, "/l/a", 5)),
		}, 14},
		{"in turn", history.FIFO, [][]history.Event{
			later(0, queued(1, "/l/a")),
			later(50, grant(2, "/l/b", 4)), later(80, grant(1, "/l/a", 5)),
		}, -1},
		{"another lock", history.FIFO, [][]history.Event{
			later(0, queued(1, "/l/a")),
			later(50, grant(2, "/m/b", 7)), later(80, grant(1, "/l/a", 5)),
		}, -1},
		{"overtaken by one that is lost", history.FIFO, [][]history.Event{
			later(0, queued(1, "/l/a")),
			later(50, grant(2, "/l/b", 7), lost(2, 1)), later(80, grant(1, "/l/a", 5)),
		}, -1},

		{"a token fell", history.MonotonicToken, [][]history.Event{
			later(0, grant(1, "/l/a", 7)),
			later(50, lockCall(2, 1)), later(60, grant(2, "/l/b", 5)),
		}, 24},
		{"equal tokens", history.MonotonicToken, [][]history.Event{
			later(0, grant(1, "/l/a", 7)),
			later(50, grant(2, "/l/b", 7)),
		}, 10000},
		{"a token rose", history.MonotonicToken, [][]history.Event{
			later(0, grant(1, "/l/a", 5)),
			later(50, lockCall(2, 1)), later(60, grant(2, "/l/b", 7)),
		}, -1},

		{
			"two have it", history.Linearizable,
			[][]history.Event{have(1, 0, 100), have(2, 50, 200)},
			19,
		},
		{"one has it after the other", history.Linearizable, [][]history.Event{
			have(1, 0, 100),
			have(2, 105, 200),
		}, -1},
		{"one that has lost it", history.Linearizable, [][]history.Event{
			have(2, 50, 200),
			later(0, lockCall(1, 1)), later(10, lockOK(1, 1, "")), later(300, lost(1, 1)),
		}, -1},

		{"an update is lost", history.NoLostUpdate, [][]history.Event{
			later(0, read(1, 1, 4)),
			later(9, read(2, 1, 4), wrote(2, 1, 6)), later(5, wrote(1, 1, 5)),
		}, 10000},
		{"versions count, and not times", history.NoLostUpdate, [][]history.Event{
			later(0, read(1, 1, 4)),
			later(9, wrote(1, 1, 5)), later(5, read(2, 1, 5), wrote(2, 1, 6)),
		}, -1},
		{
			"an older holder writes", history.Fencing,
			[][]history.Event{
				later(0, token(1, 1, 7), token(2, 1, 8)), later(9, wrote(1, 1, 6)),
				later(12, wrote(2, 1, 5)),
			},
			10000,
		},
		{
			"an older holder writes before", history.Fencing,
			[][]history.Event{
				later(0, token(1, 1, 7), token(2, 1, 8)), later(9, wrote(2, 1, 6)),
				later(12, wrote(1, 1, 5)),
			},
			-1,
		},
		{"contradicted", history.LossNotification, [][]history.Event{
			later(0, lockOK(1, 1, "")),
			later(1, lost(1, 1)), later(2, unlockOK(1, 1)),
		}, 10000},
		{"notified", history.LossNotification, [][]history.Event{
			later(0, lockOK(1, 1, "")),
			later(1, lost(1, 1)), later(2, unlockFailed(1, 1)),
		}, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var logs []*history.Log
			for _, events := range test.events {
				logs = append(logs, history.NewLog(events))
			}
			events := production.Merge(logs...).Events()
			for _, within := range []time.Duration{0, test.surely, test.surely + 1} {
				clocks := production.Clocks{Default: max(0, within) * time.Millisecond}
				v, decided := production.Within(test.property, events, clocks, models.Limits{})
				if broken := test.surely >= 0 && within <= test.surely; !decided ||
					(v != nil) != (broken || test.surely == 10000) {
					t.Errorf("within %v: %+v, decided %v", clocks.Default, v, decided)
				}
			}
		})
	}
}

// TestWithinIsSound shifts the clocks of processes within their bounds in legal histories, which
// must break nothing.
func TestWithinIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fair := eventtest.PlayFairLock(t, false)
		fair.Finish()
		clocks := production.Clocks{Of: map[int32]time.Duration{}}
		off := map[int32]time.Duration{}
		for p := int32(1); p <= 4; p++ {
			clocks.Of[p] = time.Duration(rapid.IntRange(0, 30).Draw(t, "uncertainty"))
			off[p] = time.Duration(rapid.Int64Range(-int64(clocks.Of[p]),
				int64(clocks.Of[p])).Draw(t,
				"off"))
		}
		var logs []*history.Log
		for p := int32(1); p <= 4; p++ {
			log := new(history.Log)
			for i, e := range fair.Events {
				if e.Process == p && (e.Kind <= history.Finished || e.Kind == history.NodeCreated ||
					e.Kind >= history.ReenterCall) {
					e.At = time.Duration(i) + off[p]
					log.Append(e)
				}
			}
			logs = append(logs, log)
		}
		events := production.Merge(logs...).Events()
		for _, property := range production.WithinClocks {
			if v, decided := production.Within(property, events, clocks,
				models.Limits{}); v != nil ||
				!decided {
				t.Fatalf("%+v, decided %v, in\n%v", v, decided, events)
			}
		}
	})
}

// TestWithinAgrees compares the checks, which skip most pairs of grants, with a comparison of all
// pairs, on histories; most have a violation.
func TestWithinAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	kinds := []history.Kind{
		history.LockCall, history.LockReturn, history.LockReturn, history.NodeCreated,
		history.NodeCreated, history.Lost,
		history.Enter, history.Leave, history.UnlockCall, history.UnlockReturn,
	}
	plain := map[history.Property]func([]history.Event, time.Duration) bool{
		history.MonotonicToken: plainTokenFell, history.FIFO: plainOvertaken,
		history.ClientMutualExclusion: plainInside,
	}
	verdicts := map[string]int{}
	for n := range 10_000 {
		paths := []string{"/l/a", "/l/b", "/m/a"}
		if n%5 == 0 {
			paths[2] = ""
		}
		var events []history.Event
		for range random.IntN(20) {
			e := history.Event{
				Kind: kinds[random.IntN(len(kinds))], At: time.Duration(random.IntN(30)),
				Process: 1 + random.Int32N(3), Attempt: 1 + random.Int32N(2),
				Path: paths[random.IntN(len(paths))], Zxid: random.Int64N(20),
			}
			if e.Kind == history.UnlockReturn && random.IntN(2) == 0 {
				e.Err = "lost"
			}
			events = append(events, e)
		}
		events = production.Merge(history.NewLog(events)).Events()
		within := time.Duration(random.IntN(3))
		for property, plain := range plain {
			v, _ := production.Within(property, events, production.Clocks{Default: within},
				models.Limits{})
			want := slices.ContainsFunc(plainLocks(events),
				func(one []history.Event) bool { return plain(one, within) })
			if (v != nil) != want {
				t.Fatalf("%s within %v: %+v, want a violation: %v, in\n%v", property, within, v,
					want, events)
			}
			verdicts[fmt.Sprint(property, want)]++
		}
	}
	for property := range plain {
		if right, wrong := verdicts[fmt.Sprint(property, false)],
			verdicts[fmt.Sprint(property, true)]; right < 50 || wrong < 50 {
			t.Errorf("%s: only %d right and %d wrong histories", property, right, wrong)
		}
	}
}

// plainLocks returns the history of each named lock, or the whole history if it names at most one.
func plainLocks(events []history.Event) (all [][]history.Event) {
	lockOf := func(e history.Event) (name string) {
		for _, o := range events {
			if o.Kind == history.LockReturn && o.Process == e.Process && o.Attempt == e.Attempt &&
				o.Path != "" {
				name = o.Path[:2]
			}
		}
		return name
	}
	for _, name := range []string{"/l", "/m"} {
		if !slices.ContainsFunc(events, func(e history.Event) bool {
			return e.Kind == history.LockReturn && strings.HasPrefix(e.Path, name)
		}) {
			return [][]history.Event{events}
		}
		all = append(all, slices.DeleteFunc(slices.Clone(events),
			func(e history.Event) bool { return lockOf(e) != name }))
	}
	return all
}

// A plainGrant is a grant with the last call of its attempt, which is -1 without a time of its own,
// the last node of its path, the end of the attempt, and whether it was lost. Its fields are indexes
// of events.
type plainGrant struct {
	history.Event
	place, call, end int
	queued           *history.Event
	lost             bool
}

func plainGrants(events []history.Event) []plainGrant {
	var all []plainGrant
	for i, e := range events {
		if e.Kind != history.LockReturn {
			continue
		}
		g, queued := plainGrant{Event: e, place: i, call: -1, end: len(events)}, false
		for i, o := range events {
			same := o.Process == e.Process && o.Attempt == e.Attempt
			switch {
			case o.Kind == history.NodeCreated && o.Process == e.Process &&
				o.Path == e.Path && e.Path != "":
				g.queued = &events[i]
			case !same:
			case o.Kind == history.LockCall:
				g.call = i
			case o.Kind == history.Lost || o.Kind == history.UnlockCall:
				g.end = min(g.end, i)
			}
			if same && o.Kind == history.NodeCreated {
				if !queued && g.call >= 0 && events[g.call].At == o.At {
					g.call = -1 // The time is that of the node.
				}
				queued = true
			}
			told := o.Kind == history.Lost || o.Kind == history.UnlockReturn && o.Err != ""
			g.lost = g.lost || same && told
		}
		all = append(all, g)
	}
	return all
}

func plainTokenFell(events []history.Event, within time.Duration) bool {
	all := plainGrants(events)
	for i := range all {
		for j := range all {
			a, b := &all[i], &all[j]
			openAtOnce := a.Process == b.Process && b.call < a.end
			if i == j || a.Zxid == 0 || b.Zxid == 0 || b.Zxid > a.Zxid || openAtOnce {
				continue
			}
			if a.Zxid == b.Zxid && a.Process != b.Process ||
				b.call >= 0 && a.place < b.call && a.At+within < events[b.call].At-within {
				return true
			}
		}
	}
	return false
}

func plainOvertaken(events []history.Event, within time.Duration) bool {
	all := plainGrants(events)
	for i := range all {
		for j := range all {
			w, g := &all[i], &all[j]
			if w.queued != nil && !w.lost && !g.lost && w.Zxid != 0 && g.Zxid > w.Zxid &&
				w.Process != g.Process &&
				w.queued.At+within < g.At-within && g.At+within < w.At-within {
				return true
			}
		}
	}
	return false
}

func plainInside(events []history.Event, within time.Duration) bool {
	type stay struct {
		process    int32
		from, till time.Duration
	}
	var stays []stay
	for i, e := range events {
		if e.Kind != history.Enter {
			continue
		}
		s := stay{process: e.Process, from: e.At + within}
		for _, o := range events[i+1:] {
			if o.Process != e.Process || o.Attempt != e.Attempt {
				continue
			}
			s.till = o.At - within
			if o.Kind == history.Leave || o.Kind == history.Lost || o.Kind == history.Enter ||
				o.Kind == history.UnlockCall {
				break
			}
		}
		for _, o := range stays {
			if o.process != s.process && max(o.from, s.from) < min(o.till, s.till) {
				return true
			}
		}
		stays = append(stays, s)
	}
	return false
}

// Two logs recorded as in the example have no violation. If the clock of one process is put
// forward, they have one, unless the uncertainty of the clock is that large.
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
		return production.Merge(logs...).Events()
	}
	within := func(milliseconds int) production.Clocks {
		return production.Clocks{
			Default: time.Millisecond,
			Of:      map[int32]time.Duration{2: time.Duration(milliseconds) * time.Millisecond},
		}
	}
	for _, test := range []struct {
		forward time.Duration
		within  int
		broken  []history.Property
	}{
		{0, 0, nil},
		{0, 20, nil},
		{10 * time.Millisecond, 1, []history.Property{
			history.ClientMutualExclusion,
			history.Linearizable,
		}},
		{10 * time.Millisecond, 11, nil},
	} {
		events := merged(test.forward)
		for _, property := range production.WithinClocks {
			v, decided := production.Within(property, events, within(test.within),
				models.Limits{})
			if want := slices.Contains(test.broken, property); !decided || (v != nil) != want {
				t.Errorf("forward %v, within %d ms: %s: %+v, want a violation: %v", test.forward,
					test.within,
					property, v, want)
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
	production.Within(history.Progress, nil, production.Clocks{}, models.Limits{})
}
