package lock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// ensemble substitutes for a ZooKeeper of your own. It returns a function that connects to it, and
// one that shuts it down.
func ensemble() (connect func() *lock.Session, shut func()) {
	server, err := tcp.Start(tcp.Config{}, "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	var sessions []*lock.Session
	connect = func() *lock.Session {
		session, err := lock.Dial(context.Background(), server.Addresses(), 10*time.Second,
			lock.WithClientOption(zk.WithLogger(silent{})))
		if err != nil {
			panic(err)
		}
		sessions = append(sessions, session)
		return session
	}
	return connect, func() {
		for _, session := range sessions {
			session.Close()
		}
		server.Close()
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func Example() {
	connect, shut := ensemble()
	defer shut()
	session := connect()
	ctx := context.Background()

	mutex, err := lock.NewMutex(session, "/locks/billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	lease, err := mutex.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("in the critical section")
	if err := lease.Unlock(ctx); err != nil {
		fmt.Println(err)
	}
	// Output: in the critical section
}

// A job that one process runs at a time, while it is the leader. Its context ends when the lock is
// lost.
func ExampleDial() {
	server, err := tcp.Start(tcp.Config{}, "127.0.0.1:0") // substitutes for a ZooKeeper of your own
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()

	session, err := lock.Dial(ctx, server.Addresses(), 10*time.Second,
		lock.WithClientOption(zk.WithLogger(silent{})))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	mutex, err := lock.NewMutex(session, "/locks/billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = mutex.Do(ctx, func(ctx context.Context) error {
		fmt.Println("in the critical section, token", lock.LeaseFrom(ctx).Token() > 0)
		return ctx.Err() // ends when the lock is lost
	})
	fmt.Println("error:", err)
	// Output:
	// in the critical section, token true
	// error: <nil>
}

func ExampleLease_Context() {
	connect, shut := ensemble()
	defer shut()
	session, admin := connect(), connect()
	ctx := context.Background()

	mutex, _ := lock.NewMutex(session, "/locks/leader")
	lease, err := mutex.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	job := func(ctx context.Context) error {
		fmt.Println("leading")
		admin.Delete(lease.Node(), -1) // An administrator takes the lock away.
		<-ctx.Done()                   // Pass the context to every part of the job.
		return context.Cause(ctx)
	}
	err = job(lease.Context(ctx))
	fmt.Println("lost:", errors.Is(err, lock.ErrLost))
	fmt.Println("lost:", errors.Is(lease.Unlock(ctx), lock.ErrLost))
	// Output:
	// leading
	// lost: true
	// lost: true
}

// A fenced row stores the highest token seen and refuses lower ones. If what is written depends on
// what was read, reads must be fenced too: docs/lock.md has recipes for databases and services.
type row struct {
	value string
	token int64
}

func (r *row) update(value string, token int64) string {
	if token < r.token {
		return "refused"
	}
	r.value, r.token = value, token
	return "written"
}

// A holder that was paused for too long writes late. The token rejects its write.
func ExampleLease_Token() {
	connect, shut := ensemble()
	defer shut()
	first, second := connect(), connect()
	ctx := context.Background()
	var account row

	mutex, _ := lock.NewMutex(first, "/locks/account")
	paused, _ := mutex.Lock(ctx)
	second.Delete(paused.Node(), -1) // The first lease is lost, as when its session expires.

	mutex, _ = lock.NewMutex(second, "/locks/account")
	lease, _ := mutex.Lock(ctx)
	fmt.Println("second:", account.update("100", lease.Token()))
	fmt.Println("first: ", account.update("70", paused.Token()))
	fmt.Println("value: ", account.value)
	// Output:
	// second: written
	// first:  refused
	// value:  100
}

// Data in ZooKeeper itself need no token: a write can be conditional on the lease.
func ExampleLease_Write() {
	connect, shut := ensemble()
	defer shut()
	session, admin := connect(), connect()
	ctx := context.Background()
	admin.Create("/config", nil, 0, zk.WorldACL(zk.PermAll))

	mutex, _ := lock.NewMutex(session, "/locks/config")
	lease, _ := mutex.Lock(ctx)
	_, err := lease.Write(ctx, &zk.SetDataRequest{
		Path: "/config", Data: []byte("blue"),
		Version: -1,
	})
	fmt.Println("during the lease:", err)

	admin.Delete(lease.Node(), -1)
	_, err = lease.Write(ctx, &zk.SetDataRequest{Path: "/config", Data: []byte("red"), Version: -1})
	fmt.Println("lost:", errors.Is(err, lock.ErrNotHeld))
	data, _, _ := admin.Get("/config")
	fmt.Printf("%s\n", data)
	// Output:
	// during the lease: <nil>
	// lost: true
	// blue
}

// A writer continues as a reader of what it has written, and lets other readers in.
func ExampleRWMutex() {
	connect, shut := ensemble()
	defer shut()
	ctx := context.Background()
	index, _ := lock.NewRWMutex(connect(), "/locks/index")
	other, _ := lock.NewRWMutex(connect(), "/locks/index")

	writer, _ := index.Lock(ctx)
	_, err := other.TryRLock(ctx)
	fmt.Println("beside a writer:", err)
	if err := writer.Downgrade(ctx); err != nil {
		fmt.Println(err)
	}
	reader, err := other.TryRLock(ctx)
	fmt.Println("beside a reader:", err)
	fmt.Println(errors.Join(reader.Unlock(ctx), writer.Unlock(ctx)))
	// Output:
	// beside a writer: lock: held by another
	// beside a reader: <nil>
	// <nil>
}

// At most three workers, in all processes together.
func ExampleSemaphore() {
	connect, shut := ensemble()
	defer shut()
	ctx := context.Background()
	workers, _ := lock.NewSemaphore(connect(), "/locks/workers", 3)

	var places []*lock.Lease
	for {
		place, err := workers.TryLock(ctx)
		if errors.Is(err, lock.ErrNotAcquired) {
			break
		}
		places = append(places, place)
	}
	fmt.Println(len(places), "at work")
	for _, place := range places {
		place.Unlock(ctx)
	}
	// Output: 3 at work
}

// A holder unlocks when asked to.
func ExampleMutex_Revoke() {
	connect, shut := ensemble()
	defer shut()
	ctx := context.Background()
	batch, _ := lock.NewMutex(connect(), "/locks/disk", lock.WithMetadata("batch"))
	urgent, _ := lock.NewMutex(connect(), "/locks/disk",
		lock.WithMetadata("urgent"))

	lease, _ := batch.Lock(ctx)
	finished := make(chan error)
	go func() {
		<-lease.Revoked() // between two units of work
		finished <- lease.Unlock(ctx)
	}()
	holders, _ := urgent.Participants(ctx)
	fmt.Println("held by", holders[0].Metadata)
	fmt.Println(urgent.Revoke(ctx), <-finished)
	mine, err := urgent.Lock(ctx)
	fmt.Println(err, mine.Unlock(ctx))
	// Output:
	// held by batch
	// <nil> <nil>
	// <nil> <nil>
}

// A function that holds the lock may call another one that takes it too, if both use the same
// context.
func ExampleWithOwner() {
	connect, shut := ensemble()
	defer shut()
	ctx := lock.WithOwner(context.Background())
	mutex, _ := lock.NewMutex(connect(), "/locks/stock")

	outer, _ := mutex.Lock(ctx)
	inner, err := mutex.Lock(ctx)
	fmt.Println("again:", err)
	inner.Unlock(ctx)
	fmt.Println("still held:", outer.Err() == nil)
	outer.Unlock(ctx)
	// Output:
	// again: <nil>
	// still held: true
}

// A transfer needs both accounts or none. Two transfers in opposite directions do not deadlock.
func ExampleMulti() {
	connect, shut := ensemble()
	defer shut()
	session := connect()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // for both together
	defer cancel()
	from, _ := lock.NewMutex(session, "/locks/accounts/7")
	to, _ := lock.NewMutex(session, "/locks/accounts/3")

	both, _ := lock.NewMulti(from, to)
	leases, err := both.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, lease := range leases.Leases() {
		fmt.Println(lease.Node()[:len("/locks/accounts/7")])
	}
	fmt.Println(leases.Unlock(ctx))
	// Output:
	// /locks/accounts/3
	// /locks/accounts/7
	// <nil>
}

// A candidate leads once the leader before it has resigned, and says where it can be reached.
func ExampleElection() {
	connect, shut := ensemble()
	defer shut()
	ctx := context.Background()
	first, _ := lock.NewElection(connect(), "/elections/scheduler")
	second, _ := lock.NewElection(connect(), "/elections/scheduler")

	leadership, err := first.Campaign(ctx, "10.0.0.1:8080")
	if err != nil {
		fmt.Println(err)
		return
	}
	leader, err := second.Leader(ctx)
	fmt.Println(leader.Data, err)
	fmt.Println(leadership.Resign(ctx))
	err = second.Do(ctx, "10.0.0.2:8080", func(ctx context.Context) error {
		leader, err := first.Leader(ctx)
		fmt.Println(leader.Data, err)
		return ctx.Err() // ends when the lead is lost
	})
	fmt.Println(err)
	// Output:
	// 10.0.0.1:8080 <nil>
	// <nil>
	// 10.0.0.2:8080 <nil>
	// <nil>
}

// An observer receives each proclamation once, in order.
func ExampleElection_Observe() {
	connect, shut := ensemble()
	defer shut()
	ctx := context.Background()
	candidate, _ := lock.NewElection(connect(), "/elections/primary")
	observer, _ := lock.NewElection(connect(), "/elections/primary")

	leadership, err := candidate.Campaign(ctx, "starting")
	if err != nil {
		fmt.Println(err)
		return
	}
	for leader, err := range observer.Observe(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(leader.Data)
		if leader.Data == "ready" {
			break
		}
		if err := leadership.Proclaim(ctx, "ready"); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(leadership.Resign(ctx))
	// Output:
	// starting
	// ready
	// <nil>
}

// Two workers begin the second step once both have done the first.
func ExampleDoubleBarrier() {
	connect, shut := ensemble()
	defer shut()
	ctx := context.Background()
	var done atomic.Int32
	var workers sync.WaitGroup
	for range 2 {
		barrier, err := lock.NewDoubleBarrier(connect(), "/barriers/steps", 2)
		if err != nil {
			fmt.Println(err)
			return
		}
		workers.Go(func() {
			err := barrier.Do(ctx, func(context.Context) error { // ends when the session is lost
				done.Add(1)
				return nil
			})
			fmt.Println(done.Load(), "have done it, error", err)
		})
	}
	workers.Wait()
	// Output:
	// 2 have done it, error <nil>
	// 2 have done it, error <nil>
}

// A participant that does not use Do leaves its round itself, and waits for the others there.
func ExampleRound() {
	connect, shut := ensemble()
	defer shut()
	ctx := context.Background()
	barrier, err := lock.NewDoubleBarrier(connect(), "/barriers/solo", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	round, err := barrier.Enter(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("lost:", round.Err())
	fmt.Println(round.Leave(ctx))
	// Output:
	// lost: <nil>
	// <nil>
}

// Processes wait while one migrates the data. The barrier stays set if that process crashes.
func ExampleBarrier() {
	connect, shut := ensemble()
	defer shut()
	ctx := context.Background()
	barrier, err := lock.NewBarrier(connect(), "/barriers/migration")
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = barrier.Set(ctx)
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	fmt.Println("set:", barrier.Wait(short))
	_ = barrier.Remove(ctx)
	fmt.Println("removed:", barrier.Wait(ctx))
	// Output:
	// set: context deadline exceeded
	// removed: <nil>
}
