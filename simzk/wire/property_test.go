package wire_test

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// ops are all types of requests and an unknown one.
var ops = []wire.Op{
	wire.OpNotification, wire.OpCreate, wire.OpDelete, wire.OpExists, wire.OpGetData,
	wire.OpSetData,
	wire.OpGetACL,
	wire.OpSetACL, wire.OpGetChildren, wire.OpSync, wire.OpPing, wire.OpGetChildren2, wire.OpCheck,
	wire.OpMulti,
	wire.OpCreate2, wire.OpReconfig, wire.OpCheckWatches, wire.OpRemoveWatches,
	wire.OpCreateContainer,
	wire.OpDeleteContainer, wire.OpCreateTTL, wire.OpMultiRead, wire.OpAuth, wire.OpSetWatches,
	wire.OpSASL,
	wire.OpGetEphemerals, wire.OpGetAllChildrenNumber, wire.OpSetWatches2, wire.OpAddWatch,
	wire.OpWhoAmI,
	wire.OpCreateSession, wire.OpCloseSession, wire.OpError, 55,
}

var (
	writes  = []wire.Op{1, 2, 5, 13, 15, 19, 21}
	reads   = []wire.Op{4, 8}
	results = []wire.Op{-1, 1, 2, 4, 5, 8, 13, 15, 19, 21}
)

// A recordGen draws the fields of records. Empty vectors are nil, as a decoder returns them.
type recordGen struct{ t *rapid.T }

func (d recordGen) int() int32  { return rapid.Int32().Draw(d.t, "int") }
func (d recordGen) long() int64 { return rapid.Int64().Draw(d.t, "long") }
func (d recordGen) bool() bool  { return rapid.Bool().Draw(d.t, "bool") }

// string draws a string; null and empty strings are distinct.
func (d recordGen) string() string {
	if rapid.IntRange(0, 7).Draw(d.t, "null") == 0 {
		return wire.Null
	}
	return rapid.String().Draw(d.t, "string")
}

// buffer draws a buffer; null and empty buffers are distinct.
func (d recordGen) buffer() []byte {
	if rapid.Bool().Draw(d.t, "null") {
		return nil
	}
	return append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(d.t, "buffer")...)
}

func vector[T any](d recordGen, element func() T) []T {
	var v []T
	for range rapid.IntRange(0, 4).Draw(d.t, "length") {
		v = append(v, element())
	}
	return v
}

func (d recordGen) strings() []string { return vector(d, d.string) }

func (d recordGen) acl() []wire.ACL {
	return vector(d, func() wire.ACL {
		return wire.ACL{Perms: d.int(), Scheme: d.string(), ID: d.string()}
	})
}

func (d recordGen) stat() wire.Stat {
	return wire.Stat{
		Czxid: d.long(), Mzxid: d.long(), Ctime: d.long(), Mtime: d.long(), Version: d.int(),
		Cversion: d.int(),
		Aversion: d.int(), EphemeralOwner: d.long(), DataLength: d.int(), NumChildren: d.int(),
		Pzxid: d.long(),
	}
}

// request draws a request with the fields of its type.
func (d recordGen) request(xid int32, op wire.Op) wire.Request {
	r := wire.Request{Xid: xid, Op: op}
	switch op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		r.Path, r.Data, r.ACL, r.Flags = d.string(), d.buffer(), d.acl(), d.int()
		if op == wire.OpCreateTTL {
			r.TTLMillis = d.long()
		}
	case wire.OpDelete, wire.OpCheck:
		r.Path, r.Version = d.string(), d.int()
	case wire.OpSetData:
		r.Path, r.Data, r.Version = d.string(), d.buffer(), d.int()
	case wire.OpSetACL:
		r.Path, r.ACL, r.Version = d.string(), d.acl(), d.int()
	case wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		r.Path, r.Watch = d.string(), d.bool()
	case wire.OpGetACL, wire.OpSync, wire.OpGetEphemerals, wire.OpGetAllChildrenNumber:
		r.Path = d.string()
	case wire.OpAddWatch, wire.OpRemoveWatches, wire.OpCheckWatches:
		r.Path, r.Mode = d.string(), d.int()
	case wire.OpSetWatches:
		r.Watches = &wire.Watches{
			RelativeZxid: d.long(), Data: d.strings(), Exist: d.strings(),
			Child: d.strings(),
		}
	case wire.OpSetWatches2:
		r.Watches = &wire.Watches{
			RelativeZxid: d.long(), Data: d.strings(), Exist: d.strings(), Child: d.strings(),
			Persistent: d.strings(),
			Recursive:  d.strings(),
		}
	case wire.OpMulti:
		r.Ops = vector(d, func() wire.Request {
			return d.request(0, rapid.SampledFrom(writes).Draw(d.t, "op"))
		})
	case wire.OpMultiRead:
		r.Ops = vector(d, func() wire.Request {
			return d.request(0, rapid.SampledFrom(reads).Draw(d.t, "op"))
		})
	case wire.OpReconfig:
		r.Reconfig = &wire.Reconfig{
			Joining: d.string(), Leaving: d.string(), NewMembers: d.string(),
			Version: d.long(),
		}
	case wire.OpAuth:
		r.Type, r.Scheme, r.Data = d.int(), d.string(), d.buffer()
	case wire.OpSASL:
		r.Data = d.buffer()
	}
	return r
}

