package wire_test

import (
	"bytes"
	"io"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

func FuzzRequest(f *testing.F) {
	for _, test := range goldenRequests {
		f.Add(octets(test.octets))
	}
	for _, test := range lenientRequests() {
		f.Add(octets(test.octets))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var first, second wire.Request
		if err := operation.DecodeRequest(frame, &first); err != nil {
			if only := (wire.Request{Xid: first.Xid, Op: first.Op}); !reflect.DeepEqual(first,
				only) {
				t.Fatalf("decoded as %+v with error %v", first, err)
			}
			return
		}
		encoded := operation.AppendRequest(nil, &first)
		if err := operation.DecodeRequest(encoded, &second); err != nil ||
			!reflect.DeepEqual(first, second) {
			t.Fatalf("first decoded as\n%+v, then as\n%+v, error %v", first, second, err)
		}
		if again := operation.AppendRequest(nil, &second); !bytes.Equal(encoded, again) {
			t.Fatalf("first encoded as %x, then as %x", encoded, again)
		}
	})
}

// FuzzReply decodes replies and events, and encodes and decodes the result again.
func FuzzReply(f *testing.F) {
	for _, test := range goldenReplies {
		f.Add(int32(test.op), octets(`00000007 0000000100000002 00000000`+test.octets))
	}
	for _, test := range goldenEvents {
		f.Add(int32(wire.OpNotification), octets(test.octets))
	}
	for _, path := range []string{
		`ffffffff`, `00000004 f09f9880`, `00000006 eda0bdedb880`,
		`00000003 eda080`,
	} {
		f.Add(int32(wire.OpSync), octets(`00000007 0000000100000002 00000000`+path))
	}
	f.Fuzz(func(t *testing.T, op int32, frame []byte) {
		if op == int32(wire.OpNotification) {
			checkEventStable(t, frame)
			return
		}
		checkReplyStable(t, wire.Op(op), frame)
	})
}

func checkReplyStable(t *testing.T, op wire.Op, frame []byte) {
	var first, second wire.Reply
	if err := operation.DecodeReply(frame, op, &first); err != nil {
		if only := (wire.Reply{
			Xid: first.Xid, Zxid: first.Zxid,
			Code: first.Code,
		}); !reflect.DeepEqual(first, only) {
			t.Fatalf("decoded as %+v with error %v", first, err)
		}
		return
	}
	encoded := operation.AppendReply(nil, op, &first)
	if err := operation.DecodeReply(encoded, op, &second); err != nil ||
		!reflect.DeepEqual(first, second) {
		t.Fatalf("first decoded as\n%+v, then as\n%+v, error %v", first, second, err)
	}
	if again := operation.AppendReply(nil, op, &second); !bytes.Equal(encoded, again) {
		t.Fatalf("first encoded as %x, then as %x", encoded, again)
	}
}

func checkEventStable(t *testing.T, frame []byte) {
	var first, second wire.Event
	if wire.DecodeEvent(frame, &first) != nil {
		return
	}
	encoded := wire.AppendEvent(nil, &first)
	if err := wire.DecodeEvent(encoded, &second); err != nil || first != second {
		t.Fatalf("first decoded as\n%+v, then as\n%+v, error %v", first, second, err)
	}
}

// FuzzConnect decodes both connect records.
func FuzzConnect(f *testing.F) {
	for _, test := range goldenConnectRequests {
		f.Add(octets(test.octets))
	}
	for _, test := range goldenConnectResponses {
		f.Add(octets(test.octets))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var request, sameRequest wire.ConnectRequest
		if wire.DecodeConnectRequest(frame, &request) == nil {
			err := wire.DecodeConnectRequest(wire.AppendConnectRequest(nil, &request), &sameRequest)
			if err != nil || !reflect.DeepEqual(request, sameRequest) {
				t.Fatalf("first decoded as\n%+v, then as\n%+v, error %v", request, sameRequest, err)
			}
		}
		var response, sameResponse wire.ConnectResponse
		if wire.DecodeConnectResponse(frame, &response) == nil {
			err := wire.DecodeConnectResponse(wire.AppendConnectResponse(nil, &response),
				&sameResponse)
			if err != nil || !reflect.DeepEqual(response, sameResponse) {
				t.Fatalf("first decoded as\n%+v, then as\n%+v, error %v", response, sameResponse,
					err)
			}
		}
	})
}

// FuzzFrame reads a stream at once and byte by byte, and compares the reassembled frames with the
// stream.
func FuzzFrame(f *testing.F) {
	for _, test := range goldenRequests {
		stream, at := wire.BeginFrame(nil)
		f.Add(wire.EndFrame(append(stream, octets(test.octets)...), at))
	}
	f.Add(octets(`00000000 00000001 61 00000002 6162`))
	f.Add(octets(`ffffffff`))
	f.Add(octets(`000fffff 61`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		joined, err := reassemble(t, bytes.NewReader(stream))
		if !bytes.HasPrefix(stream, joined) {
			t.Fatalf("%x is read as %x", stream, joined)
		}
		if err == io.EOF && len(joined) != len(stream) {
			t.Fatalf("%x ends without error after %x", stream, joined)
		}
		bytewise, bytewiseError := reassemble(t, iotest.OneByteReader(bytes.NewReader(stream)))
		if !bytes.Equal(joined, bytewise) || err != bytewiseError {
			t.Fatalf("read as %x, error %v, and byte by byte as %x, error %v", joined, err,
				bytewise,
				bytewiseError)
		}
	})
}

// reassemble reads frames until an error occurs and encodes them again.
func reassemble(t *testing.T, r io.Reader) ([]byte, error) {
	var joined, frame []byte
	for {
		var err error
		frame, err = wire.ReadFrame(r, frame, wire.MaxFrame)
		if err != nil {
			if err != io.EOF && err != io.ErrUnexpectedEOF && err != wire.ErrFrameLength {
				t.Fatalf("error %v", err)
			}
			return joined, err
		}
		var at int
		joined, at = wire.BeginFrame(joined)
		joined = wire.EndFrame(append(joined, frame...), at)
	}
}
