package wire_test

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// octets decodes hexadecimal digits. White space between them is ignored.
func octets(digits string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
	if err != nil {
		panic(err)
	}
	return b
}

// Parts shared by many records below.
const (
	pathOctets = `00000002 2f61`
	openOctets = `00000001 0000001f 00000005 776f726c64 00000006 616e796f6e65`
	statOctets = `0000000000000001 0000000000000002 0000000000000003 0000000000000004
		00000005 00000006 00000007 0000000000000008 00000009 0000000a 000000000000000b`
	endOctets = `ffffffff 01 ffffffff`
)

var (
	open = []wire.ACL{{Perms: wire.PermAll, Scheme: "world", ID: "anyone"}}
	stat = wire.Stat{
		Czxid: 1, Mzxid: 2, Ctime: 3, Mtime: 4, Version: 5, Cversion: 6, Aversion: 7,
		EphemeralOwner: 8,
		DataLength:     9,
		NumChildren:    10, Pzxid: 11,
	}
)

var goldenRequests = []struct {
	name    string
	request wire.Request
	octets  string
}{
	{
		"create",
		wire.Request{
			Xid: 7, Op: wire.OpCreate, Path: "/a", Data: []byte("x"), ACL: open,
			Flags: wire.EphemeralSequential,
		},
		`00000007 00000001` + pathOctets + `00000001 78` + openOctets + `00000003`,
	},
	{
		"create with empty data and without ACL",
		wire.Request{Xid: 7, Op: wire.OpCreate, Path: "/a", Data: []byte{}},
		`00000007 00000001` + pathOctets + `00000000 00000000 00000000`,
	},
	{
		"create2 with null data",
		wire.Request{Xid: 7, Op: wire.OpCreate2, Path: "/a", ACL: open},
		`00000007 0000000f` + pathOctets + `ffffffff` + openOctets + `00000000`,
	},
	{
		"createContainer",
		wire.Request{
			Xid: 7, Op: wire.OpCreateContainer, Path: "/a", ACL: open,
			Flags: wire.Container,
		},
		`00000007 00000013` + pathOctets + `ffffffff` + openOctets + `00000004`,
	},
	{
		"createTTL",
		wire.Request{
			Xid: 7, Op: wire.OpCreateTTL, Path: "/a", ACL: open, Flags: wire.PersistentTTL,
			TTLMillis: 1000,
		},
		`00000007 00000015` + pathOctets + `ffffffff` + openOctets + `00000005 00000000000003e8`,
	},
	{
		"delete",
		wire.Request{Xid: 7, Op: wire.OpDelete, Path: "/a", Version: -1},
		`00000007 00000002` + pathOctets + `ffffffff`,
	},
	{
		"exists",
		wire.Request{Xid: 7, Op: wire.OpExists, Path: "/a", Watch: true},
		`00000007 00000003` + pathOctets + `01`,
	},
	{
		"getData",
		wire.Request{Xid: 7, Op: wire.OpGetData, Path: "/a"},
		`00000007 00000004` + pathOctets + `00`,
	},
	{
		"setData",
		wire.Request{Xid: 7, Op: wire.OpSetData, Path: "/a", Data: []byte("xy"), Version: 3},
		`00000007 00000005` + pathOctets + `00000002 7879 00000003`,
	},
	{
		"getACL",
		wire.Request{Xid: 7, Op: wire.OpGetACL, Path: "/a"},
		`00000007 00000006` + pathOctets,
	},
	{
		"setACL",
		wire.Request{Xid: 7, Op: wire.OpSetACL, Path: "/a", ACL: open, Version: 2},
		`00000007 00000007` + pathOctets + openOctets + `00000002`,
	},
	{
		"getChildren",
		wire.Request{Xid: 7, Op: wire.OpGetChildren, Path: "/a", Watch: true},
		`00000007 00000008` + pathOctets + `01`,
	},
	{
		"sync",
		wire.Request{Xid: 7, Op: wire.OpSync, Path: "/a"},
		`00000007 00000009` + pathOctets,
	},
	{
		"ping",
		wire.Request{Xid: wire.XidPing, Op: wire.OpPing},
		`fffffffe 0000000b`,
	},
	{
		"getChildren2",
		wire.Request{Xid: 7, Op: wire.OpGetChildren2, Path: "/a"},
		`00000007 0000000c` + pathOctets + `00`,
	},
	{
		"check",
		wire.Request{Xid: 7, Op: wire.OpCheck, Path: "/a", Version: 4},
		`00000007 0000000d` + pathOctets + `00000004`,
	},
	{
		"multi",
		wire.Request{Xid: 7, Op: wire.OpMulti, Ops: []wire.Request{
			{Op: wire.OpCheck, Path: "/a", Version: 4},
			{Op: wire.OpCreate, Path: "/a", ACL: open},
			{Op: wire.OpCreate2, Path: "/a", ACL: open},
			{Op: wire.OpCreateContainer, Path: "/a", ACL: open, Flags: wire.Container},
			{
				Op: wire.OpCreateTTL, Path: "/a", ACL: open, Flags: wire.PersistentSeqTTL,
				TTLMillis: 1,
			},
			{Op: wire.OpSetData, Path: "/a", Data: []byte("x"), Version: -1},
			{Op: wire.OpDelete, Path: "/a", Version: -1},
		}},
		`00000007 0000000e
		0000000d 00 ffffffff` + pathOctets + `00000004
		00000001 00 ffffffff` + pathOctets + `ffffffff` + openOctets + `00000000
		0000000f 00 ffffffff` + pathOctets + `ffffffff` + openOctets + `00000000
		00000013 00 ffffffff` + pathOctets + `ffffffff` + openOctets + `00000004
		00000015 00 ffffffff` + pathOctets + `ffffffff` + openOctets + `00000006 0000000000000001
		00000005 00 ffffffff` + pathOctets + `00000001 78 ffffffff
		00000002 00 ffffffff` + pathOctets + `ffffffff` + endOctets,
	},
	{
		"empty multi",
		wire.Request{Xid: 7, Op: wire.OpMulti},
		`00000007 0000000e` + endOctets,
	},
	{
		"multiRead",
		wire.Request{Xid: 7, Op: wire.OpMultiRead, Ops: []wire.Request{
			{Op: wire.OpGetData, Path: "/a"},
			{Op: wire.OpGetChildren, Path: "/a"},
		}},
		`00000007 00000016
		00000004 00 ffffffff` + pathOctets + `00
		00000008 00 ffffffff` + pathOctets + `00` + endOctets,
	},
	{
		"reconfig",
		wire.Request{Xid: 7, Op: wire.OpReconfig, Reconfig: &wire.Reconfig{
			Joining: "j", Leaving: "3",
			Version: -1,
		}},
		`00000007 00000010 00000001 6a 00000001 33 00000000 ffffffffffffffff`,
	},
	{
		"checkWatches",
		wire.Request{Xid: 7, Op: wire.OpCheckWatches, Path: "/a", Mode: wire.DataWatcher},
		`00000007 00000011` + pathOctets + `00000002`,
	},
	{
		"removeWatches",
		wire.Request{Xid: 7, Op: wire.OpRemoveWatches, Path: "/a", Mode: wire.AnyWatcher},
		`00000007 00000012` + pathOctets + `00000003`,
	},
	{
		"auth",
		wire.Request{Xid: wire.XidAuth, Op: wire.OpAuth, Scheme: "digest", Data: []byte("u:p")},
		`fffffffc 00000064 00000000 00000006 646967657374 00000003 753a70`,
	},
	{
		"setWatches",
		wire.Request{Xid: wire.XidSetWatches, Op: wire.OpSetWatches, Watches: &wire.Watches{
			RelativeZxid: 0x100000002, Data: []string{"/a", "/b"}, Child: []string{"/a"},
		}},
		`fffffff8 00000065 0000000100000002 00000002` + pathOctets +
			`00000002 2f62 00000000 00000001` +
			pathOctets,
	},
	{
		"setWatches2",
		wire.Request{Xid: wire.XidSetWatches, Op: wire.OpSetWatches2, Watches: &wire.Watches{
			RelativeZxid: 9, Exist: []string{"/a"}, Persistent: []string{"/a"},
			Recursive: []string{"/"},
		}},
		`fffffff8 00000069 0000000000000009 00000000 00000001` + pathOctets + `00000000
		00000001` + pathOctets + `00000001 00000001 2f`,
	},
	{
		"sasl",
		wire.Request{Xid: 7, Op: wire.OpSASL, Data: []byte("t")},
		`00000007 00000066 00000001 74`,
	},
	{
		"getEphemerals",
		wire.Request{Xid: 7, Op: wire.OpGetEphemerals, Path: "/a"},
		`00000007 00000067` + pathOctets,
	},
	{
		"getAllChildrenNumber",
		wire.Request{Xid: 7, Op: wire.OpGetAllChildrenNumber, Path: "/a"},
		`00000007 00000068` + pathOctets,
	},
	{
		"addWatch",
		wire.Request{Xid: 7, Op: wire.OpAddWatch, Path: "/a", Mode: wire.RecursiveWatch},
		`00000007 0000006a` + pathOctets + `00000001`,
	},
	{
		"whoAmI",
		wire.Request{Xid: 7, Op: wire.OpWhoAmI},
		`00000007 0000006b`,
	},
	{
		"closeSession",
		wire.Request{Xid: 7, Op: wire.OpCloseSession},
		`00000007 fffffff5`,
	},
	{
		"unknown type",
		wire.Request{Xid: 7, Op: 55},
		`00000007 00000037`,
	},
}

