package lock_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

// A witness records the events that it observes. Only kinds may be called while more can come.
type witness struct {
	mu     sync.Mutex
	events []lock.Event
}

func (o *witness) Observe(e lock.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, e)
}

func (o *witness) kinds() []lock.EventKind {
	o.mu.Lock()
	defer o.mu.Unlock()
	var kinds []lock.EventKind
	for _, e := range o.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func (o *witness) want(t *testing.T, want ...lock.EventKind) {
	t.Helper()
	if got := o.kinds(); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// slow is an observer that takes its time.
type slow time.Duration

func (s slow) Observe(e lock.Event) {
	if e.Kind == lock.Granted {
		time.Sleep(time.Duration(s))
	}
}

// An observer that blocks the grant for longer than the lease is valid also delays the caller, so
// that the lease has ended by the time that the caller has it.
func TestSlowObserver(t *testing.T) {
	for _, canEnd := range []bool{true, false} {
		inWorld(t, 1, func(w *world) {
			m := w.mutex(1, lock.WithObserver(slow(sessionTimeout/2)))
			c := w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
				if !canEnd {
					ctx = context.WithoutCancel(ctx)
				}
				lease, err := m.Lock(ctx)
				return lease, errors.Join(err, lease.Err())
			})
			w.flow()
			time.Sleep(sessionTimeout / 2)
			w.wantError(c, lock.ErrLost)
		})
	}
}

func TestObserver(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		holding, waiting := &witness{}, &witness{}
		lease := w.acquire(w.mutex(1, lock.WithObserver(holding)))
		c := w.start(background, w.mutex(2, lock.WithObserver(waiting)))
		w.pass(time.Second)
		w.unlock(lease)
		w.wantGranted(c)
		holding.want(t, lock.Queued, lock.Granted, lock.Ended, lock.Removed)
		waiting.want(t, lock.Queued, lock.Waiting, lock.Waiting, lock.Granted)
		if e := waiting.events[1]; e.Ahead != 1 || e.Path != "/lock" || e.Node != c.lease.Node() {
			t.Errorf("%+v", e)
		}
		if e := waiting.events[3]; e.Token != c.lease.Token() || e.Elapsed < time.Second {
			t.Errorf("%+v", e)
		}
		if e := holding.events[2]; e.Token != lease.Token() || e.Elapsed < time.Second ||
			e.Err != nil {
			t.Errorf("%+v", e)
		}
		w.watch()
		w.do(func() error { return w.mutex(1).Revoke(background) })
		go w.client(1).Delete(c.lease.Node(), -1)
		w.flow()
		if got := waiting.kinds()[4:]; !slices.Equal(got, []lock.EventKind{
			lock.Revoked, lock.Ended,
			lock.Removed,
		}) {
			t.Errorf("events %v", got)
		}
		if e := waiting.events[5]; e.Err == nil {
			t.Errorf("%+v lacks the reason of the loss", e)
		}
	})
}

// The loss of a lease is observed when it happens, even if the keeper waits for an answer.
func TestObserverOfLossWithoutAnswer(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		seen := &witness{}
		lease := w.acquire(w.mutex(1, lock.WithObserver(seen)))
		time.Sleep(sessionTimeout)
		w.send() // and nothing more: the confirmation is never answered
		if lease.Err() == nil {
			t.Fatal("the lease is still valid")
		}
		seen.want(t, lock.Queued, lock.Granted, lock.Ended)
		if e := seen.events[2]; e.Err == nil || e.Elapsed >= sessionTimeout/2 {
			t.Errorf("%+v", e)
		}
	})
}

// All events of an attempt have the same pointer, which tells what it asks for.
func TestObserverOfAttempts(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		seen := &witness{}
		m := must(lock.NewRWMutex(w.session(1), "/lock", lock.WithObserver(seen)))
		lease := w.take(background, m.Lock)
		if err := w.do(func() error { return lease.Downgrade(background) }); err != nil {
			t.Fatal(err)
		}
		w.unlock(lease)
		seen.want(t, lock.Queued, lock.Granted, lock.Downgraded, lock.Ended, lock.Removed)
		w.unlock(w.take(background, m.RLock))
		writer, reader := seen.events[0].Attempt, seen.events[5].Attempt
		for i, e := range seen.events {
			if want := map[bool]*lock.Attempt{true: writer, false: reader}[i < 5]; e.Attempt != want {
				t.Errorf("event %d is of the attempt %p, want %p", i, e.Attempt, want)
			}
		}
		if *writer != (lock.Attempt{Places: 1}) || *reader != (lock.Attempt{Shared: true, Places: 1}) {
			t.Errorf("attempts %+v, %+v", *writer, *reader)
		}
		s := must(lock.NewSemaphore(w.session(1), "/pool", 3, lock.WithObserver(seen)))
		w.take(background, s.Lock)
		if e := seen.events[len(seen.events)-1]; e.Attempt.Places != 3 || e.Attempt.Shared {
			t.Errorf("a place of a semaphore: %+v", *e.Attempt)
		}
	})
}

