package lock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/history/production"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/lock/record"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

func (w *world) barrier(client, participants int, options ...lock.Option) *lock.DoubleBarrier {
	return must(lock.NewDoubleBarrier(w.session(client), "/lock", participants,
		options...))
}

// A visit is a call of Enter in progress.
type visit struct {
	*call
	round *lock.Round
}

func (w *world) enter(ctx context.Context, client, participants int, options ...lock.Option,
) *visit {
	v := new(visit)
	b := w.barrier(client, participants, options...)
	v.call = w.begin(ctx, func(ctx context.Context) (*lock.Lease, error) {
		r, err := b.Enter(ctx)
		if err != nil {
			return nil, err
		}
		v.round = r
		return r.Lease, nil
	})
	w.flow()
	return v
}

func (w *world) leave(ctx context.Context, v *visit) *call {
	c := w.begin(ctx, func(ctx context.Context) (*lock.Lease, error) {
		return nil, v.round.Leave(ctx)
	})
	w.flow()
	return c
}

// All enter once the last has come, and all leave once the last does, round after round.
func TestDoubleBarrier(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		for round := range 3 {
			first, second := w.enter(background, 1, 3), w.enter(background, 2, 3)
			w.wantWaiting(first.call, second.call)
			third := w.enter(background, 3, 3)
			visits := []*visit{first, second, third}
			for _, v := range visits {
				w.wantGranted(v.call)
			}
			if got := w.requests(3, ""); round == 0 && got != 5 {
				t.Errorf("the last of three took %d requests, want 5", got)
			}
			one, two := w.leave(background, second), w.leave(background, third)
			w.wantWaiting(one, two)
			three := w.leave(background, first)
			for _, c := range []*call{one, two, three} {
				w.wantGranted(c)
			}
			w.wantNodes(0)
			if got := w.requests(3, ""); round == 0 && got != 8 {
				t.Errorf("the last of three took %d requests in all, want 8", got)
			}
		}
	})
}

// Four processes make two rounds of two, the longest waiters first, and a fifth waits.
func TestDoubleBarrierWithMoreProcesses(t *testing.T) {
	inWorld(t, 5, func(w *world) {
		first, second := w.enter(background, 1, 2), w.enter(background, 2, 2)
		third, fourth := w.enter(background, 3, 2), w.enter(background, 4, 2)
		fifth := w.enter(background, 5, 2)
		for _, v := range []*visit{first, second, third, fourth} {
			w.wantGranted(v.call)
		}
		w.wantWaiting(fifth.call)
		left := w.leave(background, first)
		w.wantWaiting(left)
		w.wantGranted(w.leave(background, second))
		w.wantGranted(left)
		again := w.enter(background, 1, 2)
		w.wantGranted(again.call)
		w.wantGranted(fifth.call)
	})
}

// A participant that gives up is not counted, and its Enter returns once its node is gone.
func TestDoubleBarrierGivenUp(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		ctx, cancel := context.WithCancel(background)
		first := w.enter(ctx, 1, 2)
		cancel()
		w.send()
		if first.returned() {
			t.Fatal("Enter has returned while its node exists")
		}
		w.wantError(first.call, context.Canceled)
		w.wantNodes(0)
		second := w.enter(background, 2, 2)
		w.wantWaiting(second.call)
		third := w.enter(background, 3, 2)
		w.wantGranted(second.call)
		w.wantGranted(third.call)
		ctx, cancel = context.WithCancel(background)
		left := w.leave(ctx, second)
		w.wantWaiting(left)
		cancel()
		w.wantError(left, context.Canceled)
		w.wantGranted(w.leave(background, third))
	})
}

// A participant that gives up although its round has begun learns of both.
func TestDoubleBarrierGivenUpInRound(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		ctx, cancel := context.WithCancel(background)
		first := w.enter(ctx, 1, 2)
		w.cluster.Cut(w.client(1).Link)
		second := w.enter(background, 2, 2)
		w.wantGranted(second.call)
		cancel()
		w.cluster.Heal(w.client(1).Link)
		w.pass(sessionTimeout / 2)
		w.wantError(first.call, lock.ErrLost)
		w.wantError(first.call, context.Canceled)
		w.wantGranted(w.leave(background, second))
	})
}

// A participant that could not begin a round, because its connection took too long to open, is not
// counted: neither one that comes then, nor one that waits already.
func TestDoubleBarrierAfterSlowConnection(t *testing.T) {
	for _, waits := range []bool{false, true} {
		inWorld(t, 2, func(w *world) {
			b := must(lock.NewDoubleBarrier(w.session(1), "/lock", 2))
			enter := func() *call {
				return w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
					round, err := b.Enter(ctx)
					if err != nil {
						return nil, err
					}
					return round.Lease, nil
				})
			}
			var slow *call
			if waits {
				slow = enter()
			}
			w.pass(sessionTimeout)
			w.reconnectSlowly(1, sessionTimeout/7)
			opened := time.Now()
			if !waits {
				slow = enter()
			}
			w.pass(sessionTimeout / 4)
			fast := w.enter(background, 2, 2)
			for !fast.returned() {
				w.flow()
				w.advance(20 * time.Millisecond)
			}
			if after := time.Since(opened); after < sessionTimeout*2/3 || after > sessionTimeout*5/4 {
				t.Errorf("waits %v: the round began %v after the connection", waits, after)
			}
			w.flow()
			w.wantGranted(fast.call)
			w.wantGranted(slow)
		})
	}
}