func TestGoldenRequests(t *testing.T) {
	for _, test := range goldenRequests {
		t.Run(test.name, func(t *testing.T) {
			want := octets(test.octets)
			if got := operation.AppendRequest(nil, &test.request); !bytes.Equal(got, want) {
				t.Errorf("encoded as\n%x, want\n%x", got, want)
			}
			var got wire.Request
			if err := operation.DecodeRequest(want, &got); err != nil ||
				!reflect.DeepEqual(got, test.request) {
				t.Errorf("decoded as\n%+v, error %v, want\n%+v", got, err, test.request)
			}
		})
	}
}

var goldenReplies = []struct {
	name   string
	op     wire.Op
	reply  wire.Reply
	octets string
}{
	{"create", wire.OpCreate, wire.Reply{Path: "/a"}, pathOctets},
	{"delete", wire.OpDelete, wire.Reply{}, ``},
	{"exists", wire.OpExists, wire.Reply{Stat: stat}, statOctets},
	{"getData", wire.OpGetData, wire.Reply{Data: []byte("x"), Stat: stat}, `00000001 78` +
		statOctets},
	{"getData of null", wire.OpGetData, wire.Reply{Stat: stat}, `ffffffff` + statOctets},
	{"setData", wire.OpSetData, wire.Reply{Stat: stat}, statOctets},
	{"getACL", wire.OpGetACL, wire.Reply{ACL: open, Stat: stat}, openOctets + statOctets},
	{"setACL", wire.OpSetACL, wire.Reply{Stat: stat}, statOctets},
	{
		"getChildren", wire.OpGetChildren,
		wire.Reply{Children: []string{"b", "c"}},
		`00000002 00000001 62 00000001 63`,
	},
	{"getChildren of a leaf", wire.OpGetChildren, wire.Reply{}, `00000000`},
	{"sync", wire.OpSync, wire.Reply{Path: "/a"}, pathOctets},
	{"ping", wire.OpPing, wire.Reply{}, ``},
	{
		"getChildren2", wire.OpGetChildren2,
		wire.Reply{Children: []string{"b"}, Stat: stat},
		`00000001 00000001 62` + statOctets,
	},
	{"check", wire.OpCheck, wire.Reply{Stat: stat}, statOctets},
	{
		"multi", wire.OpMulti,
		wire.Reply{Results: []wire.Result{
			{Op: wire.OpCheck},
			{Op: wire.OpCreate, Path: "/a"},
			{Op: wire.OpCreate2, Path: "/a", Stat: stat},
			{Op: wire.OpCreateContainer, Path: "/a", Stat: stat},
			{Op: wire.OpCreateTTL, Path: "/a", Stat: stat},
			{Op: wire.OpSetData, Stat: stat},
			{Op: wire.OpDelete},
		}},
		`0000000d 00 00000000
		00000001 00 00000000` + pathOctets + `
		0000000f 00 00000000` + pathOctets + statOctets + `
		00000013 00 00000000` + pathOctets + statOctets + `
		00000015 00 00000000` + pathOctets + statOctets + `
		00000005 00 00000000` + statOctets + `
		00000002 00 00000000` + endOctets,
	},
	{
		"failed multi", wire.OpMulti,
		wire.Reply{Results: []wire.Result{
			{Op: wire.OpError},
			{Op: wire.OpError, Code: wire.NoNode},
			{Op: wire.OpError, Code: wire.RuntimeInconsistency},
		}},
		`ffffffff 00 00000000 00000000
		ffffffff 00 ffffff9b ffffff9b
		ffffffff 00 fffffffe fffffffe` + endOctets,
	},
	{
		"multiRead", wire.OpMultiRead,
		wire.Reply{Results: []wire.Result{
			{Op: wire.OpGetData, Data: []byte("x"), Stat: stat},
			{Op: wire.OpError, Code: wire.NoNode},
			{Op: wire.OpGetChildren, Children: []string{"b"}},
		}},
		`00000004 00 00000000 00000001 78` + statOctets + `
		ffffffff 00 ffffff9b ffffff9b
		00000008 00 00000000 00000001 00000001 62` + endOctets,
	},
	{"create2", wire.OpCreate2, wire.Reply{Path: "/a", Stat: stat}, pathOctets + statOctets},
	{"reconfig", wire.OpReconfig, wire.Reply{Data: []byte("x"), Stat: stat}, `00000001 78` +
		statOctets},
	{"checkWatches", wire.OpCheckWatches, wire.Reply{}, ``},
	{"removeWatches", wire.OpRemoveWatches, wire.Reply{}, ``},
	{"createContainer", wire.OpCreateContainer, wire.Reply{Path: "/a", Stat: stat}, pathOctets +
		statOctets},
	{"createTTL", wire.OpCreateTTL, wire.Reply{Path: "/a", Stat: stat}, pathOctets + statOctets},
	{"auth", wire.OpAuth, wire.Reply{}, ``},
	{"setWatches", wire.OpSetWatches, wire.Reply{}, ``},
	{"setWatches2", wire.OpSetWatches2, wire.Reply{}, ``},
	{"sasl", wire.OpSASL, wire.Reply{Data: []byte("t")}, `00000001 74`},
	{"getEphemerals", wire.OpGetEphemerals, wire.Reply{Children: []string{"/a"}}, `00000001` +
		pathOctets},
	{"getAllChildrenNumber", wire.OpGetAllChildrenNumber, wire.Reply{Number: 258}, `00000102`},
	{"addWatch", wire.OpAddWatch, wire.Reply{}, `00000000`},
	{
		"whoAmI", wire.OpWhoAmI,
		wire.Reply{Identities: []wire.Identity{{Scheme: "ip", ID: "::1"}}},
		`00000001 00000002 6970 00000003 3a3a31`,
	},
	{"closeSession", wire.OpCloseSession, wire.Reply{}, ``},
	{"unknown type", 55, wire.Reply{}, ``},
}

