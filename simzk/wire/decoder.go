package wire

import "encoding/binary"

// A decoder takes jute's types off the front of a frame. After the first error it gives only zero
// values, so that whoever decodes a record needs to look at err once, at the record's end. What it
// gives shares no memory with the frame.
type decoder struct {
	rest   []byte
	length int  // of the whole frame
	server bool // reads strings as a server does
	err    error
	failed int // where in the frame err happened
}

func newDecoder(frame []byte) *decoder {
	return &decoder{rest: frame, length: len(frame)}
}

// fail records the first error, of a field that begins so many bytes before the rest.
func (d *decoder) fail(err error, before int) {
	if d.err == nil {
		d.err, d.failed = err, d.length-len(d.rest)-before
	}
}

// bodyError returns the error of a record of type op, or nil if there was none.
func (d *decoder) bodyError(op Op) error {
	if d.err == nil {
		return nil
	}
	return &BodyError{Op: op, Offset: d.failed, Err: d.err}
}

// take removes the next n bytes, and returns nil if there are fewer.
func (d *decoder) take(n int) []byte {
	if n > len(d.rest) {
		d.fail(ErrTruncated, 0)
	}
	if d.err != nil {
		return nil
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

// bool decodes a boolean, of which Java takes any byte but 0 for true.
func (d *decoder) bool() bool {
	b := d.take(1)
	return b != nil && b[0] != 0
}

func (d *decoder) int() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (d *decoder) long() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// bytes decodes what buffers and strings have in common, without a copy. It returns nil for null.
func (d *decoder) bytes() []byte {
	n := int(d.int())
	switch {
	case d.err != nil || n == -1:
		return nil
	case n < 0:
		d.fail(ErrLength, 4)
	case n > len(d.rest):
		d.fail(ErrTruncated, 4)
	}
	return d.take(n)
}

// buffer decodes a copy of a buffer, nil for null.
func (d *decoder) buffer() []byte {
	b := d.bytes()
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// string decodes a ustring. A server makes it UTF-8; otherwise bytes that are not UTF-8 stay as
// they are, but for the pairs of surrogates that servers send.
func (d *decoder) string() string {
	switch b := d.bytes(); {
	case b == nil && d.err == nil:
		return Null
	case d.server:
		return Text(b)
	default:
		return joinSurrogates(b)
	}
}

// count decodes the length of a vector, of whose elements each takes at least that many bytes.
// ZooKeeper takes a negative length for no elements; -1 is null, which makes a difference in
// [Watches] only.
func (d *decoder) count(least int) int {
	n := max(int(d.int()), 0)
	// A length that lies must not make us allocate.
	if n > len(d.rest)/least {
		d.fail(ErrTruncated, 4)
		return 0
	}
	return n
}

// strings decodes a vector of strings, nil for an empty one.
func (d *decoder) strings() []string {
	n := d.count(4)
	if n == 0 {
		return nil
	}
	vector := make([]string, n)
	for i := range vector {
		vector[i] = d.string()
	}
	return vector
}

// acl decodes a vector of data.ACL, nil for an empty one.
func (d *decoder) acl() []ACL {
	n := d.count(12)
	if n == 0 {
		return nil
	}
	vector := make([]ACL, n)
	for i := range vector {
		vector[i] = ACL{Perms: d.int(), Scheme: d.string(), ID: d.string()}
	}
	return vector
}

// identities decodes a vector of data.ClientInfo, nil for an empty one.
func (d *decoder) identities() []Identity {
	n := d.count(8)
	if n == 0 {
		return nil
	}
	vector := make([]Identity, n)
	for i := range vector {
		vector[i] = Identity{Scheme: d.string(), ID: d.string()}
	}
	return vector
}

// stat decodes data.Stat.
func (d *decoder) stat() Stat {
	return Stat{
		Czxid:          d.long(),
		Mzxid:          d.long(),
		Ctime:          d.long(),
		Mtime:          d.long(),
		Version:        d.int(),
		Cversion:       d.int(),
		Aversion:       d.int(),
		EphemeralOwner: d.long(),
		DataLength:     d.int(),
		NumChildren:    d.int(),
		Pzxid:          d.long(),
	}
}
