package lock_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// A counting client counts the nodes that it creates. It has all methods of the client that it
// embeds.
type counting struct {
	lock.Client
	created atomic.Int32
}

func (c *counting) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	c.created.Add(1)
	return c.Client.Create(path, data, flags, acl)
}

func ExampleClient() {
	server, err := tcp.Start(tcp.Config{}, "127.0.0.1:0") // substitutes for a ZooKeeper of your own
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	conn, events, err := zk.Connect(server.Addresses(), 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &counting{Client: conn}
	session := lock.NewSession(client, events, 10*time.Second)
	defer session.Close()
	mutex, _ := lock.NewMutex(session, "/billing")
	for range 3 {
		lease, err := mutex.Lock(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		lease.Unlock(ctx)
	}
	fmt.Println(client.created.Load()-2, "nodes; the first create found no directory, and made it")
	// Output: 3 nodes; the first create found no directory, and made it
}

// A function that takes any lock can be called with a mutex, a side of a read-write lock, or a
// semaphore.
func ExampleLocker() {
	connect, shut := ensemble()
	defer shut()
	session := connect()
	work := func(l lock.Locker) error {
		return l.Do(context.Background(), func(context.Context) error {
			fmt.Println("in", l.Path())
			return nil
		})
	}
	index, _ := lock.NewRWMutex(session, "/locks/index")
	workers, _ := lock.NewSemaphore(session, "/locks/workers", 3)
	fmt.Println(work(index.RLocker()), work(workers))
	// Output:
	// in /locks/index
	// in /locks/workers
	// <nil> <nil>
}
