package stateset

import (
	"math"

	"github.com/interlock-sim/interlock/internal/base/hash64"
)

// probes is how many bits stand for a key, as in SPIN.
const probes = 3

// Bits is a set of state keys in a fixed number of bits, a Bloom filter: it may take a new key for
// one that it has. It is not safe for concurrent use.
//
// Source: G. J. Holzmann, An Analysis of Bitstate Hashing, Formal Methods in System Design 13,
// 1998. The bits of a key are drawn by enhanced double hashing (P. C. Dillinger and P. Manolios,
// Bloom Filters in Probabilistic Verification, FMCAD 2004).
type Bits struct {
	words     []uint64
	ones      int // bits that are set
	count     int
	omissions float64
}

// NewBits returns an empty set of a number of bytes, at least 8.
func NewBits(bytes int) *Bits { return &Bits{words: make([]uint64, max(1, bytes/8))} }

// Add adds a key and reports whether it seems to be new. A false answer may be wrong.
func (b *Bits) Add(key uint64) bool {
	wrong := math.Pow(float64(b.ones)/float64(64*len(b.words)), probes)
	fresh := false
	b.each(key, func(word *uint64, bit uint64) {
		if *word&bit == 0 {
			*word |= bit
			b.ones++
			fresh = true
		}
	})
	if fresh {
		b.count++
		b.omissions += wrong / (1 - wrong)
	}
	return fresh
}

// Has reports whether the set seems to have a key. A true answer may be wrong.
func (b *Bits) Has(key uint64) bool {
	has := true
	b.each(key, func(word *uint64, bit uint64) { has = has && *word&bit != 0 })
	return has
}

// Len returns the number of keys that were new.
func (b *Bits) Len() int { return b.count }

// Omissions returns the expected number of new keys that were taken for old ones: with a share f of
// the bits set, that happens to a new key with the probability f^3, so for each key that was added
// then, f^3/(1-f^3) were not.
func (b *Bits) Omissions() float64 { return b.omissions }

// each calls a function with the bits of a key.
func (b *Bits) each(key uint64, f func(word *uint64, bit uint64)) {
	at, step := key, hash64.Mix(key, 1)
	for i := range uint64(probes) {
		place := at % uint64(64*len(b.words))
		f(&b.words[place/64], 1<<(place%64))
		at, step = at+step, step+i+1
	}
}
