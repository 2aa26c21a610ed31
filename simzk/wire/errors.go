package wire

import (
	"errors"
	"fmt"
)

// ErrFrameLength means that a frame's length is negative or exceeds the limit. The rest of the
// stream cannot be decoded.
var ErrFrameLength = errors.New("wire: invalid frame length")

// ErrHeader means that a frame ends within its header, so its type is unknown.
var ErrHeader = errors.New("wire: truncated header")

// The causes in a [BodyError].
var (
	ErrTruncated = errors.New("truncated record")
	ErrLength    = errors.New("negative length")
	ErrNull      = errors.New("null vector")
	ErrOperation = errors.New("operation not allowed in a multi of this type")
)

// A BodyError means that the record after a frame's header is malformed for its type. A server
// answers such a request with [MarshallingError] and keeps the connection.
type BodyError struct {
	// type of the request; OpCreateSession for connect records, OpNotification for events
	Op     Op
	Offset int   // start of the malformed field in the frame
	Err    error // ErrTruncated, ErrLength, ErrNull or ErrOperation
}

func (e *BodyError) Error() string {
	return fmt.Sprintf("wire: record of type %d at byte %d: %v", e.Op, e.Offset, e.Err)
}

// Unwrap returns Err.
func (e *BodyError) Unwrap() error {
	return e.Err
}
