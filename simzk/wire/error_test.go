package wire_test

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

func TestBadRequests(t *testing.T) {
	const header = `00000007 `
	tests := []struct {
		name   string
		octets string
		err    error
		offset int
	}{
		{"truncated path", header + `00000004 00000003 2f61`, wire.ErrTruncated, 8},
		{"path of negative length", header + `00000004 fffffffe`, wire.ErrLength, 8},
		{
			"data of negative length", header + `00000005` + pathOctets + `80000000 00000000`,
			wire.ErrLength, 14,
		},
		{
			"data longer than MaxFrame", header + `00000005` + pathOctets + `7fffffff 00`,
			wire.ErrTruncated, 14,
		},
		{
			"ACL longer than the frame", header + `00000007` + pathOctets +
				`00000002 0000001f 00000000 00000000`,
			wire.ErrTruncated, 14,
		},
		{
			"ACL longer than MaxFrame", header + `00000007` + pathOctets + `7fffffff 00000000`,
			wire.ErrTruncated, 14,
		},
		{
			"watches longer than MaxFrame", header + `00000065 0000000000000000 7fffffff 00000000`,
			wire.ErrTruncated, 16,
		},
		{
			"null watches", header + `00000065 0000000000000000 00000000 ffffffff 00000000`,
			wire.ErrNull, 20,
		},
		{"missing watch flag", header + `00000003` + pathOctets, wire.ErrTruncated, 14},
		{
			"getData in a multi", header + `0000000e 00000004 00 ffffffff` + pathOctets + `00` +
				endOctets,
			wire.ErrOperation, 8,
		},
		{
			"exists in a multi", header + `0000000e 00000003 00 ffffffff` + pathOctets + `00` +
				endOctets,
			wire.ErrOperation, 8,
		},
		{
			"multi in a multi", header + `0000000e 0000000e 00 ffffffff` + endOctets + endOctets,
			wire.ErrOperation, 8,
		},
		{
			"error in a multi", header + `0000000e ffffffff 00 ffffffff` + endOctets,
			wire.ErrOperation, 8,
		},
		{
			"delete in a multiRead after a getData",
			header + `00000016 00000004 00 ffffffff` + pathOctets + `00
			00000002 00 ffffffff` + pathOctets + `ffffffff` + endOctets,
			wire.ErrOperation, 24,
		},
		{
			"multi without an end", header + `0000000e 00000002 00 ffffffff` + pathOctets +
				`ffffffff`,
			wire.ErrTruncated, 27,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			frame := octets(test.octets)
			got := wire.Request{Path: "overwritten"}
			err := operation.DecodeRequest(frame, &got)
			checkBodyError(t, err, wire.Op(frame[7]), test.err, test.offset)
			if want := (wire.Request{Xid: 7, Op: wire.Op(frame[7])}); !reflect.DeepEqual(got,
				want) {
				t.Errorf("decoded as %+v, want %+v", got, want)
			}
		})
	}
}

func TestBadReplies(t *testing.T) {
	const header = `00000007 0000000000000009 00000000`
	tests := []struct {
		name   string
		op     wire.Op
		octets string
		err    error
		offset int
	}{
		{
			"children longer than the frame", wire.OpGetChildren, `00000002 00000000`,
			wire.ErrTruncated,
			16,
		},
		{
			"identities longer than the frame", wire.OpWhoAmI,
			`00000002 00000000 00000000 00000000`,
			wire.ErrTruncated, 16,
		},
		{"truncated stat", wire.OpExists, `0000000000000001 00000000`, wire.ErrTruncated, 24},
		{
			"result of an exists", wire.OpMulti, `00000003 00 00000000` + statOctets + endOctets,
			wire.ErrOperation, 16,
		},
		{
			"result of a multi", wire.OpMulti, `0000000e 00 00000000` + endOctets + endOctets,
			wire.ErrOperation, 16,
		},
		{"results without an end", wire.OpMulti, `00000002 00 00000000`, wire.ErrTruncated, 25},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := wire.Reply{Path: "overwritten"}
			err := operation.DecodeReply(octets(header+test.octets), test.op, &got)
			checkBodyError(t, err, test.op, test.err, test.offset)
			if want := (wire.Reply{Xid: 7, Zxid: 9}); !reflect.DeepEqual(got, want) {
				t.Errorf("decoded as %+v, want %+v", got, want)
			}
		})
	}
}

