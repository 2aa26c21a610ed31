package lock_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
)

// A counting client counts the nodes that it creates. It has all methods of the client that it
// embeds, Multi too.
type counting struct {
	*zk.Conn
	created atomic.Int32
}

func (c *counting) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	c.created.Add(1)
	return c.Conn.Create(path, data, flags, acl)
}

func ExampleClient() {
	connect, shut := ensemble()
	defer shut()
	ctx := context.Background()
	conn := &counting{Conn: connect()}
	var client lock.Client = conn
	mutex, _ := lock.NewMutex(client, "/billing", 10*time.Second)
	for range 3 {
		lease, err := mutex.Lock(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		lease.Unlock(ctx)
	}
	fmt.Println(conn.created.Load()-2, "nodes; the first create found no directory, and made it")
	// Output: 3 nodes; the first create found no directory, and made it
}

// A function that takes any lock can be called with a mutex, a side of a read-write lock, or a
// semaphore.
func ExampleLocker() {
	connect, shut := ensemble()
	defer shut()
	conn := connect()
	work := func(l lock.Locker) error {
		return l.Do(context.Background(), func(context.Context) error {
			fmt.Println("in", l.Path())
			return nil
		})
	}
	index, _ := lock.NewRWMutex(conn, "/locks/index", 10*time.Second)
	workers, _ := lock.NewSemaphore(conn, "/locks/workers", 3, 10*time.Second)
	fmt.Println(work(index.RLocker()), work(workers))
	// Output:
	// in /locks/index
	// in /locks/workers
	// <nil> <nil>
}
