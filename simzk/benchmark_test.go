package simzk_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
)

// One iteration is a creation and a deletion by a client, each served and delivered.
func BenchmarkServeDeliver(b *testing.B) {
	log := new(history.Log)
	cluster := simzk.New(simzk.Config{}, log)
	conn := cluster.Connect()
	go func() {
		for {
			path, err := conn.Create("/n-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
			if err == nil {
				err = conn.Delete(path, -1)
			}
			if err != nil {
				panic(err)
			}
		}
	}()
	b.ReportAllocs()
	for b.Loop() {
		for range 2 {
			<-cluster.Activity()
			cluster.Collect()
			cluster.Serve(conn.Link)
			cluster.Deliver(conn.Link)
		}
		log.Reset()
	}
	conn.TearDown()
}
