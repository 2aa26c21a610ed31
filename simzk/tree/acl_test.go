package tree_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

func TestValidACLs(t *testing.T) {
	tests := []struct {
		scheme, id      string
		valid, validNew bool // without and with support of IPv6 addresses
	}{
		{"world", "anyone", true, true},
		{"world", "nobody", false, false},
		{"world", "", false, false},
		{"auth", "", true, true},
		{"auth", "whatever", true, true},
		{"digest", "user:digest", true, true},
		{"digest", ":digest", true, true},
		{"digest", "user:digest:", true, true}, // Java drops empty parts at the end of a split.
		{"digest", "user:", false, false},
		{"digest", "user", false, false},
		{"digest", "", false, false},
		{"digest", ":", false, false},
		{"digest", "user:a:b", false, false},
		{"ip", "10.1.2.3", true, true},
		{"ip", "10.1.2.3/0", true, true},
		{"ip", "10.1.2.3/32", true, true},
		{"ip", "010.1.+2.3", true, true}, // Integer.parseInt accepts all of these.
		{"ip", "10.1.2.3/33", false, false},
		{"ip", "10.1.2.3/-1", false, false},
		{"ip", "10.1.2.3/", false, false},
		{"ip", "10.1.2.3/8/8", false, false},
		{"ip", "10.1.2.256", false, false},
		{"ip", "10.1.2.-1", false, false},
		{"ip", "10.1.2", false, false},
		{"ip", "10.1.2.3.4", false, false},
		{"ip", "10.1.2.", false, false},
		{"ip", "localhost", false, false},
		{"ip", "", false, false},
		{"ip", "::1", false, true},
		{"ip", "fe80::/10", false, true},
		{"ip", "::1/129", false, false},
		{"ip", "::ffff:10.1.2.3", false, false},
		{"ip", "fe80::1%eth0", false, false},
		{"ip", "1::2::3", false, false},
		{"super", "", false, false},
		{"sasl", "user", false, false},
		{"x509", "user", false, false},
		{"", "", false, false},
	}
	for _, test := range tests {
		for _, ipv6 := range []bool{false, true} {
			want := wire.OK
			if !test.valid && !ipv6 || !test.validNew && ipv6 {
				want = wire.InvalidACL
			}
			a := grant(wire.PermAll, test.scheme, test.id)
			for _, acl := range [][]wire.ACL{{a}, {tree.Open[0], a}} {
				tr := tree.New(tree.Rules{IPv6: ipv6})
				w := createFor("/a", acl...)
				if code := tr.Apply(&w).Code; code != want {
					t.Errorf("IPv6 %v: %+v: %q, want %q", ipv6, acl, code, want)
				}
			}
		}
	}
	for _, acl := range [][]wire.ACL{nil, {}} {
		w := createFor("/a", acl...)
		if code := tree.New(tree.Rules{}).Apply(&w).Code; code != wire.InvalidACL {
			t.Errorf("empty ACL: %q, want %q", code, wire.InvalidACL)
		}
	}
}

func TestStoredACLs(t *testing.T) {
	all, read := wire.PermAll, wire.PermRead
	both := append(slices.Clone(alice), bob...)
	tests := []struct {
		name      string
		ids       []wire.Identity
		acl, want []wire.ACL // want is nil if the ACL is refused
	}{
		{
			"unchanged", nil,
			[]wire.ACL{grant(read, "world", "anyone"), grant(all, "digest", "u:d")},
			[]wire.ACL{grant(read, "world", "anyone"), grant(all, "digest", "u:d")},
		},
		{
			"no permissions", nil,
			[]wire.ACL{grant(0, "world", "anyone")},
			[]wire.ACL{grant(0, "world", "anyone")},
		},
		{
			"repeated entry", nil,
			[]wire.ACL{
				grant(read, "world", "anyone"), grant(all, "digest", "u:d"),
				grant(read, "world", "anyone"),
			},
			[]wire.ACL{grant(read, "world", "anyone"), grant(all, "digest", "u:d")},
		},
		{
			"other permissions", nil,
			[]wire.ACL{grant(read, "world", "anyone"), grant(all, "world", "anyone")},
			[]wire.ACL{grant(read, "world", "anyone"), grant(all, "world", "anyone")},
		},
		{
			"auth of one identity", alice,
			[]wire.ACL{grant(read, "auth", "x")},
			[]wire.ACL{grant(read, "digest", "alice:a")},
		},
		{
			"auth of two identities", both,
			[]wire.ACL{grant(read, "ip", "1.2.3.4"), grant(all, "auth", "")},
			[]wire.ACL{
				grant(read, "ip", "1.2.3.4"), grant(all, "digest", "alice:a"),
				grant(all, "digest", "bob:b"),
			},
		},
		{
			"auth and the entry it expands to", alice,
			[]wire.ACL{grant(all, "auth", ""), grant(all, "digest", "alice:a")},
			[]wire.ACL{grant(all, "digest", "alice:a"), grant(all, "digest", "alice:a")},
		},
		{"auth with only an address", alice[:1], []wire.ACL{grant(all, "auth", "")}, nil},
		{"auth with only the superuser", super, []wire.ACL{grant(all, "auth", "")}, nil},
		{
			"auth without identities", nil,
			[]wire.ACL{grant(all, "world", "anyone"), grant(all, "auth", "")},
			nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tr := newTree(t, tree.Rules{}, create("/changed"))
			want := wire.OK
			if test.want == nil {
				want = wire.InvalidACL
			}
			writes := []tree.Write{
				{Op: wire.OpCreate, Zxid: 2, Identities: test.ids, Path: "/new", ACL: test.acl},
				{
					Op: wire.OpSetACL, Zxid: 3, Identities: test.ids, Path: "/changed",
					ACL:     test.acl,
					Version: -1,
				},
			}
			for _, w := range writes {
				if code := tr.Apply(&w).Code; code != want {
					t.Errorf("%s: %q, want %q", operation.Name(w.Op), code, want)
				}
				if got := tr.ACL(w.Path, super).ACL; test.want != nil &&
					!slices.Equal(got, test.want) {
					t.Errorf("%s: %+v, want %+v", operation.Name(w.Op), got, test.want)
				}
			}
		})
	}
}