func TestObserverOfFailures(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		seen := &witness{}
		c := w.start(background, w.mutex(1, lock.WithObserver(seen)))
		w.send()
		w.cluster.Cut(w.client(1).Link)
		w.cluster.Heal(w.client(1).Link)
		w.pass(2 * time.Second)
		w.wantGranted(c)
		seen.want(t, lock.Retried, lock.Queued, lock.Granted)
		refused := &witness{}
		m := must(lock.NewMutex(w.sessionOf(2, refusing{w.client(2)}), "/other",
			lock.WithObserver(refused)))
		lease := w.acquire(m)
		go lease.Unlock(background)
		w.flow()
		refused.want(t, lock.Queued, lock.Granted, lock.Ended, lock.Abandoned)
	})
}

// A failed attempt reports its reason, in the context of its caller.
func TestObserverOfAttemptsInVain(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.acquire(w.mutex(1))
		seen := &witness{}
		m := w.mutex(2, lock.WithObserver(seen))
		w.wantError(w.begin(background, m.TryLock), lock.ErrNotAcquired)
		seen.want(t, lock.Queued, lock.Failed, lock.Removed)
		if e := seen.events[1]; e.Err != lock.ErrNotAcquired {
			t.Errorf("%+v", e)
		}
		seen.events = nil
		ctx, cancel := context.WithTimeoutCause(context.WithValue(background, contextKey{}, 7),
			time.Second, errors.New("no time"))
		defer cancel()
		w.begin(ctx, m.Lock)
		w.pass(1500 * time.Millisecond)
		seen.want(t, lock.Queued, lock.Waiting, lock.Waiting, lock.Failed, lock.Removed)
		if e := seen.events[3]; e.Err == nil || e.Err.Error() != "no time" ||
			e.Elapsed != time.Second ||
			e.Context.Value(contextKey{}) != 7 || e.Context.Err() != nil {
			t.Errorf("%+v", e)
		}
	})
}

func TestLogger(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		var text bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
		lease := w.acquire(w.mutex(1, lock.WithLogger(logger)))
		w.watch()
		go w.client(2).Delete(lease.Node(), -1)
		w.flow()
		for _, want := range []string{
			`level=DEBUG msg="lock queued" path=/lock node=` + lease.Node(),
			`level=DEBUG msg="lock granted" path=/lock`, `token=1`,
			`level=WARN msg="lock ended"`, `error="lock: not held: lease lost: its node is gone`,
		} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, &text)
			}
		}
	})
}

// docs/production.md documents each attribute of the log.
func TestLogAttributes(t *testing.T) {
	source, err := os.ReadFile("observer.go")
	if err != nil {
		t.Fatal(err)
	}
	documentation, err := os.ReadFile("../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	attributes := regexp.MustCompile(`slog\.\w+\("(\w+)"`).FindAllSubmatch(source, -1)
	if len(attributes) < 6 {
		t.Errorf("only %d attributes", len(attributes))
	}
	for _, a := range attributes {
		if !strings.Contains(string(documentation), "\n| `"+string(a[1])+"` | ") {
			t.Errorf("docs/production.md does not have the attribute %s", a[1])
		}
	}
}

// An observer of some kinds of events sees no others, also if it observes the end of a lease.
func TestObserverOfKinds(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		granted, ended := new(witness), new(witness)
		m := must(lock.NewMutex(w.session(1), "/lock",
			lock.WithObserver(granted, lock.Granted), lock.WithObserver(ended, lock.Ended)))
		w.unlock(w.acquire(m))
		granted.want(t, lock.Granted)
		ended.want(t, lock.Ended)
	})
}
