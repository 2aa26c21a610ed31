package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// participants lists the participants of a lock and describes them.
func (w *world) participants(ask func(context.Context) ([]lock.Participant, error)) []string {
	w.t.Helper()
	var found []string
	err := w.do(func() error {
		participants, err := ask(background)
		for i, p := range participants {
			stat, ok := w.cluster.Tree().Stat(p.Node)
			if !ok || stat.EphemeralOwner != p.Session || stat.Czxid != p.Created || i > 0 &&
				p.Created <= participants[i-1].Created {
				w.t.Errorf("%+v is not %+v", p, stat)
			}
			found = append(found, fmt.Sprintf("%s shared=%v turn=%v", p.Metadata, p.Shared, p.Turn))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func (w *world) wantParticipants(ask func(context.Context) ([]lock.Participant, error),
	want ...string,
) {
	w.t.Helper()
	if got := w.participants(ask); fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("participants %q, want %q", got, want)
	}
}

func TestParticipants(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		var locks []*lock.RWMutex
		for i := range 4 {
			locks = append(locks, must(lock.NewRWMutex(w.session(i+1), "/lock",
				lock.WithMetadata(fmt.Sprintf("host %d", i+1)))))
		}
		w.wantParticipants(locks[0].Participants)
		lease := w.take(background, locks[0].Lock)
		for _, take := range []func(context.Context) (*lock.Lease, error){
			locks[1].RLock, locks[2].Lock,
			locks[3].RLock,
		} {
			w.begin(background, take)
			w.flow()
		}
		w.create("/lock/config", 0, 0)
		w.wantParticipants(locks[3].Participants, "host 1 shared=false turn=true",
			"host 2 shared=true turn=false",
			"host 3 shared=false turn=false", "host 4 shared=true turn=false")
		if err := w.do(func() error { return lease.Downgrade(background) }); err != nil {
			t.Fatal(err)
		}
		w.wantParticipants(locks[3].Participants, "host 1 shared=true turn=true",
			"host 2 shared=true turn=true",
			"host 3 shared=false turn=false", "host 4 shared=true turn=false")
		w.unlock(lease)
		w.wantParticipants(locks[3].Participants, "host 2 shared=true turn=true",
			"host 3 shared=false turn=false", "host 4 shared=true turn=false")
	})
}

func TestParticipantsOfASemaphore(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		for client := 1; client <= 3; client++ {
			w.begin(background, w.semaphore(client, 2).Lock)
			w.flow()
		}
		w.wantParticipants(w.semaphore(1, 2).Participants, " shared=true turn=true",
			" shared=true turn=true", " shared=true turn=false")
	})
}

// Foreign data in a node are ignored.
func TestForeignData(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.take(background, w.rwmutex(1).Lock)
		for _, data := range []string{"shared", `{"shared":`, `{"shared":1}`, `[]`, `{}`} {
			if err := w.do(func() error {
				_, err := w.client(2).Set(lease.Node(), []byte(data),
					-1)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			w.wantParticipants(w.mutex(2).Participants, " shared=false turn=true")
			w.wantError(w.begin(background, w.rwmutex(2).TryRLock), lock.ErrNotAcquired)
		}
	})
}

func TestRevoke(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		m := must(lock.NewMutex(w.session(1), "/lock",
			lock.WithMetadata("the first")))
		lease := w.take(background, m.Lock)
		waiter := w.start(background, w.mutex(2))
		w.watch()
		for range 2 {
			if err := w.do(func() error { return w.mutex(3).Revoke(background) }); err != nil {
				t.Fatalf("Revoke: %v", err)
			}
		}
		select {
		case <-lease.Revoked():
		default:
			t.Fatal("the holder was not notified")
		}
		// The holder reads its revocation again.
		data := w.cluster.Tree().Get("/lock", nil).Data
		err := w.do(func() error {
			_, err := w.client(3).Set("/lock", data, -1)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w.pass(sessionTimeout)
		if lease.Err() != nil {
			t.Errorf("the lease has ended: %v", lease.Err())
		}
		w.wantParticipants(m.Participants, "the first shared=false turn=true",
			" shared=false turn=false")
		w.unlock(lease)
		w.wantGranted(waiter)
		select {
		case <-waiter.lease.Revoked():
			t.Error("the next holder was notified too")
		default:
		}
		w.unlock(waiter.lease)
		if err := w.do(func() error { return m.Revoke(background) }); !errors.Is(err,
			lock.ErrNotHeld) {
			t.Errorf("Revoke of a free lock: %v, want ErrNotHeld", err)
		}
	})
}

// All readers are asked, and the waiter is not.
func TestRevokeReaders(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		readers := []*lock.Lease{
			w.take(background, w.rwmutex(1).RLock),
			w.take(background, w.rwmutex(2).RLock),
		}
		writer := w.begin(background, w.rwmutex(3).Lock)
		w.watch()
		if err := w.do(func() error { return w.rwmutex(3).Revoke(background) }); err != nil {
			t.Fatal(err)
		}
		for _, r := range readers {
			<-r.Revoked()
			w.unlock(r)
		}
		w.wantGranted(writer)
		select {
		case <-writer.lease.Revoked():
			t.Error("the writer was revoked too")
		default:
		}
	})
}

