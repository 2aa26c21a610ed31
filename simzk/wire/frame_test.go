package wire_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/simzk/wire"
)

func TestFrame(t *testing.T) {
	dst, at := wire.BeginFrame([]byte("before"))
	dst = append(dst, "inside"...)
	dst = wire.EndFrame(dst, at)
	if want := append([]byte("before"), octets(`00000006 696e73696465`)...); !bytes.Equal(dst,
		want) {
		t.Errorf("got %x, want %x", dst, want)
	}
}

func TestReadFrame(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name   string
		reader io.Reader
		frame  string
		err    error
	}{
		{"empty frame", bytes.NewReader(octets(`00000000`)), "", nil},
		{"frame before another", bytes.NewReader(octets(`00000002 6162 00000001`)), "ab", nil},
		{
			"frame in pieces", iotest.OneByteReader(bytes.NewReader(octets(`00000002 6162`))), "ab",
			nil,
		},
		{"frame of the maximum length", bytes.NewReader(octets(`00000003 616263`)), "abc", nil},
		{
			"frame beyond the maximum length", bytes.NewReader(octets(`00000004 61626364`)), "",
			wire.ErrFrameLength,
		},
		{"negative length", bytes.NewReader(octets(`ffffffff 6162`)), "", wire.ErrFrameLength},
		{"nothing", bytes.NewReader(nil), "", io.EOF},
		{"partial length", bytes.NewReader(octets(`000000`)), "", io.ErrUnexpectedEOF},
		{"length only", bytes.NewReader(octets(`00000002`)), "", io.ErrUnexpectedEOF},
		{"partial frame", bytes.NewReader(octets(`00000002 61`)), "", io.ErrUnexpectedEOF},
		{"broken before a frame", iotest.ErrReader(broken), "", broken},
		{
			"broken within a frame",
			io.MultiReader(bytes.NewReader(octets(`00000002 61`)), iotest.ErrReader(broken)), "",
			broken,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			frame, err := wire.ReadFrame(test.reader, nil, 3)
			if string(frame) != test.frame || err != test.err {
				t.Errorf("got %q, error %v, want %q, error %v", frame, err, test.frame, test.err)
			}
		})
	}
}

func TestReadFrameReusesTheBuffer(t *testing.T) {
	buffer := make([]byte, 8, 16)
	frame, err := wire.ReadFrame(bytes.NewReader(octets(`00000002 6162`)), buffer, wire.MaxFrame)
	if string(frame) != "ab" || err != nil || &frame[0] != &buffer[0] {
		t.Errorf("got %q, error %v, or a new buffer", frame, err)
	}
	long := bytes.Repeat([]byte("x"), 100)
	stream, at := wire.BeginFrame(nil)
	stream = wire.EndFrame(append(stream, long...), at)
	frame, err = wire.ReadFrame(bytes.NewReader(stream), buffer, wire.MaxFrame)
	if !bytes.Equal(frame, long) || err != nil {
		t.Errorf("got %q, error %v", frame, err)
	}
}

// TestReadFrameFalseLength reads a frame that claims to be long and ends at once.
func TestReadFrameFalseLength(t *testing.T) {
	const max = 1 << 30
	used := allocated(func() {
		if _, err := wire.ReadFrame(bytes.NewReader(octets(`40000000 61`)), nil,
			max); err != io.ErrUnexpectedEOF {
			t.Errorf("error %v", err)
		}
	})
	if used > 1<<20 {
		t.Errorf("%d bytes allocated", used)
	}
}

// TestReadFrames reads successive frames with one buffer.
func TestReadFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOf(rapid.IntRange(0, 20000)).Draw(t, "lengths")
		var stream []byte
		for i, length := range lengths {
			var at int
			stream, at = wire.BeginFrame(stream)
			stream = append(stream, bytes.Repeat([]byte{byte(i + 1)}, length)...)
			stream = wire.EndFrame(stream, at)
		}
		reader := bytes.NewReader(stream)
		buffer := make([]byte, rapid.IntRange(0, 9000).Draw(t, "buffer"))
		for i, length := range lengths {
			frame, err := wire.ReadFrame(reader, buffer, wire.MaxFrame)
			if err != nil || !bytes.Equal(frame, bytes.Repeat([]byte{byte(i + 1)}, length)) {
				t.Fatalf("frame %d is %x, error %v", i, frame, err)
			}
			buffer = frame
		}
		if _, err := wire.ReadFrame(reader, buffer, wire.MaxFrame); err != io.EOF {
			t.Fatalf("error %v after the last frame", err)
		}
	})
}