func checkBodyError(t *testing.T, err error, op wire.Op, cause error, offset int) {
	t.Helper()
	var bad *wire.BodyError
	if !errors.As(err, &bad) || bad.Op != op || !errors.Is(err, cause) || bad.Offset != offset {
		t.Errorf("error %v, want %v of a %s at byte %d", err, cause, operation.Name(op), offset)
	}
}

func TestBodyErrorText(t *testing.T) {
	err := &wire.BodyError{Op: wire.OpGetData, Offset: 8, Err: wire.ErrTruncated}
	if got, want := err.Error(), "wire: record of type 4 at byte 8: truncated record"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTruncated truncates every golden record at every byte.
func TestTruncated(t *testing.T) {
	for _, test := range goldenRequests {
		truncateRequest(t, octets(test.octets))
	}
	for _, test := range goldenReplies {
		truncateReply(t, test.op, octets(`00000007 0000000100000002 00000000`+test.octets))
	}
	for _, test := range goldenEvents {
		truncateEvent(t, octets(test.octets))
	}
	for _, test := range goldenConnectRequests {
		frame := octets(test.octets)
		truncateConnect(t, frame, test.request.HasReadOnly, func(cut []byte) error {
			r := test.request
			err := wire.DecodeConnectRequest(cut, &r)
			if err != nil && !reflect.DeepEqual(r, wire.ConnectRequest{}) {
				t.Errorf("%x: decoded as %+v with error %v", cut, r, err)
			}
			return err
		})
	}
	for _, test := range goldenConnectResponses {
		frame := octets(test.octets)
		truncateConnect(t, frame, test.response.HasReadOnly, func(cut []byte) error {
			r := test.response
			err := wire.DecodeConnectResponse(cut, &r)
			if err != nil && !reflect.DeepEqual(r, wire.ConnectResponse{}) {
				t.Errorf("%x: decoded as %+v with error %v", cut, r, err)
			}
			return err
		})
	}
}

// A tester is a [testing.T] or a [rapid.T].
type tester interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

// truncateRequest checks that no proper prefix of a request decodes.
func truncateRequest(t tester, frame []byte) {
	t.Helper()
	const header = 8
	var whole wire.Request
	if err := operation.DecodeRequest(frame, &whole); err != nil {
		t.Fatalf("%x: error %v", frame, err)
	}
	for n := range frame {
		var r, want wire.Request
		err := operation.DecodeRequest(frame[:n:n], &r)
		if n >= header {
			want = wire.Request{Xid: whole.Xid, Op: whole.Op}
		}
		checkTruncated(t, frame[:n], err, n < header, whole.Op)
		if !reflect.DeepEqual(r, want) {
			t.Fatalf("%x: decoded as %+v with error %v", frame[:n], r, err)
		}
	}
}

// truncateReply checks that no proper prefix of a reply decodes.
func truncateReply(t tester, op wire.Op, frame []byte) {
	t.Helper()
	const header = 16
	for n := range frame {
		var r, want wire.Reply
		err := operation.DecodeReply(frame[:n:n], op, &r)
		if n >= header {
			want.Xid, want.Zxid, want.Code, _ = wire.ReplyHeader(frame)
		}
		checkTruncated(t, frame[:n], err, n < header, op)
		if !reflect.DeepEqual(r, want) {
			t.Fatalf("%x: decoded as %+v with error %v", frame[:n], r, err)
		}
	}
}

// truncateEvent checks that no proper prefix of an event decodes.
func truncateEvent(t tester, frame []byte) {
	t.Helper()
	const header = 16
	for n := range frame {
		var e, want wire.Event
		err := wire.DecodeEvent(frame[:n:n], &e)
		if n >= header {
			_, want.Zxid, _, _ = wire.ReplyHeader(frame)
		}
		checkTruncated(t, frame[:n], err, n < header, wire.OpNotification)
		if e != want {
			t.Fatalf("%x: decoded as %+v with error %v", frame[:n], e, err)
		}
	}
}

// truncateConnect checks that no proper prefix of a connect record decodes, except the one that
// lacks only the readOnly boolean.
func truncateConnect(t tester, frame []byte, hasReadOnly bool, decode func(cut []byte) error) {
	t.Helper()
	for n := range frame {
		err := decode(frame[:n:n])
		if hasReadOnly && n == len(frame)-1 {
			if err != nil {
				t.Fatalf("%x: error %v", frame[:n], err)
			}
			continue
		}
		checkTruncated(t, frame[:n], err, false, wire.OpCreateSession)
	}
}

// checkTruncated checks the error of a truncated frame.
func checkTruncated(t tester, cut []byte, err error, header bool, op wire.Op) {
	t.Helper()
	if header {
		if err != wire.ErrHeader {
			t.Fatalf("%x: error %v, want %v", cut, err, wire.ErrHeader)
		}
		return
	}
	var bad *wire.BodyError
	if !errors.As(err, &bad) || bad.Op != op || bad.Err != wire.ErrTruncated ||
		bad.Offset > len(cut) {
		t.Fatalf("%x: error %v, want %v of a %s", cut, err, wire.ErrTruncated, operation.Name(op))
	}
}

// TestFalseLengths bounds the memory allocated for short frames that claim large lengths.
func TestFalseLengths(t *testing.T) {
	const many = `7fffffff 00000000 00000000`
	requests := [][]byte{
		octets(`00000007 00000004` + many),
		octets(`00000007 00000005` + pathOctets + many),
		octets(`00000007 00000007` + pathOctets + many),
		octets(`00000007 00000065 0000000000000000` + many),
		octets(`00000007 00000064 00000000 00000000` + many),
	}
	replies := []wire.Op{wire.OpGetChildren, wire.OpGetACL, wire.OpWhoAmI, wire.OpGetData}
	reply := octets(`00000007 0000000000000009 00000000` + many)
	used := allocated(func() {
		for _, frame := range requests {
			var r wire.Request
			if err := operation.DecodeRequest(frame, &r); !errors.Is(err, wire.ErrTruncated) {
				t.Errorf("%x: error %v", frame, err)
			}
		}
		for _, op := range replies {
			var r wire.Reply
			if err := operation.DecodeReply(reply, op, &r); !errors.Is(err, wire.ErrTruncated) {
				t.Errorf("%s: error %v", operation.Name(op), err)
			}
		}
	})
	if used > 1<<20 {
		t.Errorf("%d bytes allocated", used)
	}
}

// TestManyOperations bounds the memory allocated for multis of the shortest operations.
func TestManyOperations(t *testing.T) {
	const most = 64 // multiple of the frame's length
	for _, n := range []int{100, 40000, 70000} {
		operations := bytes.Repeat(octets(`00000004 00 ffffffff 00000000 00`), n)
		request := slices.Concat(octets(`00000007 00000016`), operations, octets(endOctets))
		var decoded wire.Request
		if used := allocated(func() {
			_ = operation.DecodeRequest(request, &decoded)
		}); used > most*len(request) {
			t.Errorf("%d bytes allocated for a request of %d", used, len(request))
		}
		if len(decoded.Ops) != n {
			t.Errorf("got %d operations, want %d", len(decoded.Ops), n)
		}

		results := bytes.Repeat(octets(`00000002 00 00000000`), n)
		reply := slices.Concat(octets(`00000007 0000000000000009 00000000`), results,
			octets(endOctets))
		var answer wire.Reply
		if used := allocated(func() {
			_ = operation.DecodeReply(reply, wire.OpMulti, &answer)
		}); used > most*len(reply) {
			t.Errorf("%d bytes allocated for a reply of %d", used, len(reply))
		}
		if len(answer.Results) != n {
			t.Errorf("got %d results, want %d", len(answer.Results), n)
		}
	}
}

// allocated returns the number of bytes that f allocates.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}
