package lock_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
)

// Contenders are in the wrong order, or readers and writers block each other wrongly.
var orderDefects = []defect{
	{"B38", "ordered by name instead of number", 2, func(w *world) {
		w.acquire(w.guid(1, 9))
		w.wantWaiting(w.start(background, w.guid(2, 1)))
	}},
	{"B39", "the minus sign of an overflowed number is lost", 1, func(w *world) {
		w.wrapped(1<<31-1, "2147483647", "-2147483648")
		w.wantBehind(w.start(background, w.mutex(1)), "2147483647", "-2147483648")
	}},
	{"B40 D19", "overflowed numbers come first", 1, func(w *world) {
		w.wrapped(-1<<31+9, "2147483646", "2147483647", "-2147483648", "-2147483647")
		c := w.start(background, w.mutex(1))
		w.wantBehind(c, "-2147483647", "-2147483648", "2147483647", "2147483646")
	}},
	{"B41", "two contenders with the same number", 1, func(w *world) {
		w.wrapped(1<<31-1, "2147483647", "2147483647")
		w.wantBehind(w.start(background, w.mutex(1)), "2147483647", "2147483647")
	}},
	{"B42", "a reader waits for a writer behind it", 3, func(w *world) {
		writer := w.take(background, w.rwmutex(1).Lock)
		ctx, leave := context.WithCancel(background)
		w.begin(ctx, w.rwmutex(1).Lock)
		w.flow()
		reader := w.begin(background, w.rwmutex(2).RLock)
		w.flow()
		late := w.begin(background, w.rwmutex(3).Lock)
		w.flow()
		leave() // The reader lists again.
		w.flow()
		w.unlock(writer)
		w.wantGranted(reader)
		w.unlock(reader.lease)
		w.wantGranted(late)
	}},
	{"B43", "a writer gets in before a downgraded holder unlocks", 2, func(w *world) {
		owner := lock.WithOwner(background)
		m := w.rwmutex(1)
		writing := w.take(owner, m.Lock)
		writer := w.begin(background, w.rwmutex(2).Lock)
		w.flow()
		reading := w.take(owner, m.RLock)
		w.unlock(writing)
		w.wantWaiting(writer)
		w.unlock(reading)
		w.wantGranted(writer)
	}},
	{"B45 D20", "a foreign node is taken for a contender", 1, func(w *world) {
		for _, name := range []string{
			"0", "config", "-1", "n-0000000000", "_c_x-lock-0000000000",
			"_c_0123456789abcdef0123456789abcdeg-lock-0000000000",
		} {
			w.create("/lock/"+name, 0, 0)
		}
		w.acquire(w.mutex(1))
	}},
}

// wrapped creates nodes of other contenders with numbers around the overflow of the counter, one
// after another, and sets the counter. Their names follow those of all others.
func (w *world) wrapped(next int32, numbers ...string) {
	for i, number := range numbers {
		w.create(fmt.Sprintf("/lock/_c_ffffffff%024x-lock-%s", 15-i, number), zk.FlagEphemeral, 77)
	}
	w.cluster.Tree().SetSequence("/lock", next)
}

// wantBehind verifies that a call waits until the nodes with these numbers are deleted, in this
// order.
func (w *world) wantBehind(c *call, numbers ...string) {
	w.t.Helper()
	for _, number := range numbers {
		w.wantWaiting(c)
		for _, name := range w.nodes() {
			if strings.HasSuffix(name, "-lock-"+number) && strings.HasPrefix(name, "_c_ffffffff") {
				if err := w.do(func() error {
					return w.client(1).Delete("/lock/"+name,
						-1)
				}); err != nil {
					w.t.Fatal(err)
				}
				break
			}
		}
	}
	w.flow()
	w.wantGranted(c)
}
