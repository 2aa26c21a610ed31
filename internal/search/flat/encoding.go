package flat

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/cespare/xxhash/v2"
)

// An Encoder writes numbers compactly. It keeps the first error for Close.
type Encoder struct {
	w        *bufio.Writer
	checksum *xxhash.Digest
	buffer   []byte
}

// NewEncoder returns an encoder that writes to w.
func NewEncoder(w io.Writer) *Encoder {
	checksum := xxhash.New()
	return &Encoder{
		w: bufio.NewWriterSize(io.MultiWriter(w, checksum), 1<<16), checksum: checksum,
	}
}

func (e *Encoder) write() {
	e.w.Write(e.buffer) //nolint:errcheck // Flush returns the error.
	e.buffer = e.buffer[:0]
}

// Number writes a number, in fewer bytes if it is small.
func (e *Encoder) Number(n uint64) {
	e.buffer = binary.AppendUvarint(e.buffer, n)
	e.write()
}

// Difference writes a number, in fewer bytes if it is close to another that the reader knows.
func (e *Encoder) Difference(n, from uint32) {
	e.buffer = binary.AppendVarint(e.buffer, int64(n)-int64(from))
	e.write()
}

// Key writes a hash, in 8 bytes.
func (e *Encoder) Key(key uint64) {
	e.buffer = binary.LittleEndian.AppendUint64(e.buffer, key)
	e.write()
}

// Close writes the checksum over all numbers. It does not close the writer.
func (e *Encoder) Close() error {
	if err := e.w.Flush(); err != nil {
		return err
	}
	e.Key(e.checksum.Sum64())
	return e.w.Flush()
}

// A Decoder reads what an [Encoder] has written, in the same order.
type Decoder struct{ rest []byte }

// ErrDamaged says that numbers are not as they were written.
var ErrDamaged = errors.New("its numbers are damaged")

// NewDecoder returns a decoder of all that an encoder has written, or [ErrDamaged] if the checksum
// is wrong.
func NewDecoder(content []byte) (*Decoder, error) {
	end := len(content) - 8
	if end < 0 || binary.LittleEndian.Uint64(content[end:]) != xxhash.Sum64(content[:end]) {
		return nil, ErrDamaged
	}
	return &Decoder{content[:end]}, nil
}

// Number reads a number.
func (d *Decoder) Number() uint64 {
	n, length := binary.Uvarint(d.rest)
	d.rest = d.rest[length:]
	return n
}

// Difference reads a number that is close to another.
func (d *Decoder) Difference(from uint32) uint32 {
	n, length := binary.Varint(d.rest)
	d.rest = d.rest[length:]
	return uint32(int64(from) + n)
}

// Key reads a hash.
func (d *Decoder) Key() uint64 {
	key := binary.LittleEndian.Uint64(d.rest)
	d.rest = d.rest[8:]
	return key
}