// The others do not wait for a participant whose session is lost, and it learns of the loss.
func TestDoubleBarrierSessionLost(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		first, second := w.enter(background, 1, 2), w.enter(background, 2, 2)
		w.wantGranted(first.call)
		left := w.leave(background, second)
		w.wantWaiting(left)
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(sessionTimeout)
		w.wantGranted(left)
		if !errors.Is(first.round.Err(), lock.ErrLost) {
			t.Errorf("the lease ended with %v", first.round.Err())
		}
		w.wantError(w.leave(background, first), lock.ErrLost)
	})
}

// A participant whose session is lost while it waits waits again, unless a round has counted it.
func TestDoubleBarrierSessionLostInEnter(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		first := w.enter(background, 1, 2)
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(2 * sessionTimeout)
		w.wantWaiting(first.call)
		w.send()
		second := w.enter(background, 2, 2)
		w.wantGranted(first.call)
		w.wantGranted(second.call)
	})
	inWorld(t, 2, func(w *world) {
		first := w.enter(background, 1, 2)
		w.cluster.Cut(w.client(1).Link)
		second := w.enter(background, 2, 2)
		w.wantGranted(second.call)
		w.cluster.Expire(w.client(1).SessionID())
		w.cluster.Heal(w.client(1).Link)
		w.pass(2 * sessionTimeout)
		w.wantError(first.call, lock.ErrLost)
		w.wantNodes(1)
	})
}

// A participant learns that it has queued only after its round has begun, because the reply to its
// create was lost. Its Queued tells when Enter was called, so that the recorded history, which is
// complete, breaks nothing.
func TestDoubleBarrierQueuedLate(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		var recorded [2]bytes.Buffer
		var recorders [2]*record.Recorder
		for i := range recorders {
			recorders[i] = record.New(&recorded[i], fmt.Sprint("worker-", i+1))
		}
		first := w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
			r, err := w.barrier(1, 2, lock.WithObserver(recorders[0])).Enter(ctx)
			return r.Lease, err
		})
		for len(w.nodes()) == 0 {
			w.serve(1)
			if len(w.nodes()) == 0 {
				w.answer(1)
			}
		}
		w.cluster.Cut(w.client(1).Link)
		w.advance(time.Millisecond)
		second := w.enter(background, 2, 2, lock.WithObserver(recorders[1]))
		w.wantGranted(second.call)
		w.advance(time.Millisecond)
		w.cluster.Heal(w.client(1).Link)
		w.pass(time.Second)
		w.wantGranted(first)
		w.unlock(first.lease)
		w.wantGranted(w.leave(background, second))

		var logs []*history.Log
		for i, r := range recorders {
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			logs = append(logs, must(history.Read(&recorded[i])))
		}
		logs, _, err := production.NumberProcesses(logs...)
		if err != nil {
			t.Fatal(err)
		}
		events := production.Merge(logs...).Events()
		for _, p := range production.WithinClocks {
			if v, _ := production.Within(p, events, production.Clocks{}, models.Limits{}); v != nil {
				t.Errorf("%+v", v)
			}
		}
		// It tests the order of tokens: the younger participant is granted its part first, and
		// the older one has called Enter before.
		var calls, grants []history.Event
		for _, e := range events {
			switch e.Kind {
			case history.LockCall:
				calls = append(calls, e)
			case history.LockReturn:
				grants = append(grants, e)
			}
		}
		if len(calls) != 2 || len(grants) != 2 || grants[0].Zxid < grants[1].Zxid ||
			calls[0].Process != grants[1].Process {
			t.Errorf("calls %+v, grants %+v", calls, grants)
		}
	})
}

// A barrier refuses to overwrite the data of something else.
func TestDoubleBarrierForeignData(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		if _, err := lock.NewDoubleBarrier(w.session(1), "/lock", 0); err == nil {
			t.Error("a barrier without participants is accepted")
		}
		w.cluster.Tree().Apply(&tree.Write{
			Op: wire.OpSetData, Path: "/lock", Data: []byte("settings"), Version: -1,
		})
		first := w.enter(background, 1, 1)
		if !first.returned() || first.err == nil {
			t.Errorf("returned %v, error %v", first.returned(), first.err)
		}
		w.wantNodes(0)
	})
}

// A create that was presumed lost can be carried out late. A second node of a participant whose
// round has begun is no further participant.
func TestDoubleBarrierSecondNodeInRound(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		first, second := w.enter(background, 1, 2), w.enter(background, 2, 2)
		w.wantGranted(first.call)
		w.wantGranted(second.call)
		node := first.round.Node()
		w.create(node[:len(node)-1]+"9", zk.FlagEphemeral, w.client(1).SessionID())
		third := w.enter(background, 3, 2)
		w.wantWaiting(third.call)
	})
}

