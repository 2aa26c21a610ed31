package wire_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// lenientRequests are malformed requests that servers nevertheless accept.
func lenientRequests() []lenientRequest {
	return []lenientRequest{
		{
			"trailing octets after the record", `00000007 00000009` + pathOctets + `ff`,
			wire.Request{Xid: 7, Op: wire.OpSync, Path: "/a"},
		},
		{"trailing octets after a header", `fffffffe 0000000b ff`, wire.Request{
			Xid: wire.XidPing,
			Op:  wire.OpPing,
		}},
		{"null path", `00000007 00000009 ffffffff`, wire.Request{
			Xid: 7, Op: wire.OpSync,
			Path: wire.Null,
		}},
		{
			"null ACL", `00000007 00000007` + pathOctets + `ffffffff 00000002`,
			wire.Request{Xid: 7, Op: wire.OpSetACL, Path: "/a", Version: 2},
		},
		{
			"ACL of negative length", `00000007 00000007` + pathOctets + `80000000 00000002`,
			wire.Request{Xid: 7, Op: wire.OpSetACL, Path: "/a", Version: 2},
		},
		{
			"boolean other than 0 and 1", `00000007 00000003` + pathOctets + `80`,
			wire.Request{Xid: 7, Op: wire.OpExists, Path: "/a", Watch: true},
		},
		{
			"end of a multi with a type", `00000007 0000000e 00000001 01 00000000`,
			wire.Request{Xid: 7, Op: wire.OpMulti},
		},
		{
			"path that is not UTF-8", `00000007 00000009 00000002 2fff`,
			wire.Request{Xid: 7, Op: wire.OpSync, Path: "/\ufffd"},
		},
		{
			"null path in setWatches",
			`00000007 00000065 0000000000000001 00000001 ffffffff 00000000 00000000`,
			wire.Request{Xid: 7, Op: wire.OpSetWatches, Watches: &wire.Watches{
				RelativeZxid: 1,
				Data:         []string{wire.Null},
			}},
		},
		{
			"vector of negative length in setWatches",
			`00000007 00000065 0000000000000001 fffffffe 00000000 00000000`,
			wire.Request{Xid: 7, Op: wire.OpSetWatches, Watches: &wire.Watches{RelativeZxid: 1}},
		},
	}
}

type lenientRequest struct {
	name   string
	octets string
	want   wire.Request
}

func TestLenientDecoding(t *testing.T) {
	for _, test := range lenientRequests() {
		t.Run(test.name, func(t *testing.T) {
			got := wire.Request{Data: []byte("overwritten")}
			if err := operation.DecodeRequest(octets(test.octets), &got); err != nil ||
				!reflect.DeepEqual(got, test.want) {
				t.Errorf("decoded as\n%+v, error %v, want\n%+v", got, err, test.want)
			}
		})
	}
}

// TestAbsentPointers encodes requests whose record is nil.
func TestAbsentPointers(t *testing.T) {
	for _, pair := range [][2]wire.Request{
		{{Op: wire.OpSetWatches}, {Op: wire.OpSetWatches, Watches: &wire.Watches{}}},
		{{Op: wire.OpSetWatches2}, {Op: wire.OpSetWatches2, Watches: &wire.Watches{}}},
		{{Op: wire.OpReconfig}, {Op: wire.OpReconfig, Reconfig: &wire.Reconfig{
			Joining: wire.Null,
			Leaving: wire.Null, NewMembers: wire.Null,
		}}},
	} {
		got, want := operation.AppendRequest(nil, &pair[0]), operation.AppendRequest(nil, &pair[1])
		if !bytes.Equal(got, want) {
			t.Errorf("%s: encoded as %x, want %x", operation.Name(pair[0].Op), got, want)
		}
	}
}
