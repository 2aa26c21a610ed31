package history_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
)

func TestProperties(t *testing.T) {
	want := []history.Property{
		history.ServerMutualExclusion, history.ClientMutualExclusion, history.Fencing,
		history.NoLostUpdate, history.FIFO,
		history.NoLostWatch, history.Progress, history.NoStarvation, history.NoLivelock,
		history.NoSpuriousFailure, history.NoLeakedNodes,
		history.LossNotification, history.SessionLoss, history.Reentrancy, history.NoHerd,
		history.MonotonicToken, history.Linearizable,
	}
	got := history.Properties()
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	got[0] = "changed"
	if history.Properties()[0] != history.ServerMutualExclusion {
		t.Error("the caller's slice is not its own")
	}
	for _, p := range want {
		if parsed, err := history.ParseProperty(string(p)); parsed != p || err != nil {
			t.Errorf("parsed %q as %q, error %v", p, parsed, err)
		}
	}
	for _, name := range []string{"", "FIFO", "watches"} {
		_, err := history.ParseProperty(name)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) ||
			!strings.Contains(err.Error(), "no-leaked-nodes") {
			t.Errorf("parsing %q gives error %v", name, err)
		}
	}
}

func TestCheckerDispatches(t *testing.T) {
	var c history.Checker
	violations := map[history.Property][]history.Event{
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
	}
	for _, p := range history.Properties() {
		v := c.Check(p, violations[p])
		if v == nil || v.Property != p || !strings.HasPrefix(v.Signature(), string(p)+": ") {
			t.Errorf("%s: %+v", p, v)
		}
		if v := c.Check(p, contention(3)); v != nil {
			t.Errorf("%s: %+v in a history that is right", p, v)
		}
	}
}

func TestCheckerPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for an unknown property")
		}
	}()
	new(history.Checker).Check("unknown", nil)
}

// Checking a history that is right must not allocate, because a search does little else.
func TestCheckerAllocates(t *testing.T) {
	var c history.Checker
	events := contention(3)
	for _, p := range history.Properties() {
		c.Check(p, events)
		if n := testing.AllocsPerRun(100, func() { c.Check(p, events) }); n != 0 {
			t.Errorf("%s allocates %v times", p, n)
		}
	}
}

// A contest is a model of a fair lock that writes the history of its use. Its processes queue by
// their nodes, and each watches the node before its own.
type contest struct {
	events  []history.Event
	zxid    int64
	watch   int32
	queue   []int32 // the processes with a node, oldest first
	phase   []phase // of each process, by number
	tries   []int32
	zxids   []int64 // of its last node
	watches []int32 // the watch that is armed, 0 for none
	version int64   // of the resource that the lock protects
}

type phase uint8

const (
	idle phase = iota
	called
	queued
	holding
	unlocking // the node is still there
	unlocked  // the node is gone
	crashed   // until the session expires
	left
)

func newContest(processes int) *contest {
	return &contest{
		phase: make([]phase, processes+1), tries: make([]int32, processes+1),
		watches: make([]int32, processes+1),
		zxids:   make([]int64, processes+1),
	}
}

func (c *contest) log(events ...history.Event) { c.events = append(c.events, events...) }

func (c *contest) path(p int32) string { return fmt.Sprintf("/lock/%d-%d", p, c.tries[p]) }

// step lets a process do what comes next for it, and returns whether there was anything.
func (c *contest) step(p int32) bool {
	switch c.phase[p] {
	case idle:
		c.tries[p]++
		c.log(lockCall(p, c.tries[p]))
	case called:
		c.create(p)
	case queued:
		if c.queue[0] != p {
			return false
		}
		granted := lockOK(p, c.tries[p], "")
		granted.Zxid = c.zxids[p]
		c.log(granted, enter(p, c.tries[p]), read(p, c.tries[p], c.version), reenter(p, c.tries[p]),
			reentered(p, c.tries[p]))
	case holding:
		c.version++
		c.log(wrote(p, c.tries[p], c.version), exited(p, c.tries[p]), on(history.Leave, p),
			unlockCall(p, c.tries[p]))
	case unlocking:
		c.delete(p)
	case unlocked:
		c.log(unlockOK(p, c.tries[p]))
		c.phase[p] = idle
		return true
	case crashed:
		c.delete(p)
		end := expired(p)
		end.Zxid = c.zxid
		c.log(end)
	case left:
		return false
	}
	c.phase[p]++
	return true
}