// A holder that is revoked and downgraded remains a revoked reader.
func TestRevokeAndDowngrade(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.take(background, w.rwmutex(1).Lock)
		var err error
		go func() { err = w.rwmutex(2).Revoke(background) }()
		for range 4 { // sync, list, read, read again; the write is next
			w.serve(2)
			w.cluster.Deliver(w.client(2).Link)
		}
		if e := w.do(func() error { return lease.Downgrade(background) }); e != nil || err != nil {
			t.Fatal(e, err)
		}
		w.watch()
		<-lease.Revoked()
		w.wantParticipants(w.rwmutex(2).Participants, " shared=true turn=true")
		again := w.take(background, w.rwmutex(2).RLock)
		w.unlock(again)
	})
}

// A holder learns of a revocation even if the watch misses it.
func TestRevokeUnheard(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		m := must(lock.NewMutex(w.sessionOf(1, dataEventsLost{w.client(1)}), "/lock"))
		lease := w.take(background, m.Lock)
		w.watch()
		if err := w.do(func() error { return w.mutex(2).Revoke(background) }); err != nil {
			t.Fatal(err)
		}
		select {
		case <-lease.Revoked():
			t.Fatal("the watch has fired")
		default:
		}
		w.pass(sessionTimeout / 2)
		select {
		case <-lease.Revoked():
		default:
			t.Error("the holder was not notified")
		}
	})
}

func TestParticipantsIsCancelled(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		ctx, cancel := context.WithCancel(background)
		done := make(chan error, 1)
		go func() { _, err := w.mutex(1).Participants(ctx); done <- err }()
		w.send()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Participants: %v", err)
		}
		if _, err := w.mutex(1).Participants(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Participants with a context that has ended: %v", err)
		}
	})
}

// Foreign data in the directory are not changed: nobody is asked, and nothing else is affected.
func TestForeignDataInTheDirectory(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		w.do(func() error {
			_, err := w.client(2).Set("/lock", []byte("10.0.0.1"),
				-1)
			return err
		})
		err := w.do(func() error { return w.mutex(2).Revoke(background) })
		if err == nil || !strings.Contains(err.Error(), "/lock") {
			t.Errorf("Revoke: %v, want an error that names the directory", err)
		}
		w.wantParticipants(w.mutex(2).Participants, " shared=false turn=true")
		w.pass(sessionTimeout)
		if err := lease.Err(); err != nil {
			t.Errorf("the lease has ended: %v", err)
		}
		if data := w.cluster.Tree().Get("/lock", nil).Data; string(data) != "10.0.0.1" {
			t.Errorf("the directory holds %q", data)
		}
	})
}

// Two revocations are concurrent, and one of them read the queue before the other's holder joined
// it.
func TestRevokedByTwo(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		before := w.acquire(w.mutex(1))
		slow := &secondLook{Conn: w.client(2), look: make(chan struct{})}
		w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
			return nil, must(lock.NewMutex(w.sessionOf(2, slow), "/lock")).Revoke(ctx)
		})
		w.flow()
		w.unlock(before)
		lease := w.acquire(w.mutex(3))
		if err := w.do(func() error { return w.mutex(4).Revoke(background) }); err != nil {
			t.Fatal(err)
		}
		close(slow.look)
		w.flow()
		w.watch()
		select {
		case <-lease.Revoked():
		default:
			t.Error("the holder was not notified")
		}
	})
}

// secondLook is a client that waits before it reads the directory for the second time.
type secondLook struct {
	*model.Conn
	looks int
	look  chan struct{}
}

func (s *secondLook) Get(path string) ([]byte, *zk.Stat, error) {
	if path == "/lock" {
		if s.looks++; s.looks == 2 {
			<-s.look
		}
	}
	return s.Conn.Get(path)
}

// The directory keeps no revocation of a contender that is gone.
func TestRevokedAreForgotten(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		for range 3 {
			lease := w.acquire(w.mutex(1))
			if err := w.do(func() error { return w.mutex(2).Revoke(background) }); err != nil {
				t.Fatal(err)
			}
			data := w.cluster.Tree().Get("/lock", nil).Data
			if want := `{"revoked":["` + strings.TrimPrefix(lease.Node(), "/lock/") +
				`"]}`; string(data) != want {
				t.Errorf("the directory holds %s, want %s", data, want)
			}
			w.unlock(lease)
		}
	})
}

// The watch on the directory that a holder leaves notifies the next holder of a revocation.
func TestWatchOfTheDirectoryIsKept(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		m := w.mutex(1)
		gets := func() int { return w.requests(1, "get+watch") }
		var lease *lock.Lease
		for i := range 5 {
			if lease != nil {
				w.unlock(lease)
			}
			before := gets()
			lease = w.acquire(m)
			w.watch()
			// its own node, and at first the directory
			if want := 2 - min(i, 1); gets()-before != want {
				t.Errorf("holder %d has set %d watches, want %d", i+1, gets()-before, want)
			}
		}
		if err := w.do(func() error { return w.mutex(2).Revoke(background) }); err != nil {
			t.Fatal(err)
		}
		select {
		case <-lease.Revoked():
		default:
			t.Error("the holder was not notified")
		}
		// A watch of a session that is over has fired.
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(2 * sessionTimeout)
		lease = w.acquire(m)
		w.watch()
		if err := w.do(func() error { return w.mutex(2).Revoke(background) }); err != nil {
			t.Fatal(err)
		}
		select {
		case <-lease.Revoked():
		default:
			t.Error("the holder in the next session was not notified")
		}
	})
}