// A deposed leader reports a session as expired that is alive under the new one, so that the node
// of a participant outlives its session in the client's view. That node must go before Enter
// returns, and before the participant comes again: no round may count it.
func TestDoubleBarrierNodeOutlivesSession(t *testing.T) {
	deposed := func(t *testing.T, test func(w *world, first *visit, cancel func())) {
		inEnsemble(t, 3, 3, func(w *world) {
			ctx, cancel := context.WithCancel(background)
			first := w.enter(ctx, 1, 2)
			w.cluster.PartitionServer(2, true, true)
			for old := w.client(1).SessionID(); w.client(1).SessionID() == old; {
				w.advance(50 * time.Millisecond)
				w.flow()
			}
			w.wantNodes(1)
			test(w, first, cancel)
		})
	}
	t.Run("given up", func(t *testing.T) {
		deposed(t, func(w *world, first *visit, cancel func()) {
			cancel()
			w.pass(time.Second)
			w.wantError(first.call, context.Canceled)
			w.wantNodes(0)
			second := w.enter(background, 2, 2)
			w.pass(time.Second)
			w.wantWaiting(second.call)
		})
	})
	t.Run("counted", func(t *testing.T) {
		deposed(t, func(w *world, first *visit, _ func()) {
			second := w.enter(background, 2, 2)
			w.wantGranted(second.call)
			third := w.enter(background, 2, 2)
			w.pass(2 * time.Second)
			w.wantError(first.call, lock.ErrLost)
			w.wantWaiting(third.call)
			w.wantNodes(2)
		})
	})
	t.Run("comes again", func(t *testing.T) {
		deposed(t, func(w *world, first *visit, _ func()) {
			before := w.nodes()
			w.pass(2 * time.Second)
			w.wantNodes(1)
			if slices.Equal(w.nodes(), before) {
				t.Fatal("the participant has not come again")
			}
			second := w.enter(background, 2, 2)
			w.wantGranted(first.call)
			w.wantGranted(second.call)
		})
	})
}

// A heldRead is a client that holds back the first read of data after a multi.
type heldRead struct {
	*model.Conn
	release chan struct{} // ends the wait of a read; nil if no read must wait
	decided bool          // the multi is done
	held    bool
}

func (h *heldRead) Multi(operations ...any) ([]zk.MultiResponse, error) {
	results, err := h.Conn.Multi(operations...)
	h.decided = err == nil
	return results, err
}

func (h *heldRead) Get(path string) ([]byte, *zk.Stat, error) {
	h.hold()
	return h.Conn.Get(path)
}

func (h *heldRead) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	h.hold()
	return h.Conn.GetW(path)
}

func (h *heldRead) hold() {
	if release := h.release; release != nil && h.decided {
		h.release, h.held = nil, true
		<-release
	}
}

// A participant whose round has begun and ended without it loses two sessions. The server of the
// third one, a local session, lags behind and knows of no round: what it shows is no answer.
func TestDoubleBarrierAtLaggingServer(t *testing.T) {
	const lagging, other, leader = 0, 1, 2
	config := simzk.Config{Servers: 3, LocalSessions: simzk.UpgradedLocalSessions}
	test := func(w *world, lag time.Duration) {
		client := &heldRead{Conn: w.client(1)}
		b := must(lock.NewDoubleBarrier(w.sessionOf(1, client), "/lock", 2))
		first := w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
			_, err := b.Enter(ctx)
			return nil, err
		})
		w.wantWaiting(first)
		w.cluster.Cut(client.Link)
		w.cluster.PartitionLink(leader, lagging)
		second := w.enter(background, 2, 2)
		w.wantGranted(second.call)
		w.cluster.Expire(client.SessionID())
		w.wantGranted(w.leave(background, second))
		second, third := w.enter(background, 2, 2), w.enter(background, 3, 2)
		w.wantGranted(second.call)
		w.wantGranted(third.call)
		release := make(chan struct{})
		client.release = release
		w.cluster.BlockClient(client.Link, lagging)
		w.cluster.BlockClient(client.Link, leader)
		w.cluster.Heal(client.Link)
		w.pass(sessionTimeout)
		if !client.held {
			t.Fatal("the participant has not come again")
		}
		w.cluster.Expire(client.SessionID())
		for client.SessionID() != 0 {
			w.advance(50 * time.Millisecond)
			w.flow()
		}
		w.cluster.BlockClient(client.Link, other)
		w.cluster.UnblockClient(client.Link, lagging)
		w.pass(2 * time.Second)
		close(release)
		w.pass(lag)
		w.wantWaiting(first)
		w.cluster.HealLink(leader, lagging)
		w.pass(time.Second)
		w.wantError(first, lock.ErrLost)
		w.wantNodes(2)
	}
	// After a long lag, the sync before the create is too slow: the rounds are read again.
	for _, lag := range []time.Duration{0, time.Second} {
		inConfigured(t, config, 3, func(w *world) { test(w, lag) })
	}
}
