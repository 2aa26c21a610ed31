package check_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// A recorder writes the events between a process of a service and its lock as a history in JSON
// Lines. It observes the lock, which reports when the process has queued and when a lease was lost;
// the service reports the other events.
type recorder struct {
	process int32 // another number in every process
	mutex   *lock.Mutex

	mu       sync.Mutex
	attempts int32
	encoder  *json.Encoder
}

// newRecorder returns a recorder for the lock of a process.
func newRecorder(process int32, conn *zk.Conn, path string, w io.Writer) (*recorder, error) {
	r := &recorder{process: process, encoder: json.NewEncoder(w)}
	var err error
	r.mutex, err = lock.NewMutex(conn, path, 10*time.Second, lock.WithObserver(r))
	return r, err
}

// attemptKey is the key of the attempt number in the context of a call of Lock.
type attemptKey struct{}

// The lock calls Observe.
func (r *recorder) Observe(e lock.Event) {
	attempt, _ := e.Context.Value(attemptKey{}).(int32)
	switch {
	case e.Kind == lock.Queued:
		r.write(history.Event{Kind: history.NodeCreated, Attempt: attempt, Path: e.Node})
	case e.Kind == lock.Ended && e.Err != nil:
		r.write(history.Event{Kind: history.Lost, Attempt: attempt, Err: e.Err.Error()})
	}
}

// enter records that the process enters its critical section, or returns why the lease has ended.
// No loss is recorded between the check and the event, even if the process is paused there.
func (r *recorder) enter(lease *lock.Lease, attempt int32) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := lease.Err(); err != nil {
		return err
	}
	r.encode(history.Event{Kind: history.Enter, Attempt: attempt})
	return nil
}

// write writes an event, at the current time unless the event has one.
func (r *recorder) write(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.encode(e)
}

// encode is write for a caller that has locked mu.
func (r *recorder) encode(e history.Event) {
	if e.Process = r.process; e.At == 0 {
		e.At = time.Duration(time.Now().UnixNano())
	}
	r.encoder.Encode(&e) // A service logs its error, and goes on.
}

// watchPauses records the pauses of the process, such as long garbage collections or those of its
// virtual machine, as late ticks. It uses the wall clock, which advances while a machine sleeps.
func (r *recorder) watchPauses(ctx context.Context, tick, late time.Duration) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for last := time.Now().UnixNano(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now().UnixNano()
		if time.Duration(now-last) > late {
			r.write(history.Event{At: time.Duration(last), Kind: history.Fault, Name: "pause"})
			r.write(history.Event{At: time.Duration(now), Kind: history.Resumed})
		}
		last = now
	}
}

// do works while it holds the lock.
func (r *recorder) do(ctx context.Context, work func(context.Context) error) error {
	r.mu.Lock()
	r.attempts++
	attempt := r.attempts
	r.mu.Unlock()
	r.write(history.Event{Kind: history.LockCall, Attempt: attempt})
	lease, err := r.mutex.Lock(context.WithValue(ctx, attemptKey{}, attempt))
	if err != nil {
		r.write(history.Event{Kind: history.LockReturn, Attempt: attempt, Err: err.Error()})
		return err
	}
	r.write(history.Event{
		Kind: history.LockReturn, Attempt: attempt, Path: lease.Node(),
		Zxid: lease.Token(),
	})
	failed := r.enter(lease, attempt)
	if failed == nil {
		failed = work(lease.Context(ctx))
		r.write(history.Event{Kind: history.Leave, Attempt: attempt})
	}
	r.write(history.Event{Kind: history.UnlockCall, Attempt: attempt})
	err = lease.Unlock(ctx)
	returned := history.Event{Kind: history.UnlockReturn, Attempt: attempt}
	if err != nil {
		returned.Err = err.Error()
	}
	r.write(returned)
	if failed != nil {
		return failed
	}
	return err
}

// Two processes of a service use a lock and record their events. Their clocks are the same in this
// example; assume that they are off by up to 50 ms.
func Example_production() {
	server, err := tcp.Start(tcp.Config{}, "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer server.Close()
	var recorded [2]bytes.Buffer
	var running sync.WaitGroup
	for p := range recorded {
		conn, _, err := zk.Connect(server.Addresses(), 10*time.Second, zk.WithLogInfo(false))
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		r, err := newRecorder(int32(p+1), conn, "/locks/billing", &recorded[p])
		if err != nil {
			panic(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		running.Go(func() { r.watchPauses(ctx, 20*time.Millisecond, 100*time.Millisecond) })
		running.Go(func() {
			defer cancel()
			for range 5 {
				r.do(ctx, func(context.Context) error { return nil })
			}
		})
	}
	running.Wait()

	var logs []*history.Log
	for p := range recorded {
		log, err := history.Read(&recorded[p])
		if err != nil {
			panic(err)
		}
		logs = append(logs, log)
	}
	clocks := check.Clocks{Default: 50 * time.Millisecond, Pause: 200 * time.Millisecond}
	events := check.Merge(logs...).Events()
	for _, property := range []history.Property{
		history.ClientMutualExclusion, history.FIFO,
		history.MonotonicToken, history.Linearizable,
	} {
		violation, decided := check.Within(property, events, clocks,
			models.Limits{Time: time.Minute})
		fmt.Println(property, violation == nil && decided)
	}
	// Output:
	// client-mutual-exclusion true
	// fifo true
	// monotonic-token true
	// linearizable true
}
