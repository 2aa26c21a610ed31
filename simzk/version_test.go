package simzk_test

import (
	"testing"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// Servers since 3.9 do not implement check outside of a multi, and close the connection. Earlier
// ones fail to encode the reply only if the check succeeds.
func TestCheckIsGone(t *testing.T) {
	for version, closes := range map[simzk.Version]bool{simzk.V38: false, simzk.V39: true} {
		c := simzk.New(simzk.Config{Version: version}, nil)
		door, link := enter(t, c, 0, 0, make([]byte, 16))
		if err := c.Receive(link, operation.AppendRequest(nil, &wire.Request{
			Op: wire.OpCheck, Path: "/", Version: 7,
		})); err != nil {
			t.Fatal(err)
		}
		c.Serve(link)
		for _, ok := link.Deliverable(); ok; _, ok = link.Deliverable() {
			c.Deliver(link)
		}
		if door.closed != closes {
			t.Errorf("version %v closes the connection: %v, want %v", version, door.closed, closes)
		}
	}
}

// Servers since 3.9 require permission to read for exists, and accept IPv6 addresses in an ACL.
func TestAccessByVersion(t *testing.T) {
	for _, tc := range []struct {
		version      simzk.Version
		exists, ipv6 wire.Code
	}{
		{simzk.V38, wire.OK, wire.InvalidACL},
		{simzk.V39, wire.NoAuth, wire.OK},
	} {
		c := simzk.New(simzk.Config{Version: tc.version}, nil)
		c.Prepare(&tree.Write{Op: wire.OpCreate, Path: "/secret", ACL: []wire.ACL{
			{Perms: wire.PermAll, Scheme: "ip", ID: "10.1.2.3"},
		}})
		door, link := enter(t, c, 0, 0, make([]byte, 16))
		for _, request := range []struct {
			wire.Request
			want wire.Code
		}{
			{wire.Request{Op: wire.OpExists, Path: "/secret"}, tc.exists},
			{wire.Request{Op: wire.OpCreate, Path: "/a", ACL: []wire.ACL{
				{Perms: wire.PermAll, Scheme: "ip", ID: "fe80::1"},
			}}, tc.ipv6},
		} {
			if err := c.Receive(link, operation.AppendRequest(nil, &request.Request)); err != nil {
				t.Fatal(err)
			}
			c.Serve(link)
			c.Deliver(link)
			_, _, code, err := wire.ReplyHeader(door.frame[4:])
			if err != nil {
				t.Fatal(err)
			}
			if code != request.want {
				t.Errorf("version %v answers %s with %s, want %s", tc.version,
					operation.Name(request.Op), code, request.want)
			}
		}
	}
}
