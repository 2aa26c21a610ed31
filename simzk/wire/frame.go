package wire

import (
	"encoding/binary"
	"io"
	"slices"
)

// MaxFrame is the default limit of a frame's length in bytes (jute.maxbuffer).
const MaxFrame = 0xfffff

// minGrowth is the minimum number of bytes by which a buffer grows, unless the frame needs fewer.
const minGrowth = 4096

// BeginFrame appends space for a frame's length and returns its position. The caller appends the
// frame's content and then passes the position to [EndFrame].
func BeginFrame(dst []byte) ([]byte, int) {
	return append(dst, 0, 0, 0, 0), len(dst)
}

// EndFrame sets the length of the frame that starts at the position and ends at the end of dst.
func EndFrame(dst []byte, at int) []byte {
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// ReadFrame reads a frame and returns its content. The content is stored in buffer if its capacity
// suffices. Otherwise new memory grows with the bytes received, not with the claimed length. To
// read successive frames, pass the last frame as the buffer.
//
// The error is [io.EOF] if r ends before the frame, [io.ErrUnexpectedEOF] if r ends within it, and
// [ErrFrameLength] if the length is negative or exceeds max.
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