func (c *contest) create(p int32) {
	c.zxid++
	c.zxids[p] = c.zxid
	c.log(created(p, c.path(p), c.zxid))
	if n := len(c.queue); n > 0 {
		c.watch++
		c.watches[p] = c.watch
		c.log(armed(p, c.watch, c.path(c.queue[n-1]), "data"))
	}
	c.queue = append(c.queue, p)
}

func (c *contest) delete(p int32) {
	n := slices.Index(c.queue, p)
	if n < 0 {
		return
	}
	c.zxid++
	gone := deleted(p, c.path(p), c.zxid)
	c.log(gone)
	c.queue = slices.Delete(c.queue, n, n+1)
	if n == len(c.queue) {
		return
	}
	next := c.queue[n]
	w := c.watches[next]
	if w == 0 {
		return // it has crashed
	}
	c.watches[next] = 0
	c.log(fired(next, w, c.path(p), c.zxid), delivered(next, w, c.path(p), c.zxid),
		reply(next, c.zxid))
	if n > 0 {
		c.watch++
		c.watches[next] = c.watch
		c.log(armed(next, c.watch, c.path(c.queue[n-1]), "data"))
	}
}

func (c *contest) crash(p int32) {
	if c.phase[p] < crashed {
		if w := c.watches[p]; w != 0 {
			c.watches[p] = 0
			c.log(gone(p, w, "/lock"))
		}
		c.log(crash(p))
		c.phase[p] = crashed
	}
}

// play draws who does what and, if they may, who crashes, and returns the contest in the middle of
// it.
func play(t *rapid.T, crashes bool) *contest {
	processes := rapid.IntRange(2, 4).Draw(t, "processes")
	c := newContest(processes)
	for _, move := range rapid.SliceOfN(rapid.Uint16(), 30, 90).Draw(t, "moves") {
		p := int32(int(move)%processes) + 1
		if crashes && move%41 == 40 {
			c.crash(p)
		} else {
			c.step(p)
		}
	}
	return c
}

// finish lets all processes come to an end.
func (c *contest) finish() {
	c.log(on(history.FairPhase, 0))
	for moved := true; moved; {
		moved = false
		for p := int32(1); int(p) < len(c.phase); p++ {
			if c.phase[p] != idle {
				moved = c.step(p) || moved
			}
		}
	}
}

func TestLegalHistories(t *testing.T) {
	var c history.Checker
	rapid.Check(t, func(t *rapid.T) {
		contest := play(t, true)
		events := contest.events
		for range 2 {
			for _, p := range history.Properties() {
				if v := c.Check(p, events); v != nil {
					t.Fatalf("%+v in\n%v", *v, events)
				}
			}
			contest.finish()
			events = contest.events
		}
	})
}

// queueAll brings every process to where it waits for the lock or holds it, and lets the first in
// the queue hold it.
func (c *contest) queueAll() {
	for p := int32(1); int(p) < len(c.phase); p++ {
		for c.phase[p] != queued && c.phase[p] != holding {
			c.step(p)
		}
	}
	if c.phase[c.queue[0]] == queued {
		c.step(c.queue[0])
	}
}

// TestIllegalGrants plays by the rules until one process holds the lock and all others wait, and
// then grants it to one that waits.
func TestIllegalGrants(t *testing.T) {
	var c history.Checker
	rapid.Check(t, func(t *rapid.T) {
		contest := play(t, false)
		contest.queueAll()
		place := rapid.IntRange(1, len(contest.queue)-1).Draw(t, "place")
		p, at := contest.queue[place], len(contest.events)
		contest.log(lockOK(p, contest.tries[p], ""), on(history.Enter, p))
		want := map[history.Property]int{
			history.ServerMutualExclusion: at, history.Linearizable: at,
			history.ClientMutualExclusion: at + 1,
		}
		if place > 1 {
			want[history.FIFO] = at
		}
		for _, property := range history.Properties() {
			v := c.Check(property, contest.events)
			event, wanted := want[property]
			if (v != nil) != wanted || wanted && v.Event != event {
				t.Fatalf("%s: %+v, want a violation: %v, at %d in\n%v", property, v, wanted, event,
					contest.events)
			}
		}
	})
}

