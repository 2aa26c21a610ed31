package wire

import (
	"encoding/binary"
	"io"
	"slices"
)

// MaxFrame is the longest frame that servers and clients accept unless they are told otherwise
// (jute.maxbuffer).
const MaxFrame = 0xfffff

// minGrowth is the least by which a buffer grows if the rest of a frame is as long as that.
const minGrowth = 4096

// BeginFrame appends the place for a frame's length. The frame's content is to be appended next,
// and then [EndFrame] called with the second result.
func BeginFrame(dst []byte) ([]byte, int) {
	return append(dst, 0, 0, 0, 0), len(dst)
}

// EndFrame sets the length of the frame that [BeginFrame] began at that place, and that ends where
// dst ends.
func EndFrame(dst []byte, at int) []byte {
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// ReadFrame reads a frame and returns its content, which is in buffer's memory if that is large
// enough, and otherwise in new memory that grows with what arrives, not with the length that the
// frame claims to have. To read one frame after the other, pass the last one as the buffer.
//
// The error is [io.EOF] if r ends before the frame, [io.ErrUnexpectedEOF] if r ends within it, and
// [ErrFrameLength] if its length is negative or over max.
func ReadFrame(r io.Reader, buffer []byte, max int) (frame []byte, err error) {
	frame = slices.Grow(buffer[:0], 4)
	if _, err := io.ReadFull(r, frame[:4]); err != nil {
		return nil, err
	}
	length := int(int32(binary.BigEndian.Uint32(frame[:4])))
	if length < 0 || length > max {
		return nil, ErrFrameLength
	}
	for len(frame) < length {
		missing := length - len(frame)
		if cap(frame)-len(frame) < min(missing, minGrowth) {
			frame = slices.Grow(frame, min(missing, cap(frame)+minGrowth))
		}
		next := frame[:min(length, cap(frame))]
		if _, err := io.ReadFull(r, next[len(frame):]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		frame = next
	}
	return frame, nil
}
