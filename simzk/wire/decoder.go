package wire

import "encoding/binary"

// A decoder decodes jute's types from a frame. After the first error it returns only zero values,
// so callers check err once per record. The results share no memory with the frame.
type decoder struct {
	rest     []byte
	length   int  // of the whole frame
	server   bool // decodes strings as a server does
	err      error
	failedAt int // offset of err in the frame
}

func newDecoder(frame []byte) *decoder {
	return &decoder{rest: frame, length: len(frame)}
}

// fail records the first error. The malformed field starts before bytes ahead of the rest.
func (d *decoder) fail(err error, before int) {
	if d.err == nil {
		d.err, d.failedAt = err, d.length-len(d.rest)-before
	}
}

// bodyError returns err as a [BodyError] of a record of type op, or nil if there is no error.
func (d *decoder) bodyError(op Op) error {
	if d.err == nil {
		return nil
	}
	return &BodyError{Op: op, Offset: d.failedAt, Err: d.err}
}

// take consumes the next n bytes. It returns nil if there are fewer.
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

// bool decodes a boolean: as in Java, any byte except 0 is true.
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

// bytes decodes the length and bytes of a buffer or string without copying. It returns nil for
// null.
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

// buffer decodes a copy of a buffer, or nil for null.
func (d *decoder) buffer() []byte {
	b := d.bytes()
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// string decodes a ustring. A server converts it to valid UTF-8. A client keeps invalid bytes,
// except that it joins the pairs of surrogates sent by servers.
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

// count decodes the length of a vector whose elements take at least minBytes bytes each. ZooKeeper
// treats a negative length as empty; -1 is null, which matters only in [Watches].
func (d *decoder) count(minBytes int) int {
	n := max(int(d.int()), 0)
	// A false length must not cause a large allocation.
	if n > len(d.rest)/minBytes {
		d.fail(ErrTruncated, 4)
		return 0
	}
	return n
}

// strings decodes a vector of strings, or nil for an empty one.
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

// acl decodes a vector of data.ACL, or nil for an empty one.
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

// identities decodes a vector of data.ClientInfo, or nil for an empty one.
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