func TestGoldenReplies(t *testing.T) {
	for _, test := range goldenReplies {
		t.Run(test.name, func(t *testing.T) {
			reply := test.reply
			reply.Xid, reply.Zxid = 7, 0x100000002
			checkReply(t, test.op, reply, `00000007 0000000100000002 00000000`+test.octets)
			failed := wire.Reply{Xid: 7, Zxid: -1, Code: wire.NoNode}
			checkReply(t, test.op, failed, `00000007 ffffffffffffffff ffffff9b`)
		})
	}
}

func checkReply(t *testing.T, op wire.Op, reply wire.Reply, digits string) {
	t.Helper()
	want := octets(digits)
	if got := operation.AppendReply(nil, op, &reply); !bytes.Equal(got, want) {
		t.Errorf("encoded as\n%x, want\n%x", got, want)
	}
	var got wire.Reply
	if err := operation.DecodeReply(want, op, &got); err != nil || !reflect.DeepEqual(got, reply) {
		t.Errorf("decoded as\n%+v, error %v, want\n%+v", got, err, reply)
	}
	xid, zxid, code, err := wire.ReplyHeader(want)
	if xid != reply.Xid || zxid != reply.Zxid || code != reply.Code || err != nil {
		t.Errorf("the header is %d, %d, %v, error %v", xid, zxid, code, err)
	}
}

// TestErrorHasNoRecord encodes a reply that has an error code and fields.
func TestErrorHasNoRecord(t *testing.T) {
	reply := wire.Reply{Xid: 7, Code: wire.NodeExists, Path: "/a"}
	want := octets(`00000007 0000000000000000 ffffff92`)
	if got := operation.AppendReply(nil, wire.OpCreate, &reply); !bytes.Equal(got, want) {
		t.Errorf("encoded as %x, want %x", got, want)
	}
}