// reply draws a reply with the fields of its type.
func (d recordGen) reply(op wire.Op) wire.Reply {
	r := wire.Reply{Xid: d.int(), Zxid: d.long()}
	if rapid.Bool().Draw(d.t, "failed") {
		r.Code = wire.Code(rapid.Int32Range(-127, -1).Draw(d.t, "code"))
		return r
	}
	switch op {
	case wire.OpCreate, wire.OpSync:
		r.Path = d.string()
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		r.Path, r.Stat = d.string(), d.stat()
	case wire.OpExists, wire.OpSetData, wire.OpSetACL, wire.OpCheck:
		r.Stat = d.stat()
	case wire.OpGetData, wire.OpReconfig:
		r.Data, r.Stat = d.buffer(), d.stat()
	case wire.OpGetACL:
		r.ACL, r.Stat = d.acl(), d.stat()
	case wire.OpGetChildren, wire.OpGetEphemerals:
		r.Children = d.strings()
	case wire.OpGetChildren2:
		r.Children, r.Stat = d.strings(), d.stat()
	case wire.OpGetAllChildrenNumber:
		r.Number = d.int()
	case wire.OpMulti, wire.OpMultiRead:
		r.Results = vector(d, d.result)
	case wire.OpWhoAmI:
		r.Identities = vector(d, func() wire.Identity {
			return wire.Identity{Scheme: d.string(), ID: d.string()}
		})
	case wire.OpSASL:
		r.Data = d.buffer()
	}
	return r
}

func (d recordGen) result() wire.Result {
	r := wire.Result{Op: rapid.SampledFrom(results).Draw(d.t, "op")}
	switch r.Op {
	case wire.OpCreate:
		r.Path = d.string()
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		r.Path, r.Stat = d.string(), d.stat()
	case wire.OpSetData:
		r.Stat = d.stat()
	case wire.OpGetData:
		r.Data, r.Stat = d.buffer(), d.stat()
	case wire.OpGetChildren:
		r.Children = d.strings()
	case wire.OpError:
		r.Code = wire.Code(d.int())
	}
	return r
}

// invert overwrites a frame to reveal memory shared with it.
func invert(frame []byte) {
	for i := range frame {
		frame[i] ^= 0xff
	}
}

// prefix precedes the appended records.
var prefix = []byte("before")

// content checks that dst begins with prefix and returns the rest.
func content(t *rapid.T, dst []byte) []byte {
	rest, found := bytes.CutPrefix(dst, prefix)
	if !found {
		t.Fatalf("%x does not begin with %x", dst, prefix)
	}
	return rest
}

func TestRequestRoundTrip(t *testing.T) {
	for _, op := range ops {
		t.Run(operation.Name(op), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				d := recordGen{t}
				want := d.request(d.int(), op)
				frame := content(t, operation.AppendRequest(bytes.Clone(prefix), &want))
				truncateRequest(t, frame)
				var got wire.Request
				err := operation.DecodeRequest(frame, &got)
				invert(frame)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("decoded as\n%+v, error %v, want\n%+v", got, err, want)
				}
			})
		})
	}
}

func TestReplyRoundTrip(t *testing.T) {
	for _, op := range ops {
		t.Run(operation.Name(op), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := recordGen{t}.reply(op)
				frame := content(t, operation.AppendReply(bytes.Clone(prefix), op, &want))
				truncateReply(t, op, frame)
				var got wire.Reply
				err := operation.DecodeReply(frame, op, &got)
				invert(frame)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("decoded as\n%+v, error %v, want\n%+v", got, err, want)
				}
			})
		})
	}
}

func TestEventRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := recordGen{t}
		want := wire.Event{
			Type: wire.EventType(d.int()), State: d.int(), Path: d.string(),
			Zxid: d.long(),
		}
		frame := content(t, wire.AppendEvent(bytes.Clone(prefix), &want))
		truncateEvent(t, frame)
		var got wire.Event
		err := wire.DecodeEvent(frame, &got)
		invert(frame)
		if err != nil || got != want {
			t.Fatalf("decoded as\n%+v, error %v, want\n%+v", got, err, want)
		}
	})
}

func TestConnectRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := recordGen{t}
		request := wire.ConnectRequest{
			ProtocolVersion: d.int(), LastZxidSeen: d.long(), TimeoutMillis: d.int(),
			SessionID:   d.long(),
			Password:    d.buffer(),
			HasReadOnly: d.bool(),
		}
		request.ReadOnly = request.HasReadOnly && d.bool()
		frame := content(t, wire.AppendConnectRequest(bytes.Clone(prefix), &request))
		var gotRequest wire.ConnectRequest
		err := wire.DecodeConnectRequest(frame, &gotRequest)
		invert(frame)
		if err != nil || !reflect.DeepEqual(gotRequest, request) {
			t.Fatalf("decoded as\n%+v, error %v, want\n%+v", gotRequest, err, request)
		}

		response := wire.ConnectResponse{
			ProtocolVersion: d.int(), TimeoutMillis: d.int(), SessionID: d.long(),
			Password:    d.buffer(),
			HasReadOnly: d.bool(),
		}
		response.ReadOnly = response.HasReadOnly && d.bool()
		frame = content(t, wire.AppendConnectResponse(bytes.Clone(prefix), &response))
		var gotResponse wire.ConnectResponse
		err = wire.DecodeConnectResponse(frame, &gotResponse)
		invert(frame)
		if err != nil || !reflect.DeepEqual(gotResponse, response) {
			t.Fatalf("decoded as\n%+v, error %v, want\n%+v", gotResponse, err, response)
		}
	})
}