// TestPermissions checks for each operation that exactly the required permissions allow it.
func TestPermissions(t *testing.T) {
	apply := func(w tree.Write) func(*tree.Tree) wire.Code {
		w.Zxid = 100
		return func(tr *tree.Tree) wire.Code { return tr.Apply(&w).Code }
	}
	tests := []struct {
		name  string
		needs int32 // 0 if no permission is needed
		rules tree.Rules
		do    func(*tree.Tree) wire.Code
	}{
		{"get", wire.PermRead, tree.Rules{}, func(tr *tree.Tree) wire.Code {
			return tr.Get("/node", nil).Code
		}},
		{
			"children", wire.PermRead,
			tree.Rules{},
			func(tr *tree.Tree) wire.Code { return tr.Children("/node", nil).Code },
		},
		{"descendants", wire.PermRead, tree.Rules{}, func(tr *tree.Tree) wire.Code {
			_, code := tr.Descendants("/node", nil)
			return code
		}},
		{"exists", 0, tree.Rules{}, func(tr *tree.Tree) wire.Code {
			return tr.Exists("/node", nil).Code
		}},
		{
			"exists in a later release", wire.PermRead,
			tree.Rules{ExistsNeedsRead: true},
			func(tr *tree.Tree) wire.Code { return tr.Exists("/node", nil).Code },
		},
		{
			"ACL", wire.PermRead | wire.PermAdmin,
			tree.Rules{},
			func(tr *tree.Tree) wire.Code { return tr.ACL("/node", nil).Code },
		},
		{
			"check", wire.PermRead,
			tree.Rules{},
			apply(tree.Write{Op: wire.OpCheck, Path: "/node", Version: -1}),
		},
		{
			"set data", wire.PermWrite,
			tree.Rules{},
			apply(tree.Write{Op: wire.OpSetData, Path: "/node", Version: -1}),
		},
		{
			"set ACL", wire.PermAdmin,
			tree.Rules{},
			apply(tree.Write{Op: wire.OpSetACL, Path: "/node", ACL: tree.Open, Version: -1}),
		},
		{"create a child", wire.PermCreate, tree.Rules{}, apply(create("/node/another"))},
		{"delete a child", wire.PermDelete, tree.Rules{}, apply(remove("/node/child"))},
	}
	for _, test := range tests {
		for perm := wire.PermRead; perm <= wire.PermAdmin; perm <<= 1 {
			t.Run(fmt.Sprintf("%s with permission %d", test.name, perm), func(t *testing.T) {
				tr := newTree(t, test.rules, create("/node"), create("/node/child"),
					tree.Write{
						Op: wire.OpSetACL, Path: "/node",
						ACL:     []wire.ACL{grant(perm, "world", "anyone")},
						Version: -1,
					})
				want := wire.OK
				if test.needs != 0 && test.needs&perm == 0 {
					want = wire.NoAuth
				}
				if got := test.do(tr); got != want {
					t.Errorf("%q, want %q", got, want)
				}
			})
		}
	}
}

