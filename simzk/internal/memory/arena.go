// Package memory keeps the objects of a run where the next run, or a snapshot, finds them.
package memory

// An Arena allocates the first values of a run from memory that the next run reuses.
type Arena[T any] []T

// Next returns a zero value. The arena has room for size values; Next allocates any beyond those.
func (a *Arena[T]) Next(size int) *T {
	if *a == nil {
		*a = make(Arena[T], 0, size)
	}
	n := len(*a)
	if n == cap(*a) {
		return new(T)
	}
	*a = (*a)[:n+1]
	next := &(*a)[n]
	clear((*a)[n:]) // A restored snapshot leaves stale values behind.
	return next
}

// NextSlice returns a slice of count zero values.
func (a *Arena[T]) NextSlice(count, size int) []T {
	if *a == nil {
		*a = make(Arena[T], 0, size)
	}
	n := len(*a)
	if n+count > cap(*a) {
		return make([]T, count)
	}
	*a = (*a)[:n+count]
	values := (*a)[n : n+count : n+count]
	clear(values)
	return values
}

// Reset returns the empty arena, for another run.
func (a Arena[T]) Reset() Arena[T] {
	clear(a)
	return a[:0]
}
