package tree

import (
	"math"
	"strconv"
	"strings"
)

// Parent returns the path of a node's parent. The root is its own parent.
func Parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// Name returns the last part of a path.
func Name(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Ordinary reports whether a path consists of printable ASCII without dots and has no empty names.
// It is a fast path: ZooKeeper and its clients accept every such path, and most paths are ordinary.
func Ordinary(path string) bool {
	previous := byte(0)
	for i := range len(path) {
		c := path[i]
		if c == '/' && previous == '/' || c == '.' || c < ' ' || c > '~' {
			return false
		}
		previous = c
	}
	return len(path) > 1 && path[0] == '/' && previous != '/'
}

// ValidPath reports whether ZooKeeper accepts a path (PathUtils). The path of a sequential node may
// end in a slash, because the sequence number completes it.
func ValidPath(path string, sequential bool) bool {
	if Ordinary(path) {
		return true
	}
	if path == "" || path[0] != '/' {
		return false
	}
	if sequential && path[len(path)-1] == '/' {
		path += "0"
	}
	if path == "/" {
		return true
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
		for _, r := range name {
			if r <= 0x1f || 0x7f <= r && r <= 0x9f || 0xd800 <= r && r <= 0xf8ff || 0xfff0 <= r &&
				r <= math.MaxUint16 ||
				r > math.MaxUint16 {
				return false // Beyond 16 bits Java sees surrogates, which it rejects.
			}
		}
	}
	return true
}

// appendSequence appends a sequence number in Java's format "%010d": negative numbers have nine
// digits.
func appendSequence(path []byte, n int32) []byte {
	var buffer [11]byte
	digits, width := strconv.AppendInt(buffer[:0], int64(n), 10), 10
	if n < 0 {
		path, digits, width = append(path, '-'), digits[1:], 9
	}
	for range width - len(digits) {
		path = append(path, '0')
	}
	return append(path, digits...)
}