// TestExclusionsAgree checks on arbitrary interleavings of attempts that two checkers which have
// nothing in common but the recognition of grants, and a search over all orders of the operations,
// come to the same verdict. They must, as long as no node is deleted before its grant: then each
// grant has a moment at which the lock must be free.
func TestExclusionsAgree(t *testing.T) {
	var c history.Checker
	rapid.Check(t, func(t *rapid.T) {
		events := interleave(t, drawScripts(t))
		served, linearizable := c.Check(history.ServerMutualExclusion, events),
			c.Check(history.Linearizable, events)
		if (served == nil) != (linearizable == nil) || served != nil &&
			served.Event != linearizable.Event {
			t.Fatalf("server-mutual-exclusion: %+v, linearizable: %+v in\n%v", served, linearizable,
				events)
		}
		if orderExists(events) != (linearizable == nil) {
			t.Fatalf("linearizable: %+v, but all orders say otherwise in\n%v", linearizable, events)
		}
	})
}

// drawScripts draws what each process does, in its own order.
func drawScripts(t *rapid.T) [][]history.Event {
	var scripts [][]history.Event
	for p := int32(1); p <= rapid.Int32Range(2, 4).Draw(t, "processes"); p++ {
		path := fmt.Sprintf("/lock/%d", p)
		del, call := deleted(p, path, 0), unlockCall(p, 1)
		script := []history.Event{lockCall(p, 1), created(p, path, 0), lockOK(p, 1, path)}
		switch rapid.IntRange(0, 5).Draw(t, "ending") {
		case 0:
			script = append(script, call, del, unlockOK(p, 1))
		case 1:
			script = append(script, call, unlockFailed(p, 1), del)
		case 2:
			script = append(script, del, call, unlockOK(p, 1))
		case 3:
			script = append(script, del)
		case 4:
			script = append(script, call, del)
		case 5:
			script[2] = lockFailed(p, 1)
		}
		scripts = append(scripts, script)
	}
	return scripts
}

func interleave(t *rapid.T, scripts [][]history.Event) []history.Event {
	var events []history.Event
	for len(scripts) > 0 {
		n := rapid.IntRange(0, len(scripts)-1).Draw(t, "next")
		events = append(events, scripts[n][0])
		if scripts[n] = scripts[n][1:]; len(scripts[n]) == 0 {
			scripts = slices.Delete(scripts, n, n+1)
		}
	}
	return events
}

// orderExists decides linearizability in the plainest way, from the definition of the intervals and
// by trying every order of the grants. It knows of the histories that each process has one attempt
// and that every granted node goes.
func orderExists(events []history.Event) bool {
	index := func(kind history.Kind, p int32) int {
		return slices.IndexFunc(events, func(e history.Event) bool {
			return e.Kind == kind &&
				e.Process == p
		})
	}
	var turns [][4]int // the bounds of the acquire and of the release
	for _, e := range events {
		if e.Kind != history.LockReturn || e.Err != "" {
			continue
		}
		from, to := index(history.UnlockCall, e.Process), index(history.NodeDeleted, e.Process)
		if from < 0 || from > to {
			from = to
		} else if back := index(history.UnlockReturn, e.Process); back > to &&
			events[back].Err == "" {
			to = back
		}
		turns = append(turns, [4]int{
			index(history.LockCall, e.Process),
			index(history.LockReturn, e.Process), from, to,
		})
	}
	return canFollow(turns, 0)
}

// canFollow reports whether the turns can come one after the other in some order, all after the
// instant now. It takes each operation at the earliest instant that it can, which leaves most room
// to the others.
func canFollow(turns [][4]int, now int) bool {
	if len(turns) == 0 {
		return true
	}
	for n, turn := range turns {
		acquire := max(now, turn[0])
		release := max(acquire, turn[2])
		rest := slices.Concat(turns[:n], turns[n+1:])
		if acquire <= turn[1] && release <= turn[3] && canFollow(rest, release) {
			return true
		}
	}
	return false
}

// A change makes one event of a history that is right say something else, and tells which property
// that must break. It returns no history where there is no event to change.
type change struct {
	name     string
	property history.Property
	of       func(t *rapid.T, events []history.Event) []history.Event
}

// pick draws one of the events that fit, or returns -1.
func pick(t *rapid.T, events []history.Event, fits func(i int, e history.Event) bool) int {
	var fitting []int
	for i, e := range events {
		if fits(i, e) {
			fitting = append(fitting, i)
		}
	}
	if len(fitting) == 0 {
		return -1
	}
	return rapid.SampledFrom(fitting).Draw(t, "event")
}

