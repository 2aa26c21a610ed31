package tree

import (
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// Open is the ACL that grants everyone all permissions. It must not be changed.
var Open = []wire.ACL{{Perms: wire.PermAll, Scheme: "world", ID: "anyone"}}

// Super is the identity that bypasses all ACLs.
var Super = wire.Identity{Scheme: "super"}

// Readable reports whether one of the identities may read a node that has the ACL.
func Readable(acl []wire.ACL, ids []wire.Identity) bool {
	return permitted(acl, ids, wire.PermRead)
}

// permitted reports whether one of the identities has one of the permissions.
func permitted(acl []wire.ACL, identities []wire.Identity, perms int32) bool {
	if len(acl) == 1 && &acl[0] == &Open[0] {
		return true
	}
	if slices.ContainsFunc(acl, func(a wire.ACL) bool {
		return a.Perms&perms != 0 &&
			a.Scheme == "world" && a.ID == "anyone"
	}) {
		return true
	}
	if len(acl) == 0 || slices.ContainsFunc(identities,
		func(id wire.Identity) bool { return id.Scheme == Super.Scheme }) {
		return true
	}
	for _, a := range acl {
		if a.Perms&perms == 0 {
			continue
		}
		for _, id := range identities {
			if id.Scheme == a.Scheme && (id.ID == a.ID || a.Scheme == "ip" &&
				addressMatches(id.ID, a.ID)) {
				return true
			}
		}
	}
	return false
}

// fixACL checks an ACL sent by a client and replaces the scheme "auth" by the client's own
// identities (PrepRequestProcessor.fixupACL). It returns [wire.MarshallingError] where a null id or
// scheme makes the server fail.
func (t *Tree) fixACL(acl []wire.ACL, identities []wire.Identity) ([]wire.ACL, wire.Code) {
	if len(acl) == 1 && acl[0].Scheme == "world" && acl[0].ID == "anyone" {
		return acl, wire.OK
	}
	unique, ok := removeDuplicates(acl)
	if !ok {
		return nil, wire.MarshallingError
	}
	var fixed []wire.ACL
	for _, a := range unique {
		switch {
		case a.ID == wire.Null && slices.Contains([]string{"world", "ip", "digest"}, a.Scheme):
			return nil, wire.MarshallingError
		case a.Scheme == "world" && a.ID == "anyone",
			a.Scheme == "ip" && t.validAddress(a.ID),
			a.Scheme == "digest" && validDigest(a.ID):
			fixed = append(fixed, a)
		case a.Scheme == "auth":
			digests := authenticated(identities)
			if len(digests) == 0 {
				return nil, wire.InvalidACL
			}
			for _, id := range digests {
				fixed = append(fixed, wire.ACL{Perms: a.Perms, Scheme: id.Scheme, ID: id.ID})
			}
		default:
			return nil, wire.InvalidACL
		}
	}
	if len(fixed) == 0 {
		return nil, wire.InvalidACL
	}
	return fixed, wire.OK
}

// removeDuplicates returns an ACL without repeated entries. It returns false if the server fails on
// a null: the server compares the scheme and id of an entry with earlier entries of equal
// permissions.
func removeDuplicates(acl []wire.ACL) (unique []wire.ACL, ok bool) {
	for _, a := range acl {
		for _, other := range unique {
			if a.Perms == other.Perms && (a.Scheme == wire.Null || a.ID == wire.Null &&
				a.Scheme == other.Scheme) {
				return nil, false
			}
			if a == other {
				break
			}
		}
		if !slices.Contains(unique, a) {
			unique = append(unique, a)
		}
	}
	return unique, true
}

// authenticated returns the identities that a client has proved. Its address, which every client
// has, does not count.
func authenticated(identities []wire.Identity) []wire.Identity {
	var digests []wire.Identity
	for _, id := range identities {
		if id.Scheme == "digest" {
			digests = append(digests, id)
		}
	}
	return digests
}

// maskDigests returns the ACL as shown to a client without the admin permission: without the
// digests of passwords.
func maskDigests(acl []wire.ACL) []wire.ACL {
	shown := slices.Clone(acl)
	for i, a := range shown {
		if a.Scheme == "digest" {
			user, _, _ := strings.Cut(a.ID, ":")
			shown[i].ID = user + ":x"
		}
	}
	return shown
}

// validDigest reports whether Java's split at colons gives two parts. Java drops empty parts at the
// end.
func validDigest(id string) bool {
	parts := strings.Split(strings.TrimRight(id, ":"), ":")
	return len(parts) == 2
}

// parseAddress parses the address of an ACL and the number of its significant bits.
func parseAddress(id string) (address []byte, bits int, ok bool) {
	text, mask, masked := strings.Cut(id, "/")
	if address, ok = parseBytes(text); !ok {
		return nil, 0, false
	}
	bits = 8 * len(address)
	if masked {
		var err error
		bits, err = strconv.Atoi(mask)
		ok = err == nil && bits >= 0 && bits <= 8*len(address)
	}
	return address, bits, ok
}

// parseBytes parses an address. Like ZooKeeper it accepts numbers with a sign or leading zeros, and
// IPv6 addresses only in hexadecimal form.
func parseBytes(text string) (address []byte, ok bool) {
	if strings.Contains(text, ":") {
		parsed, err := netip.ParseAddr(text)
		return parsed.AsSlice(), err == nil && !strings.ContainsAny(text, ".%")
	}
	parts := strings.Split(text, ".")
	if len(parts) != 4 {
		return nil, false
	}
	address = make([]byte, len(parts))
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > math.MaxUint8 {
			return nil, false
		}
		address[i] = byte(n)
	}
	return address, true
}

func (t *Tree) validAddress(id string) bool {
	address, _, ok := parseAddress(id)
	return ok && (len(address) == 4 || t.rules.IPv6)
}

func addressMatches(client, expression string) bool {
	address, _, ok := parseAddress(client)
	pattern, bits, valid := parseAddress(expression)
	if !ok || !valid || len(address) != len(pattern) {
		return false
	}
	for i := range bits {
		if (address[i/8]^pattern[i/8])>>(7-i%8)&1 != 0 {
			return false
		}
	}
	return true
}
