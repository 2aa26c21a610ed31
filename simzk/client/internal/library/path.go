package library

import "github.com/interlock-sim/interlock/simzk/tree"

// ValidPath reports whether go-zookeeper/zk sends a path to the server (validatePath). The client
// is less strict than the server: it accepts characters beyond 16 bits, and a dot as the first of
// several names.
func ValidPath(path string, sequential bool) bool {
	switch {
	case tree.Ordinary(path):
		return true
	case path == "" || path[0] != '/':
		return false
	case path == "/":
		return true
	case !sequential && path[len(path)-1] == '/':
		return false
	}
	for i, r := range path[1:] {
		before := path[:i+1]
		switch {
		case r == '/' && before[i] == '/', r == '.' && completesDotName(before, path[i+2:]),
			forbiddenRune(r):
			return false
		}
	}
	return true
}

// completesDotName reports whether a dot between two parts of a path completes a name that is "."
// or "..". If the dot is the first character after the root, the client misses the slash that
// follows.
func completesDotName(before, after string) bool {
	last := len(before) - 1
	if before[last] == '.' {
		last--
	}
	return before[last] == '/' && (after == "" || after[0] == '/' && len(before) > 1)
}

func forbiddenRune(r rune) bool {
	return r <= 0x1f || 0x7f <= r && r <= 0x9f || 0xf000 <= r && r <= 0xf8ff || 0xfff0 <= r &&
		r < 0xffff
}