// of returns a condition for pick: an event of that kind, which is not the first of its kind where
// later is set.
func of(kind history.Kind, later bool) func(int, history.Event) bool {
	first := true
	return func(_ int, e history.Event) bool {
		if e.Kind != kind {
			return false
		}
		fits := !later || !first
		first = false
		return fits
	}
}

// edited returns a change that edits one event of a kind.
func edited(name string, property history.Property, kind history.Kind, later bool,
	edit func(*history.Event),
) change {
	return change{name, property, func(t *rapid.T, events []history.Event) []history.Event {
		i := pick(t, events, of(kind, later))
		if i < 0 {
			return nil
		}
		changed := slices.Clone(events)
		edit(&changed[i])
		return changed
	}}
}

// without returns a change that leaves one event of a kind out, and doubled one that has it twice.
func without(name string, property history.Property, kind history.Kind) change {
	return change{name, property, func(t *rapid.T, events []history.Event) []history.Event {
		i := pick(t, events, of(kind, false))
		if i < 0 {
			return nil
		}
		return slices.Delete(slices.Clone(events), i, i+1)
	}}
}

func doubled(name string, property history.Property, kind history.Kind) change {
	return change{name, property, func(t *rapid.T, events []history.Event) []history.Event {
		i := pick(t, events, of(kind, false))
		if i < 0 {
			return nil
		}
		return slices.Insert(slices.Clone(events), i, events[i])
	}}
}

// inserted returns a change that inserts events behind one of a kind.
func inserted(name string, property history.Property, kind history.Kind,
	what func(history.Event) []history.Event,
) change {
	return change{name, property, func(t *rapid.T, events []history.Event) []history.Event {
		i := pick(t, events, of(kind, false))
		if i < 0 {
			return nil
		}
		return slices.Insert(slices.Clone(events), i+1, what(events[i])...)
	}}
}

var changes = []change{
	edited("a token is that of the first grant", history.MonotonicToken, history.LockReturn, true,
		func(e *history.Event) { e.Zxid = 1 }),
	edited("a write rests on nothing", history.NoLostUpdate, history.ResourceRead, true,
		func(e *history.Event) { e.Zxid = 0 }),
	edited("a grant fails", history.NoSpuriousFailure, history.LockReturn, false,
		func(e *history.Event) { e.Err = "no" }),
	without("an event of a watch is not delivered", history.NoLostWatch, history.WatchEvent),
	without("a watch does not fire", history.NoLostWatch, history.WatchFired),
	doubled("a watch fires twice", history.NoLostWatch, history.WatchFired),
	doubled("an event of a watch is delivered twice", history.NoLostWatch, history.WatchEvent),
	without("Unlock does not return", history.Progress, history.UnlockReturn),
	without("Lock does not return", history.Progress, history.LockReturn),
	inserted("another enters", history.ClientMutualExclusion, history.Enter,
		func(e history.Event) []history.Event {
			return []history.Event{enter(e.Process+1, 1)}
		}),
	inserted("another is granted the same node", history.ServerMutualExclusion, history.Enter,
		func(e history.Event) []history.Event {
			return []history.Event{
				lockCall(9, 1), created(9, "/lock/x", 1_000_000),
				lockOK(9, 1, ""),
			}
		}),
	inserted("another has the lock too", history.Linearizable, history.Enter,
		func(e history.Event) []history.Event {
			return []history.Event{
				lockCall(9, 1), lockOK(9, 1, ""), unlockCall(9, 1),
				unlockOK(9, 1),
			}
		}),
	inserted("one that came before another waits still", history.FIFO, history.LockCall,
		func(e history.Event) []history.Event {
			return []history.Event{lockCall(9, 1), created(9, "/lock/x", -1)}
		}),
	inserted("the holder's node goes unnoticed", history.LossNotification, history.LockReturn,
		func(e history.Event) []history.Event {
			return []history.Event{deleted(8, fmt.Sprintf("/lock/%d-%d", e.Process, e.Attempt), 0)}
		}),
	inserted("the holder hears that its session is over, and stays", history.SessionLoss,
		history.Enter, func(e history.Event) []history.Event {
			return []history.Event{
				sessionOver(e.Process, fmt.Sprintf("/lock/%d-%d", e.Process, e.Attempt)),
				on(history.Tick, 0),
			}
		}),
	inserted("the holder gives the lock back too soon", history.Reentrancy, history.LockReturn,
		func(e history.Event) []history.Event {
			return []history.Event{deleted(e.Process, fmt.Sprintf("/lock/%d-%d", e.Process,
				e.Attempt), 0)}
		}),
	inserted("a node is left", history.NoLeakedNodes, history.UnlockReturn,
		func(e history.Event) []history.Event {
			return []history.Event{{
				Kind: history.NodeCreated, Process: e.Process, Path: "/lock/x",
				Session: 77,
			}}
		}),
	inserted("an older holder writes", history.Fencing, history.ResourceWrite,
		func(e history.Event) []history.Event {
			return []history.Event{token(9, 1, 0), {
				Kind: history.LockReturn, Process: 9, Attempt: 2,
				Zxid: -5,
			}, wrote(9, 2, e.Zxid)}
		}),
	inserted("a process asks without end", history.NoLivelock, history.FairPhase,
		func(history.Event) []history.Event {
			return slices.Repeat([]history.Event{on(history.Send, 9)}, 31)
		}),
	inserted("a process is overtaken", history.NoStarvation, history.FairPhase,
		func(history.Event) []history.Event {
			return []history.Event{
				lockCall(8, 1), created(8, "/m/x", 1), lockCall(9, 1),
				lockOK(9, 1, ""),
			}
		}),
	inserted("an acquire is expensive", history.NoHerd, history.FairPhase,
		func(history.Event) []history.Event {
			sends := slices.Repeat([]history.Event{on(history.Send, 9)}, 9)
			return slices.Concat([]history.Event{lockCall(9, 1)}, sends,
				[]history.Event{lockOK(9, 1, "")})
		}),
}

