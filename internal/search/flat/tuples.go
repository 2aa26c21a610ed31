package flat

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/base/hash64"
)

// Tuples holds distinct tuples of numbers, each of them once. The zero value is empty. One
// goroutine at a time may add; others may call Find and At meanwhile.
type Tuples[T ~uint32] struct {
	words List[T] // for each tuple its length, and its elements in the same chunk
	index Index
}

// Number returns the number of a tuple, which it adds if it is new. A tuple has fewer than 1,024
// elements.
func (s *Tuples[T]) Number(tuple []T) uint32 {
	if number, ok := s.Find(tuple); ok {
		return number
	}
	number := s.append(tuple)
	s.index.Add(hashOf(tuple), number)
	return number
}

// Find returns the number of a tuple, if it was added.
func (s *Tuples[T]) Find(tuple []T) (number uint32, ok bool) {
	return s.index.Find(hashOf(tuple), func(number uint32) bool {
		return slices.Equal(s.At(number), tuple)
	})
}

// At returns the tuple of a number. The caller must not change it.
func (s *Tuples[T]) At(number uint32) []T {
	chunk, at := s.words.chunkOf(number), number&(1<<chunkBits-1)
	return chunk[at+1 : at+1+uint32(chunk[at])]
}

// Encode writes all tuples.
func (s *Tuples[T]) Encode(e *Encoder) {
	e.Number(uint64(s.words.Len()))
	for i := range s.words.count {
		e.Number(uint64(*s.words.At(i)))
	}
}

// Decode adds tuples that were written, with their numbers, to an empty set.
func (s *Tuples[T]) Decode(d *Decoder) {
	for range d.Number() {
		s.words.Append(T(d.Number()))
	}
	for i := uint32(0); i < s.words.count; {
		length := uint32(*s.words.At(i))
		if length > 0 { // Otherwise it is no tuple, or the empty one, which can be added again.
			s.index.Add(hashOf(s.At(i)), i)
		}
		i += 1 + length
	}
}

func (s *Tuples[T]) append(tuple []T) uint32 {
	for s.words.count&(1<<chunkBits-1)+uint32(len(tuple)) >= 1<<chunkBits {
		s.words.Append(0)
	}
	number := s.words.Append(T(len(tuple)))
	for _, element := range tuple {
		s.words.Append(element)
	}
	return number
}

func hashOf[T ~uint32](tuple []T) uint64 {
	hash := uint64(len(tuple))
	for _, element := range tuple {
		hash = hash64.Mix(hash, uint64(element))
	}
	return hash
}
