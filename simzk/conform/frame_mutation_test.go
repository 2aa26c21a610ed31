package conform

import (
	"testing"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// TestListed checks which frames are not compared.
func TestListed(t *testing.T) {
	withXid := func(r wire.Request, xid int32) wire.Request {
		r.Xid = xid
		return r
	}
	for _, test := range []struct {
		request wire.Request
		want    string
	}{
		{*create("/r/a"), ""},
		{*create("/r"), ""},
		{*create("a"), ""},
		{*create(wire.Null), ""},
		{*create("/"), listedOutside},
		{*read(wire.OpGetAllChildrenNumber, ""), listedOutside},
		{wire.Request{Op: wire.OpWhoAmI}, ""},
		{*create("/ra"), listedOutside},
		{*multi(create("/r/a"), deleteNode("/zookeeper")), listedOutside},
		{*multi(create("/r/a"), deleteNode(wire.Null)), listedMulti},
		{withXid(*create("/r/a"), wire.XidEvent), listedEvent},
		{*createTTL("/r/a", wire.Persistent, -7), listedTTL},
		{*createTTL("/r/a", wire.PersistentTTL, -7), ""},
		{*multi(createTTL("/r/a", wire.Ephemeral, -1)), listedTTL},
		{*watches(wire.OpAddWatch, wire.Null, wire.RecursiveWatch), listedAddWatch},
		{wire.Request{
			Op: wire.OpSetWatches, Watches: &wire.Watches{Exist: []string{"/zookeeper"}},
		}, listedOutside},
		{*watches(wire.OpCheckWatches, "x/a", wire.DataWatcher), listedRelative},
		{wire.Request{
			Op: wire.OpSetWatches2, Watches: &wire.Watches{Recursive: []string{wire.Null}},
		}, listedPersistent},
	} {
		frame := operation.AppendRequest(nil, &test.request)
		if got := listed("/r", frame); got != test.want {
			t.Errorf("%s: %q, want %q", requestText(&test.request), got, test.want)
		}
	}
	nullVector := []byte("\x00\x00\x00\x01\x00\x00\x00\x65\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00")
	if got := listed("/r", nullVector); got != listedVector {
		t.Errorf("null vector: %q", got)
	}
}
