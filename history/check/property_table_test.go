package check_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestProperties(t *testing.T) {
	got := check.Properties()
	got[0] = "changed"
	if check.Properties()[0] == "changed" {
		t.Error("the caller's slice is not its own")
	}
	for _, p := range check.Properties() {
		if parsed, err := check.ParseProperty(string(p)); parsed != p || err != nil {
			t.Errorf("parsed %q as %q, error %v", p, parsed, err)
		}
	}
	for _, name := range []string{"", "FIFO", "watches"} {
		_, err := check.ParseProperty(name)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) ||
			!strings.Contains(err.Error(), "no-leaked-nodes") {
			t.Errorf("parsing %q gives error %v", name, err)
		}
	}
}

// breaking has for each property a history that breaks it. The test file of a property adds its own.
var breaking = map[history.Property][]history.Event{
	history.ServerMutualExclusion: {
		lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, ""), lockCall(2, 1),
		created(2, "/l/b", 2),
		lockOK(2, 1, ""),
	},
	history.ClientMutualExclusion: {on(history.Enter, 1), on(history.Enter, 2)},
	history.FIFO: {
		lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1),
		created(2, "/l/b", 2), lockOK(2, 1, ""),
	},
	history.NoLostWatch: {
		armed(1, 1, "/l/a", "data"), deleted(2, "/l/a", 1),
		on(history.Tick, 0),
	},
	history.Progress:          {lockCall(1, 1), on(history.FairPhase, 0)},
	history.NoSpuriousFailure: {lockCall(1, 1), lockFailed(1, 1)},
	history.Fencing: {
		token(1, 1, 5), read(1, 1, 0), wrote(1, 1, 1), token(2, 1, 4),
		wrote(2, 1, 2),
	},
	history.NoLostUpdate: {read(1, 1, 0), read(2, 1, 0), wrote(1, 1, 1), wrote(2, 1, 2)},
	history.NoStarvation: {
		on(history.FairPhase, 0), lockCall(1, 1), created(1, "/l/a", 1),
		lockCall(2, 1), created(2, "/l/b", 2), lockOK(2, 1, ""),
	},
	history.NoLivelock: append([]history.Event{on(history.FairPhase, 0)},
		slices.Repeat([]history.Event{on(history.Send, 1)}, 31)...),
	history.LossNotification: {
		lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, ""),
		deleted(1, "/l/a", 2), unlockCall(1, 1), unlockOK(1, 1),
	},
	history.SessionLoss: {
		lockCall(1, 1), lockOK(1, 1, "/l/a"), sessionOver(1, "/l/a"),
		enter(1, 1),
	},
	history.Reentrancy: {
		lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, ""),
		deleted(1, "/l/a", 2),
	},
	history.NoHerd: append(append([]history.Event{lockCall(1, 1)},
		slices.Repeat([]history.Event{on(history.Send, 1)}, 9)...), lockOK(1, 1, "")),
	history.NoLeakedNodes: {lockCall(1, 1), created(1, "/l/a", 1), lockFailed(1, 1)},
	history.MonotonicToken: {
		{Kind: history.LockReturn, Process: 1, Zxid: 2},
		{Kind: history.LockReturn, Process: 2, Zxid: 2},
	},
	history.Linearizable: {
		lockCall(1, 1), lockOK(1, 1, ""), lockCall(2, 1),
		lockOK(2, 1, ""),
	},
	history.OwnRelease: {on(history.KeySet, 1), on(history.KeyDeleted, 2)},
	history.Validity: {
		{Kind: history.LockReturn, Process: 1, Validity: 1}, lockOK(2, 1, ""),
	},
	history.Extension: {
		lockOK(1, 1, ""), lockOK(2, 1, ""),
		{Kind: history.Extended, Process: 1, Validity: 1},
	},
	history.Promptness: {
		lockCall(1, 1), lockFailed(1, 1),
		{Kind: history.Send, Process: 1, Op: "create", Path: "/l/a"},
	},
	history.NoEarlyPass:      {lockOK(1, 1, "")},
	history.OneLeaderPerTerm: {observed(1, 2, "/l/a", 3)},
	history.TermsInOrder:     {observed(1, 2, "/l/a", 3), observed(1, 2, "/l/a", 2)},
	history.Quiescence: {
		on(history.FairPhase, 0),
		{Kind: history.Send, Process: 1, At: history.QuiescenceAfter + 1},
	},
	history.Margin: {
		{Kind: history.SessionOpened, Process: 1, Session: 7},
		lockOK(1, 1, ""),
		{Kind: history.SessionExpired, Process: 1, Session: 7},
		{Kind: history.Lost, Process: 1, At: 1},
	},
}

