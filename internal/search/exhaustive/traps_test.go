package exhaustive_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
)

// A trap is a small lock that an exhaustive search once reported as complete and correct although a
// random campaign found a violation, because a reduction omitted the only failing schedule or two
// states had one key. Each trap has a variant without the defect.
type trap struct {
	name            string
	clients, cycles int
	faults          string
	fair            bool // the search begins the fair phase in every state
	guard           scenarios.Guard
	limits          history.Limits
	places          int
	shared          func(process, attempt int) bool
	claims          []history.Property // the first is violated
	lock            func(ctx context.Context, t trapProcess, attempt int) (*scenarios.Hold, error)
}

// A trapProcess is a process of a trap. It runs the defect or the variant without it.
type trapProcess struct {
	*scenarios.Process
	defective bool
}

func (t trapProcess) path(name string) string { return t.Directory + "/" + name }

func (t trapProcess) create(name string) error {
	_, err := t.Client.Create(t.path(name), nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	return err
}

func (t trapProcess) createPersistent(name string) error {
	_, err := t.Client.Create(t.path(name), nil, 0, zk.WorldACL(zk.PermAll))
	return err
}

func (t trapProcess) exists(name string) bool {
	there, _, err := t.Client.Exists(t.path(name))
	return err == nil && there
}

func (t trapProcess) get(name string) string {
	data, _, _ := t.Client.Get(t.path(name))
	return string(data)
}

func (t trapProcess) set(name, data string) error {
	_, err := t.Client.Set(t.path(name), []byte(data), -1)
	return err
}

func (t trapProcess) delete(name string) error { return t.Client.Delete(t.path(name), -1) }

// unlockBy returns an Unlock that deletes a node.
func (t trapProcess) unlockBy(name string) func(context.Context) error {
	return func(context.Context) error { return t.delete(name) }
}

// spendRequests takes time by n requests for a node that does not exist.
func (t trapProcess) spendRequests(n int) {
	for range n {
		t.exists("y")
	}
}

var traps = []trap{
	// An early entry raises the highest token that the resource has seen, so that it rejects the
	// newer holder.
	{
		name: "tokens that fall", clients: 2, cycles: 1, guard: scenarios.TokenChecked,
		claims: []history.Property{history.Fencing},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			if t.Number == 2 && !t.exists("a") {
				return nil, errTaken
			}
			token := int64(10 - t.Number)
			if !t.defective {
				token = int64(10 + t.Number)
			}
			return &scenarios.Hold{
					Node: t.path("ab"[t.Number-1 : t.Number]), Token: token,
					Unlock: locktest.Free,
				},
				t.create("ab"[t.Number-1 : t.Number])
		},
	},

	{
		name: "tokens that fall without nodes", clients: 2, cycles: 1,
		guard:  scenarios.TokenChecked,
		claims: []history.Property{history.Fencing},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			t.create("x") // Only one process succeeds.
			hold := &scenarios.Hold{Token: int64(10 - t.Number), Unlock: locktest.Free}
			if t.defective {
				return hold, t.create("ab"[t.Number-1 : t.Number])
			}
			hold.Node = t.path("ab"[t.Number-1 : t.Number])
			if err := t.create("ab"[t.Number-1 : t.Number]); err != nil {
				return nil, err
			}
			_, stat, err := t.Client.Exists(hold.Node)
			if err == nil {
				hold.Token = stat.Czxid
			}
			return hold, err
		},
	},

	// The run continues after a sleep of up to 10 minutes.
	sleepTrap("15 s", 15*time.Second), sleepTrap("16 s", 16*time.Second),
	sleepTrap("10 min", 10*time.Minute),

	// A delayed grant refers to a deleted node.
	{
		name: "a grant that is put off", clients: 2, cycles: 1,
		claims: []history.Property{history.LossNotification},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			if t.Number == 2 {
				if t.get("x") == "granted" && t.defective {
					t.delete("x")
				}
				return nil, errTaken
			}
			t.create("x")
			t.set("x", "granted")
			return &scenarios.Hold{
				Node: t.path("x"), Unlock: t.unlockBy("x"),
				Reenter: func(context.Context) (*scenarios.Hold, error) {
					return &scenarios.Hold{Unlock: locktest.Free},
						nil
				},
			}, nil
		},
	},

	// A process whose failed attempt returns late still waits with the older node while the other
	// process is granted the lock.
	{
		name: "a refusal that is put off", clients: 2, cycles: 1, claims: []history.Property{
			history.FIFO,
			history.ServerMutualExclusion,
		},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			switch {
			case t.Number == 2:
				t.create("n2")
				if !t.defective {
					t.delete("n2")
				}
				t.createPersistent("withdrawn")
				return nil, errTaken
			case !t.exists("withdrawn"):
				return nil, errTaken
			}
			return &scenarios.Hold{Node: t.path("n1"), Unlock: t.unlockBy("n1")}, t.create("n1")
		},
	},

	// A process with a delayed call of Lock is granted the lock by a node that is deleted by then.
	{
		name: "a call that is put off", clients: 2, cycles: 2,
		claims: []history.Property{history.LossNotification},
		lock: func(_ context.Context, t trapProcess, attempt int) (*scenarios.Hold, error) {
			switch {
			case t.Number == 2:
				if t.get("x") == "free" {
					t.delete("x")
				}
				return nil, errTaken
			case attempt == 1:
				release := func(context.Context) error {
					if t.defective {
						return t.set("x", "free")
					}
					return t.set("x", "mine")
				}
				return &scenarios.Hold{Node: t.path("x"), Unlock: release}, t.create("x")
			}
			return &scenarios.Hold{Node: t.path("x"), Unlock: t.unlockBy("x")}, nil
		},
	},

	// A node deleted before the call allows no additional request of the attempt.
	{
		name: "a call that costs more when it is put off", clients: 2, cycles: 2,
		claims: []history.Property{history.NoHerd},
		limits: history.Limits{
			WakeUps: 1, Requests: 5, RequestsPerChange: 3,
			RequestsPerSecond: 30,
		},
		lock: costsMoreLater,
	},

	// The order of two nodes matters after both are deleted.
	{
		name: "the age of a node that is gone", clients: 2, cycles: 1, guard: scenarios.Unguarded,
		claims: []history.Property{history.Fencing},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			if t.Number == 1 {
				t.create("b")
				t.delete("b")
				if t.exists("a") {
					return nil, errTaken
				}
				return &scenarios.Hold{
					Node:   t.path("b"),
					Unlock: func(context.Context) error { return t.createPersistent("done") },
				}, nil
			}
			t.exists("x")
			if !t.defective && !t.exists("done") {
				return nil, errTaken
			}
			t.create("a")
			t.delete("a")
			if !t.exists("done") {
				return nil, errTaken
			}
			return &scenarios.Hold{Node: t.path("a"), Unlock: locktest.Free}, nil
		},
	},

	{
		name: "a crashed holder of another's node", clients: 3, cycles: 1, faults: "crash:c1=1",
		claims: []history.Property{history.ServerMutualExclusion},
		lock:   holdsAnothersNode,
	},

	// A restarted process reads the clock. Cached execution must show it the time of its restart.
	{
		name: "the clock of a restarted process", clients: 2, cycles: 1, faults: "restart=1",
		claims: []history.Property{history.LossNotification},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			late := time.Now().Second() > 5
			t.create("w")
			time.Sleep(6 * time.Second)
			t.spendRequests(1)
			if late && t.defective {
				// This node does not exist.
				return &scenarios.Hold{Node: t.path("x"), Unlock: locktest.Free}, nil
			}
			return nil, errTaken
		},
	},

	// A delayed grant names a node that belongs to another process by then.
	{
		name: "a grant that names another's node", clients: 2, cycles: 1,
		claims: []history.Property{history.ServerMutualExclusion},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			if t.Number == 2 {
				if data, _, _ := t.Client.Get(t.Directory); string(data) != "mine" {
					return nil, errTaken
				}
				return &scenarios.Hold{Node: t.path("x"), Unlock: t.unlockBy("x")}, t.create("x")
			}
			hold := &scenarios.Hold{Node: t.path("x"), Unlock: locktest.Free}
			if !t.defective {
				hold.Unlock = t.unlockBy("x")
				if err := t.create("x"); err != nil {
					return nil, err
				}
			}
			_, err := t.Client.Set(t.Directory, []byte("mine"), -1)
			return hold, err
		},
	},

	// A process that waits with one node and is granted the lock by another is overtaken only with
	// the first.
	{
		name: "a grant by a node that did not wait", clients: 2, cycles: 1,
		claims: []history.Property{history.FIFO, history.ServerMutualExclusion},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			if t.Number == 1 {
				t.createPersistent("p1")
				t.create("e1")
				return &scenarios.Hold{Node: t.path("p1"), Unlock: locktest.Free}, nil
			}
			if !t.exists("e1") {
				return nil, errTaken
			}
			t.create("e2")
			if err := t.delete("p1"); err != nil || !t.defective {
				return nil, errTaken
			}
			return &scenarios.Hold{Node: t.path("e2"), Unlock: t.unlockBy("e2")}, nil
		},
	},

	// A delayed grant names a node that exists by then, so that its deletion is a release.
	{
		name: "a release of another's node", clients: 2, cycles: 1,
		claims: []history.Property{history.NoHerd},
		limits: history.Limits{Requests: 100, RequestsPerChange: 3, RequestsPerSecond: 300},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			if t.Number == 1 {
				if t.exists("x") || !t.defective {
					return nil, errTaken
				}
				return &scenarios.Hold{Node: t.path("x"), Unlock: locktest.Free}, nil
			}
			t.create("x")
			t.Client.GetW(t.path("x"))
			t.delete("x")
			return nil, errTaken
		},
	},

	// The limit of requests is exceeded in a second that overlaps two others.
	{
		name: "a second of many requests", clients: 1, cycles: 1, fair: true,
		claims: []history.Property{history.NoLivelock},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			t.spendRequests(3)
			time.Sleep(900 * time.Millisecond)
			t.spendRequests(20)
			if !t.defective {
				time.Sleep(time.Second)
			}
			time.Sleep(200 * time.Millisecond)
			t.spendRequests(20)
			return nil, errTaken
		},
	},

	// A delivery that is pending at the begin of the fair phase lets a process call Lock within it.
	{
		name: "a call in the fair phase", clients: 2, cycles: 2, fair: true,
		claims: []history.Property{history.NoStarvation},
		lock: func(_ context.Context, t trapProcess, attempt int) (*scenarios.Hold, error) {
			switch {
			case t.Number == 2:
				if attempt == 1 && t.exists("m") {
					t.create("b")
					t.spendRequests(8)
				}
				return nil, errTaken
			case attempt == 1:
				t.createPersistent("m")
				return nil, errTaken
			case !t.defective:
				return nil, errTaken
			}
			return &scenarios.Hold{Unlock: locktest.Free}, nil
		},
	},

	// The order of a grant and the deletion of another node decides whether the history is
	// linearizable.
	{
		name: "the order of a grant and a deletion", clients: 2, cycles: 1,
		claims: []history.Property{history.Linearizable},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			if !t.defective {
				return &scenarios.Hold{Node: t.path("x"), Unlock: t.unlockBy("x")}, t.create("x")
			}
			if t.Number == 1 {
				t.create("x")
				t.delete("x")
				t.spendRequests(1)
			} else {
				t.spendRequests(3)
			}
			return &scenarios.Hold{Unlock: locktest.Free}, nil
		},
	},

	// A grant that precedes the election of its node does not lead a term.
	{
		name: "a leader that is put off", clients: 2, cycles: 1,
		claims: []history.Property{history.OneLeaderPerTerm},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			node, term := "n"+strconv.Itoa(t.Number), int64(7)
			if !t.defective {
				term = int64(t.Number)
			}
			hold := &scenarios.Hold{Node: t.path(node), Token: term, Unlock: t.unlockBy(node)}
			if t.Number == 1 {
				return hold, t.create(node)
			}
			_, err := t.Client.Multi( // The second node is created only behind the first.
				&zk.SetDataRequest{Path: t.path("n1"), Version: -1},
				&zk.CreateRequest{
					Path: t.path(node), Flags: zk.FlagEphemeral, Acl: zk.WorldACL(zk.PermAll),
				})
			return hold, err
		},
	},

	// A process leaves a barrier before another fails to enter.
	{
		name: "a failure at a barrier that is put off", clients: 2, cycles: 1,
		places: 2, claims: []history.Property{history.NoEarlyPass},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			if t.Number == 2 {
				t.createPersistent("withdrawn")
				return nil, errTaken
			}
			if !t.exists("withdrawn") || !t.defective {
				return nil, errTaken
			}
			return &scenarios.Hold{Unlock: locktest.Free}, nil
		},
	},

	// An early grant does not set a barrier that another process is about to fail to set.
	{
		name: "a barrier that is set late", clients: 3, cycles: 2,
		claims: []history.Property{history.NoEarlyPass},
		shared: func(process, _ int) bool { return process == 3 },
		lock:   setsLate,
	},

	// A process leaves its critical section and is granted the lock again at once, before another
	// calls Lock; that one's request comes before the next one of the first.
	{
		name: "a call after a leaving", clients: 2, cycles: 2, places: 2,
		claims: []history.Property{history.MonotonicToken},
		lock:   regrantsAtOnce,
	},

	// An early entry extends the lock before another process is granted it.
	extensionTrap("an extension that is put off", history.Extension, 3*time.Second),
	// An early entry ends the time of the first process before the other is granted the lock.
	extensionTrap("a validity time that is cut short late", history.Validity, 0),
}