func TestIdentities(t *testing.T) {
	address := func(id string) []wire.Identity { return []wire.Identity{{Scheme: "ip", ID: id}} }
	mixed := []wire.ACL{grant(wire.PermRead, "ip", "10.0.0.0/8"), grant(wire.PermWrite, "digest",
		"bob:b")}
	tests := []struct {
		name string
		acl  []wire.ACL
		ids  []wire.Identity
		want bool
	}{
		{"world", tree.Open, nil, true},
		{"other permission", []wire.ACL{grant(wire.PermWrite, "world", "anyone")}, alice, false},
		{"super", []wire.ACL{grant(0, "world", "anyone")}, super, true},
		{
			"super among others",
			[]wire.ACL{grant(0, "world", "anyone")},
			append(slices.Clone(alice), tree.Super), true,
		},
		{"digest", []wire.ACL{grant(wire.PermAll, "digest", "alice:a")}, alice, true},
		{"other password", []wire.ACL{grant(wire.PermAll, "digest", "alice:b")}, alice, false},
		{"other user", []wire.ACL{grant(wire.PermAll, "digest", "alice:a")}, bob, false},
		{"nobody", []wire.ACL{grant(wire.PermAll, "digest", "alice:a")}, nil, false},
		{"address", []wire.ACL{grant(wire.PermAll, "ip", "10.1.2.3")}, address("10.1.2.3"), true},
		{
			"other address",
			[]wire.ACL{grant(wire.PermAll, "ip", "10.1.2.3")},
			address("10.1.2.4"),
			false,
		},
		{
			"address in other digits",
			[]wire.ACL{grant(wire.PermAll, "ip", "010.1.2.3")},
			address("10.1.2.3"), true,
		},
		{"network", []wire.ACL{grant(wire.PermAll, "ip", "10.0.0.0/8")}, address("10.1.2.3"), true},
		{
			"network by another address",
			[]wire.ACL{grant(wire.PermAll, "ip", "10.9.9.9/8")},
			address("10.1.2.3"), true,
		},
		{
			"other network",
			[]wire.ACL{grant(wire.PermAll, "ip", "10.0.0.0/8")},
			address("11.1.2.3"),
			false,
		},
		{
			"inside half a byte",
			[]wire.ACL{grant(wire.PermAll, "ip", "10.16.0.0/12")},
			address("10.31.2.3"), true,
		},
		{
			"outside half a byte",
			[]wire.ACL{grant(wire.PermAll, "ip", "10.16.0.0/12")},
			address("10.32.2.3"), false,
		},
		{
			"all addresses",
			[]wire.ACL{grant(wire.PermAll, "ip", "10.0.0.0/0")},
			address("192.168.1.1"),
			true,
		},
		{
			"all bits",
			[]wire.ACL{grant(wire.PermAll, "ip", "10.1.2.3/32")},
			address("10.1.2.2"),
			false,
		},
		{"IPv6", []wire.ACL{grant(wire.PermAll, "ip", "fe80::/10")}, address("fe80::1"), true},
		{"other IPv6", []wire.ACL{grant(wire.PermAll, "ip", "fe80::/10")}, address("::1"), false},
		{
			"IPv4 for IPv6",
			[]wire.ACL{grant(wire.PermAll, "ip", "::/0")},
			address("10.1.2.3"),
			false,
		},
		{
			"no address",
			[]wire.ACL{grant(wire.PermAll, "ip", "10.0.0.0/0")},
			address("localhost"),
			false,
		},
		{
			"digest as an address",
			[]wire.ACL{grant(wire.PermAll, "digest", "10.1.2.3:a")},
			address("10.1.2.3:a"), false,
		},
		{"one of two", mixed, alice, true},
		{"the other of two", mixed, bob, false},
		{"both of two", mixed, append(slices.Clone(bob), alice...), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tr := newTree(t, tree.Rules{IPv6: true}, createFor("/a", test.acl...))
			want := wire.OK
			if !test.want {
				want = wire.NoAuth
			}
			if code := tr.Get("/a", test.ids).Code; code != want {
				t.Errorf("%q, want %q", code, want)
			}
		})
	}
}

// TestMaskedACLs checks that only clients with the admin permission see digests.
func TestMaskedACLs(t *testing.T) {
	acl := []wire.ACL{grant(wire.PermRead, "world", "anyone"), grant(wire.PermAdmin, "digest",
		"alice:a"), grant(wire.PermAll, "ip", "1.2.3.4")}
	hidden := slices.Clone(acl)
	hidden[1].ID = "alice:x"
	tr := newTree(t, tree.Rules{}, createFor("/a", acl...))
	tests := []struct {
		name string
		ids  []wire.Identity
		want []wire.ACL
	}{
		{"nobody", nil, hidden},
		{"bob", bob, hidden},
		{"alice", alice, acl},
		{"the superuser", super, acl},
		{"nobody, again", nil, hidden},
	}
	for _, test := range tests {
		if got := tr.ACL("/a", test.ids); got.Code != wire.OK ||
			!slices.Equal(got.ACL, test.want) {
			t.Errorf("%s sees %+v (%v), want %+v", test.name, got.ACL, got.Code, test.want)
		}
	}
	if code := tr.ACL("/missing", nil).Code; code != wire.NoNode {
		t.Errorf("ACL of a missing node: %q", code)
	}
}
