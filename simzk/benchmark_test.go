package simzk_test

import (
	"strconv"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// One iteration is a creation and a deletion by a client, each served and delivered.
func BenchmarkServeDeliver(b *testing.B) {
	log := new(history.Log)
	cluster := simzk.New(simzk.Config{}, log)
	conn := model.Connect(cluster)
	go func() {
		for {
			path, err := conn.Create("/n-", nil, zk.FlagEphemeralSequential,
				zk.WorldACL(zk.PermAll))
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

// One iteration is a client that connects, watches a node and leaves, while ten thousand other
// clients watch their nodes.
func BenchmarkLeave(b *testing.B) {
	const others = 10_000
	cluster := simzk.New(simzk.Config{}, nil)
	exchange := func(link *simzk.Link, frame []byte) {
		if err := cluster.Receive(link, frame); err != nil {
			b.Fatal(err)
		}
		cluster.Serve(link)
		cluster.Deliver(link)
	}
	connect := func(n int) *simzk.Link {
		link := cluster.Accept(0, "127.0.0.1", discardSocket{})
		exchange(link, wire.AppendConnectRequest(nil, &wire.ConnectRequest{
			TimeoutMillis: 10_000,
			Password:      make([]byte, 16),
		}))
		exchange(link, operation.AppendRequest(nil, &wire.Request{
			Xid: 1, Op: wire.OpExists,
			Path: "/" + strconv.Itoa(n), Watch: true,
		}))
		return link
	}
	for i := range others {
		connect(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		link := connect(others)
		exchange(link, operation.AppendRequest(nil, &wire.Request{Xid: 2, Op: wire.OpCloseSession}))
		cluster.Leave(link)
	}
}

// A discardSocket discards its frames.
type discardSocket struct{}

func (discardSocket) Send([]byte) {}
func (discardSocket) Close()      {}
