// Package flat holds many small records in little memory: records refer to each other by number,
// hash tables hold only numbers, and the garbage collector has nothing to scan.
package flat

import "math"

// chunkBits is the binary logarithm of a chunk's length.
const chunkBits = 10

// A List is an array that grows without moving its elements, so that growing needs no second copy.
// It holds at most 2^32 - 1 elements.
type List[T any] struct {
	chunks []*[1 << chunkBits]T
	count  uint32
}

// Len returns the number of elements.
func (l *List[T]) Len() int { return int(l.count) }

// At returns the element of the number, from 0. The pointer stays valid.
func (l *List[T]) At(number uint32) *T {
	return &l.chunks[number>>chunkBits][number&(1<<chunkBits-1)]
}

// Append adds an element and returns its number. It panics if the list is full.
func (l *List[T]) Append(element T) uint32 {
	number := l.count
	if number == math.MaxUint32 {
		panic("flat: a list is full")
	}
	if int(number>>chunkBits) == len(l.chunks) {
		l.chunks = append(l.chunks, new([1 << chunkBits]T))
	}
	l.count++
	*l.At(number) = element
	return number
}
