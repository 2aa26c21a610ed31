package lock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// A printer prints what happens to exclusive contenders.
type printer struct{}

func (printer) Observe(e lock.Event) {
	switch e.Kind {
	case lock.Granted, lock.Ended, lock.Removed:
		if exclusive := !e.Attempt.Shared && e.Attempt.Places == 1; exclusive {
			fmt.Println(e.Path, e.Kind, e.Err)
		}
	}
}

func ExampleObserver() {
	connect, shut := ensemble()
	defer shut()
	ctx := context.Background()
	var observer lock.Observer = printer{}
	mutex, _ := lock.NewMutex(connect(), "/locks/billing",
		lock.WithObserver(observer))
	lease, _ := mutex.Lock(ctx)
	lease.Unlock(ctx)
	// Output:
	// /locks/billing granted <nil>
	// /locks/billing ended <nil>
	// /locks/billing removed <nil>
}

// A program that caches what only its session protects reads the events of the session.
func ExampleSession_Events() {
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
	for event := range session.Events(ctx) {
		switch event.Status {
		case lock.SessionConnected:
			fmt.Println("connected")
			session.Close()
		case lock.SessionSuspended: // Changes nothing yet, but may come before either.
		case lock.SessionLost:
			fmt.Println("lost") // Forget what depends on the session.
			return
		}
	}
	// Output:
	// connected
	// lost
}
