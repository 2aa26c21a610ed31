package flat_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/internal/search/flat"
)

// A decoder reads what was written, and refuses it if any byte is missing or different.
func TestEncodingIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOf(rapid.Uint64()).Draw(t, "numbers")
		small := rapid.SliceOf(rapid.Uint32()).Draw(t, "small numbers")
		tuples := rapid.SliceOf(rapid.SliceOfN(rapid.Uint32(), 0, 5)).Draw(t, "tuples")
		var content bytes.Buffer
		e := flat.NewEncoder(&content)
		for _, n := range numbers {
			e.Number(n)
			e.Key(n)
		}
		for _, n := range small {
			e.Difference(n, ^n/2)
		}
		var written, read flat.Tuples[uint32]
		for _, tuple := range tuples {
			written.Number(tuple)
		}
		written.Encode(e)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}

		d, err := flat.NewDecoder(content.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range numbers {
			if number, key := d.Number(), d.Key(); number != n || key != n {
				t.Fatalf("%d and %d, not %d", number, key, n)
			}
		}
		for _, n := range small {
			if got := d.Difference(^n / 2); got != n {
				t.Fatalf("%d, not %d", got, n)
			}
		}
		read.Decode(d)
		for _, tuple := range tuples {
			number := written.Number(tuple)
			if got := read.At(number); !slices.Equal(got, tuple) ||
				len(tuple) > 0 && read.Number(tuple) != number {
				t.Fatalf("tuple %d is %v, not %v", number, got, tuple)
			}
		}

		damaged := slices.Clone(content.Bytes())
		damaged[rapid.IntRange(0, len(damaged)-1).Draw(t, "damaged")] ^= 1
		cut := content.Bytes()[:rapid.IntRange(0, content.Len()-1).Draw(t, "length")]
		for _, bad := range [][]byte{damaged, cut} {
			if _, err := flat.NewDecoder(bad); !errors.Is(err, flat.ErrDamaged) {
				t.Fatalf("error %v for %d of %d bytes", err, len(bad), content.Len())
			}
		}
	})
}
