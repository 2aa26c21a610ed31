package simzk

// An arena allocates the first values of a run from memory that the next run reuses.
type arena[T any] []T

// next returns a zero value. The arena has room for size values; next allocates any beyond those.
func (a *arena[T]) next(size int) *T {
	if *a == nil {
		*a = make(arena[T], 0, size)
	}
	n := len(*a)
	if n == cap(*a) {
		return new(T)
	}
	*a = (*a)[:n+1]
	next := &(*a)[n]
	clear((*a)[n:]) // A restored [Snapshot] leaves stale values behind.
	return next
}

// nextSlice returns a slice of count zero values.
func (a *arena[T]) nextSlice(count, size int) []T {
	if *a == nil {
		*a = make(arena[T], 0, size)
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

// reset returns the empty arena, for another run.
func (a arena[T]) reset() arena[T] {
	clear(a)
	return a[:0]
}
