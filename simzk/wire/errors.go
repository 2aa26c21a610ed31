package wire

import (
	"errors"
	"fmt"
)

// ErrFrameLength says that a frame's length is negative or over the limit. What follows cannot be
// read as frames.
var ErrFrameLength = errors.New("wire: unreasonable frame length")

// ErrHeader says that a frame ends within its header, so that nobody can tell what it is.
var ErrHeader = errors.New("wire: the frame ends within its header")

// What a [BodyError] wraps.
var (
	ErrTruncated = errors.New("the record ends early")
	ErrLength    = errors.New("negative length")
	ErrNull      = errors.New("a null vector")
	ErrOperation = errors.New("an operation that a multi of this type cannot hold")
)

// A BodyError says that the record after a frame's header is not what the type demands. A server
// answers such a request with [MarshallingError], and the connection lives on.
type BodyError struct {
	// the type of the request; OpCreateSession of a connect record, OpNotification of an event
	Op     Op
	Offset int   // the place in the frame where the field begins that cannot be decoded
	Err    error // ErrTruncated, ErrLength, ErrNull or ErrOperation
}

func (e *BodyError) Error() string {
	return fmt.Sprintf("wire: %v at byte %d: %v", e.Op, e.Offset, e.Err)
}

// Unwrap returns Err.
func (e *BodyError) Unwrap() error {
	return e.Err
}