func TestCheckerDispatches(t *testing.T) {
	var c check.Checker
	for _, p := range check.Properties() {
		v := c.Check(p, breaking[p])
		if v == nil || v.Property != p || !strings.HasPrefix(v.Signature(), string(p)+": ") {
			t.Errorf("%s: %+v", p, v)
		}
		if v := c.Check(p, contention(3)); v != nil {
			t.Errorf("%s: %+v in a legal history", p, v)
		}
	}
}

func TestCheckerPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for an unknown property")
		}
	}()
	new(check.Checker).Check("unknown", nil)
}

// Checking a legal history must not allocate, because a search does it for most histories.
func TestCheckerAllocates(t *testing.T) {
	var c check.Checker
	events := contention(3)
	for _, p := range check.Properties() {
		c.Check(p, events)
		if n := testing.AllocsPerRun(100, func() { c.Check(p, events) }); n != 0 {
			t.Errorf("%s allocates %v times", p, n)
		}
	}
}

// TestArbitraryEvents checks arbitrary events: the checkers must not panic, must name an existing
// event, and must be deterministic.
func TestArbitraryEvents(t *testing.T) {
	var c check.Checker
	event := rapid.Custom(func(t *rapid.T) history.Event {
		small := rapid.Int32Range(0, 3)
		return history.Event{
			Kind:    history.Kind(rapid.Uint8Range(0, uint8(history.Kinds)).Draw(t, "kind")),
			Process: small.Draw(t, "process"), Attempt: small.Draw(t, "attempt"),
			Watch: small.Draw(t, "watch"),
			Zxid:  int64(small.Draw(t, "zxid")), Session: int64(small.Draw(t, "session")),
			Path: rapid.SampledFrom([]string{"", "/", "l", "/l", "/l/a", "/l/b", "/l/a/x"}).Draw(t,
				"path"),
			Name: rapid.SampledFrom([]string{
				"", "data", "exist", "child", "has-session",
				"not-watching",
			}).Draw(t, "name"),
			Err:      rapid.SampledFrom([]string{"", "", "timeout"}).Draw(t, "err"),
			Validity: time.Duration(small.Draw(t, "validity")),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(event, 15, 60).Draw(t, "events")
		before := slices.Clone(events)
		for _, p := range check.Properties() {
			v := c.Check(p, events)
			if v != nil && (v.Event < 0 || v.Event >= len(events) || v.Property != p) {
				t.Fatalf("%+v", *v)
			}
			if again := new(check.Checker).Check(p, events); !reflect.DeepEqual(v, again) {
				t.Fatalf("%+v, then %+v", v, again)
			}
		}
		if !slices.Equal(events, before) {
			t.Fatal("a checker changed the events")
		}
	})
}

func BenchmarkCheckers(b *testing.B) {
	var c check.Checker
	events, properties := contention(3), check.Properties()
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, p := range properties {
				if v := c.Check(p, events); v != nil {
					b.Fatal(v.Detail)
				}
			}
		}
		b.ReportMetric(float64(len(events)), "events")
	})
	for _, p := range properties {
		b.Run(string(p), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Check(p, events)
			}
		})
	}
	b.Run("linearizable-unknown", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			check.Linearizable(events)
		}
	})
}
