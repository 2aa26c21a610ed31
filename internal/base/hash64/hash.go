// Package hash64 has fast hash functions for state keys.
package hash64

import "math/bits"

// Mix folds b into a with the finalizer of splitmix64.
func Mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Fold folds b into a, as Mix does, in a third of the time, for what runs after every step. It is
// the step of wyhash (Wang Yi).
func Fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return high ^ low
}

// Bit returns 1 for true and 0 for false.
func Bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
