package wire_test

import (
	"fmt"
	"testing"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

var (
	benchmarkRequests = []wire.Request{
		{
			Xid: 7, Op: wire.OpCreate, Path: "/locks/lock-", Data: []byte("owner"), ACL: open,
			Flags: wire.EphemeralSequential,
		},
		{Xid: 8, Op: wire.OpGetChildren, Path: "/locks"},
	}
	benchmarkReplies = []wire.Reply{
		{Xid: 7, Zxid: 9, Path: "/locks/lock-0000000007"},
		{Xid: 8, Zxid: 9, Children: lockNodes(10)},
	}
)

// lockNodes returns the names of n nodes of a lock.
func lockNodes(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("lock-%010d", i)
	}
	return names
}

func BenchmarkAppendRequest(b *testing.B) {
	for _, r := range benchmarkRequests {
		b.Run(operation.Name(r.Op), func(b *testing.B) {
			b.ReportAllocs()
			var buffer []byte
			for b.Loop() {
				buffer = operation.AppendRequest(buffer[:0], &r)
			}
		})
	}
}

func BenchmarkDecodeRequest(b *testing.B) {
	for _, r := range benchmarkRequests {
		b.Run(operation.Name(r.Op), func(b *testing.B) {
			b.ReportAllocs()
			frame := operation.AppendRequest(nil, &r)
			var decoded wire.Request
			for b.Loop() {
				if err := operation.DecodeRequest(frame, &decoded); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendReply(b *testing.B) {
	for i, r := range benchmarkReplies {
		op := benchmarkRequests[i].Op
		b.Run(operation.Name(op), func(b *testing.B) {
			b.ReportAllocs()
			var buffer []byte
			for b.Loop() {
				buffer = operation.AppendReply(buffer[:0], op, &r)
			}
		})
	}
}

func BenchmarkDecodeReply(b *testing.B) {
	for i, r := range benchmarkReplies {
		op := benchmarkRequests[i].Op
		b.Run(operation.Name(op), func(b *testing.B) {
			b.ReportAllocs()
			frame := operation.AppendReply(nil, op, &r)
			var decoded wire.Reply
			for b.Loop() {
				if err := operation.DecodeReply(frame, op, &decoded); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