// setsLate grants the first process the lock, and the third passes in its second attempt. The
// second process fails if the first has created its node.
func setsLate(ctx context.Context, t trapProcess, attempt int) (*scenarios.Hold, error) {
	switch {
	case t.Number == 1 && attempt == 1:
		return &scenarios.Hold{Unlock: t.unlockBy("x")}, t.create("x")
	case t.Number == 2 && attempt == 1:
		if !t.exists("x") {
			<-ctx.Done()
		}
	case t.Number == 3:
		t.exists("y")
		if attempt == 2 && t.defective {
			return &scenarios.Hold{Unlock: locktest.Free}, nil
		}
	}
	return nil, errTaken
}

// regrantsAtOnce grants the first process the lock again, with a higher token, while its Unlock is
// still sending a request. The second process is granted the lock in its second attempt unless that
// request has been served.
func regrantsAtOnce(_ context.Context, t trapProcess, attempt int) (*scenarios.Hold, error) {
	unlock := func(context.Context) error {
		go t.createPersistent("late")
		return nil
	}
	switch {
	case t.Number == 1 && attempt == 1:
		return &scenarios.Hold{Token: 1, Unlock: unlock}, t.create("x")
	case t.Number == 1:
		return &scenarios.Hold{
			Token: 5, Unlock: locktest.Free,
			Reenter: func(context.Context) (*scenarios.Hold, error) { // It waits for the Unlock.
				t.exists("y")
				return nil, errTaken
			},
		}, nil
	case attempt == 1:
		t.exists("y")
	case !t.exists("late") && t.defective:
		return &scenarios.Hold{Token: 4, Unlock: locktest.Free}, nil
	}
	return nil, errTaken
}

