// Package flat holds many small records in little memory: records refer to each other by number,
// hash tables hold only numbers, and the garbage collector has nothing to scan.
package flat

import (
	"math"
	"sync/atomic"
)

// Chunks have 2^chunkBits elements, groups 2^groupBits chunks, and a list at most 2^topBits groups.
const (
	chunkBits = 10
	groupBits = 11
	topBits   = 32 - chunkBits - groupBits
)

// A List is an array that grows without moving its elements, so that growing needs no second copy.
// It holds at most 2^32 - 1 elements.
//
// One goroutine at a time may append. Others may call Len, and read the elements whose numbers they
// have got from it in a synchronized way, because Append changes nothing that reading them depends
// on.
type List[T any] struct {
	groups [1 << topBits]*[1 << groupBits]*[1 << chunkBits]T
	count  uint32
}

// Len returns the number of elements.
func (l *List[T]) Len() int { return int(atomic.LoadUint32(&l.count)) }

// At returns the element of the number, from 0. The pointer stays valid.
func (l *List[T]) At(number uint32) *T {
	return &l.chunkOf(number)[number&(1<<chunkBits-1)]
}

// chunkOf returns the chunk that holds the element of the number.
func (l *List[T]) chunkOf(number uint32) *[1 << chunkBits]T {
	return l.groups[number>>(chunkBits+groupBits)][number>>chunkBits&(1<<groupBits-1)]
}

// Append adds an element and returns its number. It panics if the list is full.
func (l *List[T]) Append(element T) uint32 {
	number := l.count
	if number == math.MaxUint32 {
		panic("flat: a list is full")
	}
	if number&(1<<chunkBits-1) == 0 {
		l.grow(number)
	}
	*l.At(number) = element
	atomic.StoreUint32(&l.count, number+1)
	return number
}

// grow adds the chunk of an element with which it begins.
func (l *List[T]) grow(number uint32) {
	group := &l.groups[number>>(chunkBits+groupBits)]
	if *group == nil {
		*group = new([1 << groupBits]*[1 << chunkBits]T)
	}
	(*group)[number>>chunkBits&(1<<groupBits-1)] = new([1 << chunkBits]T)
}
