package report_test

import (
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/internal/search/report"
)

// digestOf returns the digest of a sequence of trace hashes.
func digestOf(hashes []uint64) (d report.Digest) {
	for _, hash := range hashes {
		d = d.Add(hash)
	}
	return d
}

// The digests of two sequences join to the digest of one after the other.
func TestDigestsJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOf(rapid.Uint64()).Draw(t, "hashes")
		at := rapid.IntRange(0, len(hashes)).Draw(t, "at")
		joined := digestOf(hashes[:at]).Join(digestOf(hashes[at:]), len(hashes)-at)
		if whole := digestOf(hashes); joined != whole {
			t.Fatalf("%x, not %x", joined, whole)
		}
	})
}

// A digest is the polynomial that its comment describes.
func TestDigestIsPolynomial(t *testing.T) {
	prime := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 61), big.NewInt(1))
	point := new(big.Int).SetUint64(0x9e3779b97f4a7c15)
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOf(rapid.Uint64()).Draw(t, "hashes")
		want := new(big.Int)
		for _, hash := range hashes {
			want.Mul(want, point).Add(want, new(big.Int).SetUint64(hash)).Mod(want, prime)
		}
		if got := digestOf(hashes); uint64(got) != want.Uint64() {
			t.Fatalf("%x, not %x", got, want)
		}
	})
}

// The order of the schedules changes the digest.
func TestDigestDependsOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOfNDistinct(rapid.Uint64Max(1<<61-2), 2, 20, rapid.ID).Draw(t, "hashes")
		swapped := slices.Clone(hashes)
		swapped[0], swapped[1] = swapped[1], swapped[0]
		if digestOf(hashes) == digestOf(swapped) {
			t.Fatalf("%x and %x have the same digest", hashes, swapped)
		}
	})
}
