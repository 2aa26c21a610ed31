package report

import "math/bits"

// A Digest is a hash of a sequence of trace hashes. The digests of two sequences, with the length
// of the second, determine the digest of one after the other, so that ranges of schedules can run
// on different machines; see [Digest.Join].
//
// It is a polynomial whose coefficients are the trace hashes, at a fixed point, modulo the prime
// 2^61-1 (Karp and Rabin, "Efficient Randomized Pattern-Matching Algorithms", 1987). Two different
// sequences of n hashes share a digest with a probability of about n/2^61, if the hashes behave as
// random numbers.
type Digest uint64

const (
	digestPrime = 1<<61 - 1
	digestPoint = 0x9e3779b97f4a7c15 % digestPrime
)

// Add returns the digest of the sequence with one more trace hash.
func (d Digest) Add(hash uint64) Digest {
	return Digest((multiply(uint64(d), digestPoint) + hash%digestPrime) % digestPrime)
}

// Join returns the digest of the sequence followed by a later one of the given length.
func (d Digest) Join(later Digest, length int) Digest {
	shifted, power := uint64(d), uint64(digestPoint)
	for ; length > 0; length >>= 1 {
		if length&1 == 1 {
			shifted = multiply(shifted, power)
		}
		power = multiply(power, power)
	}
	return Digest((shifted + uint64(later)) % digestPrime)
}

// multiply returns the product modulo the prime of two numbers below it.
func multiply(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	_, remainder := bits.Div64(high, low, digestPrime)
	return remainder
}
