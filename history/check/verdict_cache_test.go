package check_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

// ignoredKinds holds the kinds of events that are not part of the key.
var ignoredKinds = []history.Kind{
	history.Send, history.Reply, history.WatchEvent, history.Serve, history.WatchArmed,
	history.WatchFired,
	history.WatchGone, history.Logged, history.Applied, history.Leading, history.Healed,
	history.Resumed, history.Tick, history.Command, history.Executed, history.Answer,
}

// arbitraryEvent draws an event of one of the kinds, of few processes and nodes, so that events of
// a history often relate.
func arbitraryEvent(r *rand.Rand, kinds []history.Kind) history.Event {
	e := history.Event{
		Kind: kinds[r.IntN(len(kinds))], Process: 1 + r.Int32N(3), Attempt: 1 + r.Int32N(2),
		Zxid: r.Int64N(10),
		At:   time.Duration(r.IntN(4)) * time.Second, Path: fmt.Sprintf("/lock/%d", 1+r.IntN(4)),
		Name: []string{"", "cancel", "expired"}[r.IntN(3)],
	}
	if r.IntN(4) == 0 {
		e.Err = "failed"
	}
	if r.IntN(2) == 0 {
		e.Session = session(e.Process)
	}
	return e
}

// keyKinds returns the kinds of events that are part of the key, except those in a server other
// than ZooKeeper, and extensions.
func keyKinds() []history.Kind {
	var kinds []history.Kind
	for k := history.LockCall; k <= history.ResourceWrite; k++ {
		if !slices.Contains(ignoredKinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Ignored events and times do not change the verdict on a cacheable property.
func TestKeyDecides(t *testing.T) {
	var c check.Checker
	kinds, verdicts, r := keyKinds(), map[string]bool{}, rand.New(rand.NewPCG(1, 1))
	for n := range 20_000 {
		var events, busy []history.Event
		for range 1 + r.IntN(25) {
			for r.IntN(3) == 0 {
				busy = append(busy, arbitraryEvent(r, ignoredKinds))
			}
			e := arbitraryEvent(r, kinds)
			switch n % 10 { // In other histories these events would thin out the related ones.
			case 0:
				e.Kind = history.KeySet + history.Kind(r.IntN(int(history.KeyLost-history.KeySet)+1))
			case 1:
				e.Kind = []history.Kind{history.LockReturn, history.Extended}[len(events)%2]
				e.Validity = time.Duration(len(events)%3) * time.Second
			}
			events = append(events, e)
			e.At = time.Duration(r.IntN(4)) * time.Second
			busy = append(busy, e)
		}
		for _, p := range check.Properties() {
			if !check.CacheableVerdict(p) {
				continue
			}
			quiet, loud := c.Check(p, events), c.Check(p, busy)
			if (quiet == nil) != (loud == nil) {
				t.Fatalf("%s: %+v without traffic, %+v with it:\n%v\n%v", p, quiet, loud, events,
					busy)
			}
			verdicts[fmt.Sprint(p, quiet == nil)] = true
		}
	}
	for _, p := range check.Properties() {
		if check.CacheableVerdict(p) && !(verdicts[fmt.Sprint(p, true)] &&
			verdicts[fmt.Sprint(p, false)]) {
			t.Errorf("%s: histories of one verdict only; cacheable rows ignore messages and times, "+
				"and a history in breaking breaks each of them", p)
		}
	}
}

// A verdict is cached if and only if it was cached for a history that differs only in ignored
// events and times.
func TestVerdictCached(t *testing.T) {
	all := check.Properties()
	events := []history.Event{
		lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, "/l/a"),
		unlockCall(1, 1), deleted(1, "/l/a", 2), unlockOK(1, 1),
	}
	var c check.Checker
	if c.VerdictCached(all, events) {
		t.Fatal("the verdict on the first history is cached")
	}
	c.CacheVerdict()
	if !c.VerdictCached(all, events) {
		t.Fatal("a cached verdict is not found")
	}
	for i := range events {
		for _, field := range reflect.VisibleFields(reflect.TypeFor[history.Event]()) {
			changed := slices.Clone(events)
			eventtest.Alter(reflect.ValueOf(&changed[i]).Elem().FieldByIndex(field.Index))
			want := field.Name == "At" || field.Name == "Ago" || field.Name == "Facts"
			if got := c.VerdictCached(all, changed); got != want {
				t.Errorf("event %d with another %s: cached %v, want %v", i, field.Name, got, want)
			}
		}
	}
	for _, k := range ignoredKinds {
		if !c.VerdictCached(all, slices.Insert(slices.Clone(events), 2, on(k, 1))) {
			t.Errorf("not cached with another event of kind %v", k)
		}
	}
	for _, k := range keyKinds() {
		if c.VerdictCached(all, slices.Insert(slices.Clone(events), 2, on(k, 1))) {
			t.Errorf("cached with another event of kind %v", k)
		}
	}
	for i := range events {
		if c.VerdictCached(all, slices.Delete(slices.Clone(events), i, i+1)) {
			t.Errorf("cached without event %d", i)
		}
	}
}

// A cached verdict does not apply to other properties, other limits, or a prefix.
func TestVerdictCachedFor(t *testing.T) {
	events := []history.Event{lockCall(1, 1), created(1, "/l/a", 1)}
	fifo := []history.Property{history.FIFO}
	for name, change := range map[string]func(*check.Checker, *[]history.Property){
		"another property": func(_ *check.Checker,
			p *[]history.Property,
		) {
			*p = []history.Property{history.MonotonicToken}
		},
		"one more": func(_ *check.Checker, p *[]history.Property) {
			*p = []history.Property{history.FIFO, history.MonotonicToken}
		},
		"none": func(_ *check.Checker, p *[]history.Property) { *p = nil },
		"other bounds": func(c *check.Checker, _ *[]history.Property) {
			c.Limits = history.DefaultLimits
			c.Limits.Overtakings++
		},
		"a beginning": func(c *check.Checker, _ *[]history.Property) { c.Cut = true },
	} {
		var c check.Checker
		c.VerdictCached(fifo, events)
		c.CacheVerdict()
		asked := fifo
		change(&c, &asked)
		if c.VerdictCached(asked, events) {
			t.Errorf("%s: cached", name)
		}
	}
}
