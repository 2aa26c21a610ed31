package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// leading is a client whose multis reach the leader at once, whatever the state of its connection:
// like a paused holder's write that arrives late.
type leading struct {
	*model.Conn
	cluster *simzk.Cluster
	err     error         // instead of the reply
	mute    chan struct{} // never closed if there is no reply
}

func (l *leading) Multi(operations ...any) ([]zk.MultiResponse, error) {
	write := tree.Write{Op: wire.OpMulti}
	for _, operation := range operations {
		switch o := operation.(type) {
		case *zk.CheckVersionRequest:
			write.Ops = append(write.Ops, wire.Request{
				Op: wire.OpCheck, Path: o.Path,
				Version: o.Version,
			})
		case *zk.SetDataRequest:
			write.Ops = append(write.Ops, wire.Request{
				Op: wire.OpSetData, Path: o.Path, Data: o.Data,
				Version: o.Version,
			})
		}
	}
	result := l.cluster.Tree().Apply(&write)
	if l.mute != nil {
		<-l.mute
	}
	if l.err != nil {
		return nil, l.err
	}
	var first error
	responses := make([]zk.MultiResponse, len(result.Results))
	for i, r := range result.Results {
		switch r.Code {
		case wire.OK:
			continue
		case wire.NoNode:
			responses[i].Error = zk.ErrNoNode
		case wire.BadVersion:
			responses[i].Error = zk.ErrBadVersion
		default:
			responses[i].Error = zk.ErrUnknown
		}
		if first == nil {
			first = responses[i].Error
		}
	}
	return responses, first
}

func (w *world) leading(client int) *leading {
	return &leading{Conn: w.client(client), cluster: w.cluster}
}

// inGuardedWorld has a node /data and a lock held by a client with multis.
func inGuardedWorld(t *testing.T, test func(w *world, client *leading, lease *lock.Lease)) {
	inWorld(t, 2, func(w *world) {
		w.create("/data", 0, 0)
		client := w.leading(1)
		lease := w.take(background, must(lock.NewMutex(w.sessionOf(1, client), "/lock")).Lock)
		test(w, client, lease)
	})
}

func set(data string) *zk.SetDataRequest {
	return &zk.SetDataRequest{Path: "/data", Data: []byte(data), Version: -1}
}

func (w *world) wantData(want string) {
	w.t.Helper()
	if got := string(w.cluster.Tree().Get("/data", nil).Data); got != want {
		w.t.Errorf("data %q, want %q", got, want)
	}
}

func TestWrite(t *testing.T) {
	inGuardedWorld(t, func(w *world, client *leading, lease *lock.Lease) {
		responses, err := lease.Write(background, set("a"), set("b"))
		if err != nil || len(responses) != 2 {
			t.Fatalf("Write: %v, error %v, want two responses", responses, err)
		}
		w.wantData("b")
		if _, err := lease.Write(background); err != nil {
			t.Errorf("Write of nothing: %v", err)
		}
		w.unlock(lease)
		if _, err := lease.Write(background, set("c")); !errors.Is(err, lock.ErrNotHeld) ||
			errors.Is(err, lock.ErrLost) {
			t.Errorf("Write after Unlock: %v, want ErrNotHeld and not ErrLost", err)
		}
		w.wantData("b")
	})
}

// A holder that has not learned of its loss cannot write, and learns of it then.
func TestWriteOfALostLease(t *testing.T) {
	inGuardedWorld(t, func(w *world, client *leading, lease *lock.Lease) {
		w.cluster.Expire(client.SessionID())
		if lease.Err() != nil {
			t.Fatal("the holder knows already")
		}
		if _, err := lease.Write(background, set("a")); !errors.Is(err, lock.ErrLost) {
			t.Errorf("Write: %v, want ErrLost", err)
		}
		w.wantData("")
		if !errors.Is(lease.Err(), lock.ErrLost) {
			t.Errorf("after the write: %v, want ErrLost", lease.Err())
		}
	})
}

// Neither a revocation nor a downgrade ends the lease.
func TestWriteWhileRevoked(t *testing.T) {
	inGuardedWorld(t, func(w *world, client *leading, lease *lock.Lease) {
		if err := w.do(func() error { return w.mutex(2).Revoke(background) }); err != nil {
			t.Fatal(err)
		}
		if _, err := lease.Write(background, set("a")); err != nil {
			t.Errorf("Write: %v", err)
		}
		if err := w.do(func() error { return lease.Downgrade(background) }); err != nil {
			t.Fatal(err)
		}
		if _, err := lease.Write(background, set("b")); err != nil {
			t.Errorf("Write: %v", err)
		}
	})
}

