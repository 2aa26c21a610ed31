package tree

import (
	"math"
	"strconv"
	"strings"
)

// Parent returns the path of a node's parent. The root is its own.
func Parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// Name returns the last part of a path.
func Name(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Ordinary tells whether a path is one in which there is nothing to look for: printable ASCII
// without dots, and no empty names. ZooKeeper and its clients accept every such path, and most
// paths are such.
func Ordinary(path string) bool {
	before := byte(0)
	for i := range len(path) {
		c := path[i]
		if c == '/' && before == '/' || c == '.' || c < ' ' || c > '~' {
			return false
		}
		before = c
	}
	return len(path) > 1 && path[0] == '/' && before != '/'
}

// ValidPath tells whether a path is one that ZooKeeper accepts (PathUtils). A sequential node's
// path may end in a slash, as the sequence number completes it.
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
				return false // Beyond 16 bits Java sees surrogates, which it does not accept.
			}
		}
	}
	return true
}

// appendSequence appends a sequence number as Java's "%010d" renders it: negative numbers have nine
// digits.
func appendSequence(path []byte, n int32) []byte {
	var space [11]byte
	digits, width := strconv.AppendInt(space[:0], int64(n), 10), 10
	if n < 0 {
		path, digits, width = append(path, '-'), digits[1:], 9
	}
	for range width - len(digits) {
		path = append(path, '0')
	}
	return append(path, digits...)
}
