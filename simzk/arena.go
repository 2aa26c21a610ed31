package simzk

// A arena is where the first values of a run are made, in memory that is used again for the next
// one.
type arena[T any] []T

// next returns a value that is empty. There is room for as many as are kept; those beyond are made
// by themselves.
func (s *arena[T]) next(kept int) *T {
	if *s == nil {
		*s = make(arena[T], 0, kept)
	}
	n := len(*s)
	if n == cap(*s) {
		return new(T)
	}
	*s = (*s)[:n+1]
	next := &(*s)[n]
	clear((*s)[n:]) // What was there after a [Snapshot] is void.
	return next
}

// nextSlice returns so many values, each of them empty and one behind the other.
func (s *arena[T]) nextSlice(count, kept int) []T {
	if *s == nil {
		*s = make(arena[T], 0, kept)
	}
	n := len(*s)
	if n+count > cap(*s) {
		return make([]T, count)
	}
	*s = (*s)[:n+count]
	row := (*s)[n : n+count : n+count]
	clear(row)
	return row
}

// reset returns the space for another run.
func (s arena[T]) reset() arena[T] {
	clear(s)
	return s[:0]
}