// Failures of the operations are no loss.
func TestWriteFails(t *testing.T) {
	inGuardedWorld(t, func(w *world, client *leading, lease *lock.Lease) {
		responses, err := lease.Write(background, set("a"), &zk.SetDataRequest{
			Path:    "/data",
			Version: 7,
		})
		if !errors.Is(err, zk.ErrBadVersion) || len(responses) != 2 ||
			responses[1].Error != zk.ErrBadVersion || lease.Err() != nil {
			t.Errorf("Write: %v, error %v, lease %v, want ErrBadVersion of the second", responses,
				err,
				lease.Err())
		}
		if _, err := lease.Write(background, &zk.SetDataRequest{Path: "/nosuch"}); !errors.Is(err,
			zk.ErrNoNode) || lease.Err() != nil {
			t.Errorf("Write: error %v, lease %v, want ErrNoNode", err, lease.Err())
		}
		w.wantData("")
	})
}

// The error wraps ErrUncertain exactly if the outcome of a write is unknown.
func TestWriteIsUncertain(t *testing.T) {
	for _, tc := range []struct {
		err       error
		uncertain bool
	}{
		{zk.ErrConnectionClosed, true},
		{zk.ErrSessionExpired, true},
		{zk.ErrClosing, true},
		{errors.New("write: broken pipe"), true},
		{zk.ErrNoServer, false},
		{zk.ErrNoAuth, false},
		{zk.ErrNoNode, false},
		{zk.ErrBadVersion, false},
	} {
		inGuardedWorld(t, func(w *world, client *leading, lease *lock.Lease) {
			client.err = tc.err
			_, err := lease.Write(background, set("a"))
			if !errors.Is(err, tc.err) || errors.Is(err, lock.ErrUncertain) != tc.uncertain ||
				lease.Err() != nil {
				t.Errorf("%v: Write returned %v, lease %v", tc.err, err, lease.Err())
			}
		})
	}
}

func TestWriteIsCancelled(t *testing.T) {
	inGuardedWorld(t, func(w *world, client *leading, lease *lock.Lease) {
		ctx, cancel := context.WithCancel(background)
		cancel()
		if _, err := lease.Write(ctx, set("a")); !errors.Is(err, context.Canceled) ||
			errors.Is(err, lock.ErrUncertain) {
			t.Errorf("Write with a context that has ended: %v", err)
		}
		w.wantData("")
		client.mute = make(chan struct{})
		defer close(client.mute)
		ctx, cancel = context.WithTimeout(background, time.Second)
		defer cancel()
		if _, err := lease.Write(ctx, set("b")); !errors.Is(err, context.DeadlineExceeded) ||
			!errors.Is(err, lock.ErrUncertain) {
			t.Errorf("Write without a reply: %v, want ErrUncertain", err)
		}
		w.send() // waits for the goroutine that still waits for the reply
		w.wantData("b")
		// The lease's own context must not suggest that nothing was written.
		under := lease.Context(background)
		time.AfterFunc(time.Second, func() { client.Conn.Close() })
		err := error(nil)
		go func() { _, err = lease.Write(under, set("c")) }()
		w.pass(2 * sessionTimeout)
		if errors.Is(err, lock.ErrNotHeld) || !errors.Is(err, lock.ErrUncertain) {
			t.Errorf("Write when the lease ended: %v, want ErrUncertain and not ErrNotHeld", err)
		}
	})
}

// A write to the lease's own node would look like a release to the contender behind it.
func TestWriteToOwnNode(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		waiter := w.start(background, w.mutex(2))
		for _, operation := range []any{
			&zk.SetDataRequest{Path: lease.Node(), Version: -1},
			&zk.DeleteRequest{Path: lease.Node(), Version: -1},
		} {
			err := w.do(func() error { _, err := lease.Write(background, operation); return err })
			if err == nil || !strings.Contains(err.Error(), lease.Node()) {
				t.Errorf("%T: %v, want an error that names the node", operation, err)
			}
			w.wantWaiting(waiter)
		}
		if err := lease.Err(); err != nil {
			t.Errorf("the lease has ended: %v", err)
		}
	})
}