// TestChangedHistories changes one step of a history that is right so that it breaks a property,
// which must be found.
func TestChangedHistories(t *testing.T) {
	var c history.Checker
	rapid.Check(t, func(t *rapid.T) {
		contest := play(t, false)
		contest.finish()
		change := rapid.SampledFrom(changes).Draw(t, "change")
		events := change.of(t, contest.events)
		if events == nil {
			return
		}
		if v := c.Check(change.property, events); v == nil {
			t.Fatalf("%s: %s holds in\n%v", change.name, change.property, events)
		}
	})
	for _, p := range history.Properties() {
		if !slices.ContainsFunc(changes, func(c change) bool { return c.property == p }) {
			t.Errorf("no change breaks %s", p)
		}
	}
}

// TestArbitraryEvents feeds the checkers what no simulation produces: they must not panic, must
// name an event that there is, and must say the same twice.
func TestArbitraryEvents(t *testing.T) {
	var c history.Checker
	event := rapid.Custom(func(t *rapid.T) history.Event {
		small := rapid.Int32Range(0, 3)
		return history.Event{
			Kind:    history.Kind(rapid.Uint8Range(0, uint8(history.FairPhase)+1).Draw(t, "kind")),
			Process: small.Draw(t, "process"), Attempt: small.Draw(t, "attempt"),
			Watch: small.Draw(t, "watch"),
			Zxid:  int64(small.Draw(t, "zxid")), Session: int64(small.Draw(t, "session")),
			Path: rapid.SampledFrom([]string{"", "/", "l", "/l", "/l/a", "/l/b", "/l/a/x"}).Draw(t,
				"path"),
			Name: rapid.SampledFrom([]string{
				"", "data", "exist", "child", "has-session",
				"not-watching",
			}).Draw(t, "name"),
			Err: rapid.SampledFrom([]string{"", "", "timeout"}).Draw(t, "err"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(event, 15, 60).Draw(t, "events")
		before := slices.Clone(events)
		for _, p := range history.Properties() {
			v := c.Check(p, events)
			if v != nil && (v.Event < 0 || v.Event >= len(events) || v.Property != p) {
				t.Fatalf("%+v", *v)
			}
			if again := new(history.Checker).Check(p, events); !reflect.DeepEqual(v, again) {
				t.Fatalf("%+v, then %+v", v, again)
			}
		}
		if !slices.Equal(events, before) {
			t.Fatal("a checker changed the events")
		}
	})
}

func BenchmarkCheckers(b *testing.B) {
	var c history.Checker
	events, properties := contention(3), history.Properties()
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
			history.CheckLinearizable(events)
		}
	})
}
