package tcp_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// BenchmarkRoundTrip measures a write and its reply.
func BenchmarkRoundTrip(b *testing.B) {
	_, address := single(b, simzk.Config{})
	c, _ := open(b, address, 40*time.Second)
	c.call(create("/a", nil, wire.Persistent))
	for b.Loop() {
		if reply := c.call(wire.Request{
			Op: wire.OpSetData, Path: "/a", Data: []byte("data"),
			Version: -1,
		}); reply.Code != wire.OK {
			b.Fatal(reply.Code)
		}
	}
}

// BenchmarkPipelined measures writes sent without waiting for their replies.
func BenchmarkPipelined(b *testing.B) {
	_, address := single(b, simzk.Config{})
	c, _ := open(b, address, 40*time.Second)
	c.call(create("/a", nil, wire.Persistent))
	r := wire.Request{Op: wire.OpSetData, Path: "/a", Data: []byte("data"), Version: -1}
	b.ResetTimer()
	go func() {
		for range b.N {
			if _, err := c.conn.Write(framed(&r)); err != nil {
				b.Error(err)
				return
			}
		}
	}()
	for range b.N {
		if reply := c.reply(wire.OpSetData); reply.Code != wire.OK {
			b.Fatal(reply.Code)
		}
	}
}
