package wire_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/interlock-sim/interlock/simzk/wire"
)

var goldenConnectRequests = []struct {
	name    string
	request wire.ConnectRequest
	octets  string
}{
	{
		"of an old client",
		wire.ConnectRequest{TimeoutMillis: 10000, Password: make([]byte, 16)},
		`00000000 0000000000000000 00002710 0000000000000000 00000010
		00000000000000000000000000000000`,
	},
	{
		"of a read-only client",
		wire.ConnectRequest{
			ProtocolVersion: 1, LastZxidSeen: 0x100000002, TimeoutMillis: -5,
			SessionID: 0x100000000000003,
			Password:  []byte("pw"), ReadOnly: true, HasReadOnly: true,
		},
		`00000001 0000000100000002 fffffffb 0100000000000003 00000002 7077 01`,
	},
	{
		"with a null password",
		wire.ConnectRequest{HasReadOnly: true},
		`00000000 0000000000000000 00000000 0000000000000000 ffffffff 00`,
	},
}

func TestGoldenConnectRequests(t *testing.T) {
	for _, test := range goldenConnectRequests {
		t.Run(test.name, func(t *testing.T) {
			want := octets(test.octets)
			if got := wire.AppendConnectRequest(nil, &test.request); !bytes.Equal(got, want) {
				t.Errorf("encoded as\n%x, want\n%x", got, want)
			}
			var got wire.ConnectRequest
			if err := wire.DecodeConnectRequest(want, &got); err != nil ||
				!reflect.DeepEqual(got, test.request) {
				t.Errorf("decoded as\n%+v, error %v, want\n%+v", got, err, test.request)
			}
		})
	}
}

var goldenConnectResponses = []struct {
	name     string
	response wire.ConnectResponse
	octets   string
}{
	{
		"to an old client",
		wire.ConnectResponse{
			TimeoutMillis: 10000, SessionID: 0x100000000000003,
			Password: []byte("0123456789abcdef"),
		},
		`00000000 00002710 0100000000000003 00000010 30313233343536373839616263646566`,
	},
	{
		"of an expired session",
		wire.ConnectResponse{Password: make([]byte, 16), HasReadOnly: true},
		`00000000 00000000 0000000000000000 00000010 00000000000000000000000000000000 00`,
	},
	{
		"of a read-only server",
		wire.ConnectResponse{TimeoutMillis: 1, SessionID: 2, ReadOnly: true, HasReadOnly: true},
		`00000000 00000001 0000000000000002 ffffffff 01`,
	},
}

func TestGoldenConnectResponses(t *testing.T) {
	for _, test := range goldenConnectResponses {
		t.Run(test.name, func(t *testing.T) {
			want := octets(test.octets)
			if got := wire.AppendConnectResponse(nil, &test.response); !bytes.Equal(got, want) {
				t.Errorf("encoded as\n%x, want\n%x", got, want)
			}
			var got wire.ConnectResponse
			if err := wire.DecodeConnectResponse(want, &got); err != nil ||
				!reflect.DeepEqual(got, test.response) {
				t.Errorf("decoded as\n%+v, error %v, want\n%+v", got, err, test.response)
			}
		})
	}
}

var goldenEvents = []struct {
	name   string
	event  wire.Event
	octets string
}{
	{
		"of an old server",
		wire.Event{Type: wire.EventDeleted, State: wire.StateSyncConnected, Path: "/a", Zxid: -1},
		`ffffffff ffffffffffffffff 00000000 00000002 00000003` + pathOctets,
	},
	{
		"of a new server",
		wire.Event{
			Type: wire.EventChildrenChanged, State: wire.StateSyncConnected, Path: "/a",
			Zxid: 0x100000002,
		},
		`ffffffff 0000000100000002 00000000 00000004 00000003` + pathOctets,
	},
	{
		"without a path",
		wire.Event{Type: -1},
		`ffffffff 0000000000000000 00000000 ffffffff 00000000 00000000`,
	},
}

func TestGoldenEvents(t *testing.T) {
	for _, test := range goldenEvents {
		t.Run(test.name, func(t *testing.T) {
			want := octets(test.octets)
			if got := wire.AppendEvent(nil, &test.event); !bytes.Equal(got, want) {
				t.Errorf("encoded as\n%x, want\n%x", got, want)
			}
			var got wire.Event
			if err := wire.DecodeEvent(want, &got); err != nil || got != test.event {
				t.Errorf("decoded as\n%+v, error %v, want\n%+v", got, err, test.event)
			}
			if xid, _, _, err := wire.ReplyHeader(want); xid != wire.XidEvent || err != nil {
				t.Errorf("the xid is %d, error %v", xid, err)
			}
		})
	}
}
