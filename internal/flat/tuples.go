package flat

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/hash64"
)

// Tuples holds distinct tuples of numbers, each of them once. The zero value is empty.
type Tuples[T ~uint32] struct {
	words List[T] // for each tuple its length, and its elements in the same chunk
	index Index
}

// Number returns the number of a tuple, which it adds if it is new. A tuple has fewer than 1,024
// elements.
func (s *Tuples[T]) Number(tuple []T) uint32 {
	hash := hashOf(tuple)
	number, ok := s.index.Find(hash, func(number uint32) bool {
		return slices.Equal(s.At(number), tuple)
	})
	if ok {
		return number
	}
	number = s.append(tuple)
	s.index.Add(hash, number, func(number uint32) uint64 { return hashOf(s.At(number)) })
	return number
}

// At returns the tuple of a number. The caller must not change it.
func (s *Tuples[T]) At(number uint32) []T {
	chunk, at := s.words.chunkOf(number), number&(1<<chunkBits-1)
	return chunk[at+1 : at+1+uint32(chunk[at])]
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
