package simzk_test

import (
	"strconv"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// One iteration is a creation and a deletion by a client, each served and delivered.
func BenchmarkServeDeliver(b *testing.B) {
	log := new(history.Log)
	cluster := simzk.New(simzk.Config{}, log)
	conn := cluster.Connect()
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

// One iteration is a client that comes, watches a node of its own and goes, while ten thousand
// others watch theirs.
func BenchmarkLeave(b *testing.B) {
	const others = 10_000
	cluster := simzk.New(simzk.Config{}, nil)
	ask := func(link *simzk.Link, frame []byte) {
		if err := cluster.Receive(link, frame); err != nil {
			b.Fatal(err)
		}
		cluster.Serve(link)
		cluster.Deliver(link)
	}
	come := func(n int) *simzk.Link {
		link := cluster.Accept(0, "127.0.0.1", deafSocket{})
		ask(link, wire.AppendConnectRequest(nil, &wire.ConnectRequest{
			TimeoutMillis: 10_000,
			Password:      make([]byte, 16),
		}))
		ask(link, wire.AppendRequest(nil, &wire.Request{
			Xid: 1, Op: wire.OpExists,
			Path: "/" + strconv.Itoa(n), Watch: true,
		}))
		return link
	}
	for i := range others {
		come(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		link := come(others)
		ask(link, wire.AppendRequest(nil, &wire.Request{Xid: 2, Op: wire.OpCloseSession}))
		cluster.Leave(link)
	}
}

// A deafSocket is the way to a client that takes no interest in what it is sent.
type deafSocket struct{}

func (deafSocket) Send([]byte) {}
func (deafSocket) Close()      {}