// extensionTrap returns a trap whose first process extends its lock when it enters, so that the
// lock is valid for the given time. The second process is granted the lock, too.
func extensionTrap(name string, claim history.Property, valid time.Duration) trap {
	return trap{
		name: name, clients: 2, cycles: 1, claims: []history.Property{claim},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			if t.Number == 2 {
				if !t.exists("x") || !t.defective {
					return nil, errTaken
				}
				return &scenarios.Hold{Unlock: locktest.Free}, nil
			}
			extend := func(context.Context) (time.Time, error) { return time.Now().Add(valid), nil }
			return &scenarios.Hold{
				Unlock: locktest.Free, Until: time.Now().Add(3 * time.Second), Extend: extend,
			}, t.createPersistent("x")
		},
	}
}

// sleepTrap returns a trap whose processes sleep before they check for the node.
func sleepTrap(name string, pause time.Duration) trap {
	return trap{
		name: "a sleep of " + name, clients: 2, cycles: 1,
		claims: []history.Property{history.ClientMutualExclusion},
		lock: func(_ context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
			time.Sleep(pause)
			if t.Number == 2 {
				t.spendRequests(2)
			}
			if t.exists("x") {
				return nil, errTaken
			}
			if err := t.create("x"); err != nil && !t.defective {
				return nil, err
			}
			return &scenarios.Hold{Unlock: t.unlockBy("x")}, nil
		},
	}
}

