package simredis

import (
	"crypto/sha1"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/callsite"
	"github.com/interlock-sim/interlock/sim"
)

// A world is a server with two clients whose commands a test serves by hand.
type world struct {
	*System
	log   *history.Log
	conns []*conn // of c1 and c2
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{System: Service{}.New().(*System), log: new(history.Log)}
	w.Reset(sim.Config{Servers: 1, Log: w.log, Settle: func() {}})
	for n := range 2 {
		w.Connect()
		c, err := w.clients[n].Dial(t.Context(), "tcp", Address(0))
		if err != nil {
			t.Fatal(err)
		}
		w.conns = append(w.conns, c.(*conn))
	}
	return w
}

// do lets a process send a command, and serves it.
func (w *world) do(process int, command ...string) {
	w.clients[process-1].send(w.conns[process-1], command, callsite.Site{})
	w.serve(w.clients[process-1], 0)
}

// changesOfKeys returns the changes of keys so far, such as "key-set c1".
func (w *world) changesOfKeys() (all []string) {
	for _, e := range w.log.Events() {
		if e.Kind.OfKey() {
			all = append(all, strings.TrimSuffix(e.Kind.String()+" c"+string('0'+e.Process), " c0"))
		}
	}
	return all
}

// Who has set a key is known also if the key has the same value as before.
func TestOwnership(t *testing.T) {
	const (
		write = `redis.call("DEL", KEYS[1]) redis.call("SET", KEYS[1], "1")`
		reset = write + " return 1"
	)
	for name, test := range map[string]struct {
		second [][]string // by c2, after c1 has set the key to 1
		want   []string   // after that
	}{
		"failed SETNX":   {[][]string{{"SETNX", "k", "1"}}, nil},
		"failed SET NX":  {[][]string{{"SET", "k", "1", "NX"}}, nil},
		"renewal":        {[][]string{{"PEXPIRE", "k", "100"}}, nil},
		"SET":            {[][]string{{"SET", "k", "1"}}, []string{"key-set c2"}},
		"SET of more":    {[][]string{{"SET", "k", "2"}}, []string{"key-set c2"}},
		"INCR":           {[][]string{{"INCR", "k"}}, nil},
		"INCR, DEL":      {[][]string{{"INCR", "k"}, {"DEL", "k"}}, []string{"key-deleted c2"}},
		"INCR, SET":      {[][]string{{"INCR", "k"}, {"SET", "k", "2"}}, []string{"key-set c2"}},
		"HSET":           {[][]string{{"HSET", "h", "f", "1"}}, []string{"key-set c2"}},
		"DEL":            {[][]string{{"DEL", "k"}}, []string{"key-deleted c2"}},
		"DEL of another": {[][]string{{"DEL", "other"}}, nil},
		"DEL, SET in EVAL": {
			[][]string{{"EVAL", reset, "1", "k"}}, []string{"key-deleted c2", "key-set c2"},
		},
		"DEL, SET in MULTI": {
			[][]string{{"MULTI"}, {"DEL", "k"}, {"SET", "k", "1"}, {"EXEC"}},
			[]string{"key-deleted c2", "key-set c2"},
		},
		"SET that fails":   {[][]string{{"SET", "k", "1", "PX", "0"}}, nil},
		"SETEX that fails": {[][]string{{"SETEX", "k", "abc", "1"}}, nil},
		"MULTI that fails": {
			[][]string{{"MULTI"}, {"DEL", "k"}, {"SET", "k"}, {"EXEC"}, {"SETNX", "k", "1"}}, nil,
		},
		"DEL, SET in EVAL that fails": {
			[][]string{{"EVAL", write + ` error("late")`, "1", "k"}},
			[]string{"key-deleted c2", "key-set c2"},
		},
		"discarded": {[][]string{{"MULTI"}, {"DEL", "k"}, {"DISCARD"}, {"GET", "k"}}, nil},
	} {
		w := newWorld(t)
		w.do(1, "SET", "k", "1")
		for _, command := range test.second {
			w.do(2, command...)
		}
		if got := w.changesOfKeys()[1:]; !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A change that leaves a key to the process that had set it is noted.
func TestChangesOfKeptKeys(t *testing.T) {
	for _, test := range []struct {
		process int
		command []string
		want    []history.Change
	}{
		{1, []string{"RPUSH", "list", "b"}, []history.Change{{Path: "list"}}},
		{2, []string{"RPUSH", "list", "b"}, []history.Change{{Path: "list"}}},
		{2, []string{"LPOP", "list"}, nil}, // It deletes the key.
		{2, []string{"RPUSH", "other", "b"}, nil},
		{2, []string{"INCR", "k"}, []history.Change{{Path: "k"}}},
		{2, []string{"SET", "k", "2"}, nil}, // The key is c2's now.
		{1, []string{"PEXPIRE", "k", "100"}, nil},
		{2, []string{"PEXPIRE", "k", "100"}, []history.Change{{Path: "k", Contests: true}}},
		{2, []string{"PEXPIRE", "k", "900"}, []history.Change{{Path: "k"}}},
		{2, []string{"GET", "k"}, nil},
	} {
		w := newWorld(t)
		w.log.GatherFacts(true)
		w.do(1, "RPUSH", "list", "a")
		w.do(1, "SET", "k", "1", "PX", "500")
		w.do(test.process, test.command...)
		var got []history.Change
		for _, e := range w.log.Events() {
			if e.Kind == history.Executed && e.Facts != nil {
				got = append(got, e.Facts.Changes...)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("c%d %q: %+v, want %+v", test.process, test.command, got, test.want)
		}
	}
}

// Only commands that change data count as writes.
func TestWrites(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		command []string
		writes  int64
	}{
		{[]string{"SETNX", "k", "1"}, 1},
		{[]string{"SETNX", "k", "1"}, 1},
		{[]string{"SET", "k", "2", "NX", "PX", "100"}, 1},
		{[]string{"GET", "k"}, 1},
		{[]string{"EVAL", `return redis.call("GET", KEYS[1])`, "1", "k"}, 1},
		{[]string{"PEXPIRE", "k", "500"}, 2},
		{[]string{"DEL", "other"}, 2},
		{[]string{"DEL", "k"}, 3},
	} {
		if w.do(1, test.command...); w.Transactions() != test.writes {
			t.Errorf("%q: %d writes, want %d", test.command, w.Transactions(), test.writes)
		}
	}
}

// Executed reports whether a command has changed data or set the same again.
func TestExecutedTellsWrites(t *testing.T) {
	const compare = `if redis.call("GET", KEYS[1]) == ARGV[1] then ` +
		`return redis.call("DEL", KEYS[1]) end return 0`
	w := newWorld(t)
	w.do(1, "SET", "k", "1", "PX", "500")
	for _, test := range []struct {
		command []string
		writes  bool
	}{
		{[]string{"SET", "k", "2", "NX", "PX", "500"}, false},
		{[]string{"GET", "k"}, false},
		{[]string{"DEL", "other"}, false},
		{[]string{"EVAL", compare, "1", "k", "other"}, false},
		{[]string{"MULTI"}, false},
		{[]string{"PEXPIRE", "k", "500"}, true},
		{[]string{"EXEC"}, false}, // The expiry is the same.
		{[]string{"PEXPIRE", "k", "500"}, true},
		{[]string{"SET", "k", "1", "PX", "500"}, true},
		{[]string{"EVAL", `return redis.call("PEXPIRE", KEYS[1], "500")`, "1", "k"}, true},
		{[]string{"EVAL", compare, "1", "k", "1"}, true},
		{[]string{"HSET", "h", "f", "1"}, true},
	} {
		w.do(1, test.command...)
		events := w.log.Events()
		i := len(events) - 1
		for events[i].Kind != history.Executed {
			i--
		}
		if events[i].MayEndLock != test.writes {
			t.Errorf("%q: writes %v, want %v", test.command, !test.writes, test.writes)
		}
	}
}

// After a fail-over a key belongs to the process whose command the replica has, even if all
// processes write the same value, and also if the command runs a script by its hash.
func TestOwnershipAfterFailOver(t *testing.T) {
	const script = `redis.call("SET", KEYS[1], "1") return 1`
	sum := fmt.Sprintf("%x", sha1.Sum([]byte(script)))
	w := newWorld(t)
	w.do(2, "SCRIPT", "LOAD", script)
	w.do(1, "EVALSHA", sum, "1", "k")
	w.do(1, "SETNX", "k", "1")
	w.Advance(time.Second) // The replica has this.
	if w.servers[0].unreplicated() {
		t.Error("the replica lacks something")
	}
	w.do(1, "DEL", "k")
	w.do(2, "SET", "k", "1")
	if !w.servers[0].unreplicated() {
		t.Error("the replica lacks nothing")
	}
	w.Inject(sim.OnServer(sim.Fault, 0).StruckBy(faults.FailOver), faults.DefaultSeverity())
	want := []string{"key-set c1", "key-deleted c1", "key-set c2", "key-lost", "key-set c1"}
	if got := w.changesOfKeys(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A replica has no effect of a transaction that has failed, whichever of its commands is wrong.
func TestFailedTransactionAfterFailOver(t *testing.T) {
	for _, wrong := range [][]string{{"SET", "k"}, {"GET"}, {"EXPIRE", "k"}} {
		w := newWorld(t)
		w.do(1, "SET", "k", "1")
		for _, command := range [][]string{{"MULTI"}, {"DEL", "k"}, wrong, {"EXEC"}} {
			w.do(2, command...)
		}
		w.Advance(time.Second) // The replica has this.
		w.do(1, "SET", "other", "1")
		w.Inject(sim.OnServer(sim.Fault, 0).StruckBy(faults.FailOver), faults.DefaultSeverity())
		want := []string{"key-set c1", "key-set c1", "key-lost"}
		if got := w.changesOfKeys(); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", wrong, got, want)
		}
	}
}

// The key covers when a server has ended a connection or has stalled, because the process can tell.
func TestKeyCoversTimeOfFault(t *testing.T) {
	for _, kind := range []faults.Kind{faults.WipeServer, faults.StallServer} {
		key := func(struck time.Duration) uint64 {
			w := newWorld(t)
			w.do(1, "SET", "k", "1")
			for _, now := range []time.Duration{time.Second, 2 * time.Second} {
				w.Advance(now)
				if now == struck {
					w.Inject(sim.OnServer(sim.Fault, 0).StruckBy(kind), faults.DefaultSeverity())
				}
			}
			return w.Key()
		}
		if key(time.Second) == key(2*time.Second) {
			t.Errorf("the key does not cover when %v strikes", kind)
		}
	}
}

// RenumberAges numbers messages by process and server, requests first.
func TestRenumberAges(t *testing.T) {
	w := newWorld(t)
	w.do(2, "GET", "k")
	for _, process := range []int{2, 1} {
		w.clients[process-1].send(w.conns[process-1], []string{"GET", "k"}, callsite.Site{})
	}
	order := func() (all []string) {
		steps := w.AppendMessages(nil)
		slices.SortFunc(steps, func(a, b sim.EnabledStep) int { return int(a.Age) - int(b.Age) })
		for _, s := range steps {
			all = append(all, s.Step.String())
		}
		return all
	}
	want := []string{"deliver c2", "serve c2", "serve c1"}
	if got := order(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	key := w.Key()
	w.RenumberAges()
	want = []string{"serve c1", "serve c2", "deliver c2"}
	if got := order(); !slices.Equal(got, want) {
		t.Errorf("renumbered %q, want %q", got, want)
	}
	if w.Key() != key {
		t.Error("the ages are part of the key")
	}
}

// Data expire next with the first key that does. A deleted key counts no more.
func TestExpiry(t *testing.T) {
	w := newWorld(t)
	want := func(wantLast, wantNext time.Duration) {
		t.Helper()
		if last, next := w.Expiry(); last != wantLast || next != wantNext {
			t.Errorf("at %v: data expired at %v and will at %v; want %v and %v", w.Now(), last,
				next, wantLast, wantNext)
		}
	}
	w.do(1, "SET", "k", "1")
	want(0, 0)
	w.do(1, "SET", "a", "1", "PX", "500")
	w.do(2, "SET", "b", "1", "PX", "2000")
	want(0, 500*time.Millisecond)
	w.do(2, "DEL", "a")
	want(0, 2*time.Second)
	w.do(1, "SET", "a", "1", "PX", "500")
	w.Advance(time.Second)
	want(time.Second, 2*time.Second) // It was noticed then.
	w.do(1, "DEL", "b")
	want(time.Second, 0)
}

// States that differ in when a key expired last have different keys, also if only a jump of the
// clock tells them apart: how long time passes after an expiry depends on it. See [System.Expiry].
func TestKeyTellsLastExpiry(t *testing.T) {
	after := func(jump time.Duration) *world {
		w := newWorld(t)
		w.do(1, "SET", "a", "1", "PX", "60000")
		for w.Now() < 3*time.Second {
			w.Advance(w.Now() + time.Second)
			if w.Now() == jump {
				w.Inject(sim.OnServer(sim.Fault, 0).StruckBy(faults.JumpClock),
					faults.DefaultSeverity())
			}
		}
		return w
	}
	early, late := after(time.Second), after(2*time.Second)
	first, _ := early.Expiry()
	second, _ := late.Expiry()
	if first == second {
		t.Fatalf("the key expired at %v in both", first)
	}
	if early.Key() == late.Key() {
		t.Errorf("states after expiries at %v and %v have the same key", first, second)
	}
}
