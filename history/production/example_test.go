package production_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/history/production"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/lock/record"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// Two processes of a service use a lock and record their histories. Their clocks are the same in
// this example; assume that they are off by up to 50 ms.
func Example() {
	server, err := tcp.Start(tcp.Config{}, "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer server.Close()
	var recorded [2]bytes.Buffer
	var running sync.WaitGroup
	for p := range recorded {
		session, err := lock.Dial(context.Background(), server.Addresses(), 10*time.Second,
			lock.WithClientOption(zk.WithLogInfo(false)))
		if err != nil {
			panic(err)
		}
		defer session.Close()
		recorder := record.New(&recorded[p], fmt.Sprintf("billing-%d", p+1))
		mutex, err := lock.NewMutex(session, "/locks/billing", lock.WithObserver(recorder))
		if err != nil {
			panic(err)
		}
		running.Go(func() {
			defer recorder.Close()
			for range 5 {
				recorder.Do(context.Background(), mutex, func(context.Context) error { return nil })
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
	logs, _, err = production.NumberProcesses(logs...)
	if err != nil {
		panic(err)
	}
	clocks := production.Clocks{Default: 50 * time.Millisecond, Pause: 200 * time.Millisecond}
	events := production.Merge(logs...).Events()
	for _, property := range []history.Property{
		history.ClientMutualExclusion, history.FIFO,
		history.MonotonicToken, history.Linearizable,
	} {
		violation, decided := production.Within(property, events, clocks,
			models.Limits{Time: time.Minute})
		fmt.Println(property, violation == nil && decided)
	}
	// Output:
	// client-mutual-exclusion true
	// fifo true
	// monotonic-token true
	// linearizable true
}