func costsMoreLater(_ context.Context, t trapProcess, attempt int) (*scenarios.Hold, error) {
	switch {
	case t.Number == 2 && attempt == 1:
		t.create("m")
		if t.exists("flag") {
			t.Client.Multi(&zk.DeleteRequest{Path: t.path("m"), Version: -1},
				&zk.CreateRequest{Path: t.path("gone"), Acl: zk.WorldACL(zk.PermAll)})
		}
		return nil, errTaken
	case t.Number == 2:
		return nil, errTaken
	case attempt == 1:
		t.createPersistent("flag")
		return nil, errTaken
	case !t.exists("gone"):
		return nil, errTaken
	}
	looks := 2
	if t.defective {
		looks = 6
	}
	for range looks {
		t.exists("m")
	}
	return &scenarios.Hold{Node: t.path("n"), Unlock: t.unlockBy("n")}, t.create("n")
}

// holdsAnothersNode grants the first process the lock by the node of the second, which waits for
// the node of the first.
func holdsAnothersNode(ctx context.Context, t trapProcess, _ int) (*scenarios.Hold, error) {
	switch t.Number {
	case 3:
		time.Sleep(7 * time.Second)
		t.spendRequests(3)
		return nil, errTaken
	case 1:
		t.create("b")
		if !t.exists("a") {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		hold := &scenarios.Hold{
			Node:   t.path("a"),
			Unlock: func(context.Context) error { <-ctx.Done(); return ctx.Err() },
		}
		if !t.defective {
			hold.Node = t.path("b")
		}
		return hold, nil
	}
	if !t.exists("b") {
		return nil, errTaken
	}
	t.create("a")
	time.Sleep(7 * time.Second)
	there, _, events, err := t.Client.ExistsW(t.path("b"))
	if err != nil {
		return nil, err
	}
	if there {
		<-events
	}
	return &scenarios.Hold{Node: t.path("a"), Unlock: t.unlockBy("a")}, nil
}

// scenario returns the scenario of the trap, with or without the defect.
func (tr trap) scenario(t *testing.T, defective bool) scenarios.Scenario {
	t.Helper()
	plan := faults.Plan{}
	if tr.faults != "" {
		var err error
		if plan, err = faults.Parse(tr.faults); err != nil {
			t.Fatal(err)
		}
	}
	open := func(p *scenarios.Process) (scenarios.Locker, error) {
		attempt := 0
		return trapLocker{func(ctx context.Context) (*scenarios.Hold, error) {
			attempt++
			return tr.lock(ctx, trapProcess{p, defective}, attempt)
		}}, nil
	}
	return scenarios.Scenario{
		Clients: tr.clients, Cycles: tr.cycles, Faults: plan,
		Subject: scenarios.Subject{
			Name: "trap", Claims: tr.claims, Guard: tr.guard, Limits: tr.limits,
			Places: tr.places, Shared: tr.shared, Open: open,
		},
	}
}

// A trapLocker grants the lock in both modes alike.
type trapLocker struct{ scenarios.LockerFunc }

func (l trapLocker) LockShared(ctx context.Context) (*scenarios.Hold, error) { return l.Lock(ctx) }
