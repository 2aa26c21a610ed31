package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// The examples of other libraries, rewritten. docs/migrating.md shows them, from the call of
// lock.Dial on.

// zookeeper substitutes for a ZooKeeper of your own. It returns its servers, and a function that
// shuts it down.
func zookeeper() (servers []string, shut func()) {
	server, err := tcp.Start(tcp.Config{}, "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return server.Addresses(), func() { server.Close() }
}

func ExampleMutex_Lock_etcd() {
	servers, shut := zookeeper()
	defer shut()
	ctx := context.Background()

	session, err := lock.Dial(ctx, servers, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	mutex, err := lock.NewMutex(session, "/my-lock")
	if err != nil {
		log.Fatal(err)
	}

	first, err := mutex.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("acquired the lock")
	next := make(chan error)
	go func() {
		_, err := mutex.Lock(ctx) // Each call contends for itself.
		next <- err
	}()
	if err := first.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("released the lock")
	if err := <-next; err != nil {
		log.Fatal(err)
	}
	fmt.Println("the other has acquired it")
	// Output:
	// acquired the lock
	// released the lock
	// the other has acquired it
}

func ExampleMutex_TryLock_etcd() {
	servers, shut := zookeeper()
	defer shut()
	ctx := context.Background()

	session, err := lock.Dial(ctx, servers, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	mutex, err := lock.NewMutex(session, "/my-lock")
	if err != nil {
		log.Fatal(err)
	}

	first, err := mutex.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("acquired the lock")
	if _, err = mutex.TryLock(ctx); errors.Is(err, lock.ErrNotAcquired) {
		fmt.Println("the other finds it locked")
	}
	if err = first.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("released the lock")
	if _, err = mutex.TryLock(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("the other has acquired it")
	// Output:
	// acquired the lock
	// the other finds it locked
	// released the lock
	// the other has acquired it
}

func ExampleElection_Campaign_etcd() {
	servers, shut := zookeeper()
	defer shut()
	ctx := context.Background()

	session, err := lock.Dial(ctx, servers, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	election, err := lock.NewElection(session, "/my-election")
	if err != nil {
		log.Fatal(err)
	}

	first, err := election.Campaign(ctx, "e2")
	if err != nil {
		log.Fatal(err)
	}
	elected := make(chan error)
	go func() {
		_, err := election.Campaign(ctx, "e1")
		elected <- err
	}()
	for leader, err := range election.Observe(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("leader:", leader.Data)
		if leader.Data == "e1" {
			break
		}
		if err := first.Resign(ctx); err != nil { // so that the next candidate is elected
			log.Fatal(err)
		}
	}
	if err := <-elected; err != nil {
		log.Fatal(err)
	}
	// Output:
	// leader: e2
	// leader: e1
}

func ExampleMutex_Do_redsync() {
	servers, shut := zookeeper()
	defer shut()
	ctx := context.Background()
	var account row

	session, err := lock.Dial(ctx, servers, 10*time.Second)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	mutex, err := lock.NewMutex(session, "/my-global-mutex")
	if err != nil {
		panic(err)
	}

	err = mutex.Do(ctx, func(ctx context.Context) error { // ctx ends when the lock is lost
		fmt.Println(account.update("1", lock.LeaseFrom(ctx).Token()))
		return nil
	})
	if err != nil {
		panic(err)
	}
	// Output: written
}
