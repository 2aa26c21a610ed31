package memory

// A SliceCopy is a slice and a copy of its elements. The next Save reuses its memory.
type SliceCopy[T any] struct{ Slice, Elements []T }

// Save copies the elements of a slice.
func (k *SliceCopy[T]) Save(slice []T) {
	k.Slice, k.Elements = slice, append(k.Elements[:0], slice...)
}

// Restore writes the elements back into the slice.
func (k *SliceCopy[T]) Restore() { copy(k.Slice, k.Elements) }

// ObjectCopies are pointers to objects and copies of their values.
type ObjectCopies[T any] struct {
	objects []*T
	values  []T
}

// Reset forgets all objects and keeps the memory.
func (c *ObjectCopies[T]) Reset() { c.objects, c.values = c.objects[:0], c.values[:0] }

// Save adds objects with their present values.
func (c *ObjectCopies[T]) Save(objects ...*T) {
	for _, object := range objects {
		c.objects, c.values = append(c.objects, object), append(c.values, *object)
	}
}

// Restore writes the values back into the objects.
func (c *ObjectCopies[T]) Restore() {
	for i, object := range c.objects {
		*object = c.values[i]
	}
}

// Extend returns the slice with one more element, and a pointer to that. It reuses the memory of an
// earlier element there.
func Extend[T any](s []T) ([]T, *T) {
	if len(s) < cap(s) {
		s = s[:len(s)+1]
	} else {
		var zero T
		s = append(s, zero)
	}
	return s, &s[len(s)-1]
}
