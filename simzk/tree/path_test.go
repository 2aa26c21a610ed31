package tree_test

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

func TestParentAndName(t *testing.T) {
	tests := []struct{ path, parent, name string }{
		{"/", "/", ""},
		{"/a", "/", "a"},
		{"/a/b", "/a", "b"},
		{"/a/b-0000000001", "/a", "b-0000000001"},
	}
	for _, test := range tests {
		if parent, name := tree.Parent(test.path), tree.Name(test.path); parent != test.parent ||
			name != test.name {
			t.Errorf("%s is %q in %q, want %q in %q", test.path, name, parent, test.name,
				test.parent)
		}
	}
}

// TestOrdinary checks that every ordinary path stays valid with a suffix that disables the fast
// path, such as /.é. A valid path that contains no special characters must be ordinary.
func TestOrdinary(t *testing.T) {
	paths := []string{""}
	for range 6 {
		for _, path := range paths {
			ordinary := tree.Ordinary(path)
			if ordinary && !tree.ValidPath(path+"/.é", false) {
				t.Errorf("%q is ordinary", path)
			}
			if !strings.ContainsAny(path, ".\x1f\x7f") && path != "/" &&
				tree.ValidPath(path, false) != ordinary {
				t.Errorf("%q is ordinary: %v", path, ordinary)
			}
		}
		var longer []string
		for _, path := range paths {
			for _, c := range "/a.\x1f\x7f" {
				longer = append(longer, path+string(c))
			}
		}
		paths = longer
	}
}

func TestValidPath(t *testing.T) {
	tests := []struct {
		path              string
		valid, sequential bool // valid as a path, and as the path of a sequential node
	}{
		{"/", true, true},
		{"/a", true, true},
		{"/a/b", true, true},
		{"/...", true, true},
		{"/.a", true, true},
		{"/a.", true, true},
		{"/ ", true, true},
		{"/é\ud7ff\uf900", true, true},
		{"/a/", false, true},
		{"", false, false},
		{"a", false, false},
		{"a/b", false, false},
		{"//", false, false},
		{"/a//b", false, false},
		{"/.", false, false},
		{"/..", false, false},
		{"/a/./b", false, false},
		{"/a/../b", false, false},
		{"/a\x00", false, false},
		{"/a\x1f", false, false},
		{"/a\x7f", false, false},
		{"/a\u009f", false, false},
		{"/a\ue000", false, false},
		{"/a\uf8ff", false, false},
		{"/a\ufff0", false, false},
		{"/a\U00010000", false, false},
		{"/a\xff", false, false},
	}
	for _, test := range tests {
		if got := tree.ValidPath(test.path, false); got != test.valid {
			t.Errorf("ValidPath(%q, false) = %v", test.path, got)
		}
		if got := tree.ValidPath(test.path, true); got != test.sequential {
			t.Errorf("ValidPath(%q, true) = %v", test.path, got)
		}
	}
}

func TestCreatePaths(t *testing.T) {
	tests := []struct {
		path       string
		sequential bool
		want       wire.Code
	}{
		{path: "/a"},
		{path: "/..."},
		{path: "/é"},
		{path: "/parent/b"},
		{path: "/", sequential: true},
		{path: "/parent/", sequential: true},
		{path: "/parent/..", sequential: true}, // The sequence number turns the dots into a name.
		{path: "", want: wire.BadArguments},
		{path: "a", want: wire.BadArguments},
		{path: "a", sequential: true, want: wire.BadArguments},
		{path: "//", want: wire.BadArguments},
		{path: "//", sequential: true, want: wire.BadArguments},
		{path: "/parent/", want: wire.BadArguments},
		{path: "/.", want: wire.BadArguments},
		{path: "/parent/..", want: wire.BadArguments},
		{path: "/a\x00", want: wire.BadArguments},
		{path: "/a\x1f", want: wire.BadArguments},
		{path: "/a\xff", want: wire.BadArguments},
		{path: "/", want: wire.NodeExists},
		{path: "/parent", want: wire.NodeExists},
		// The parent is checked before the rest of the path.
		{path: "/missing/b", want: wire.NoNode},
		{path: "/missing/../b", want: wire.NoNode},
		{path: "a/b", want: wire.NoNode},
	}
	for _, test := range tests {
		tr := newTree(t, tree.Rules{}, create("/parent"))
		w := create(test.path)
		w.Zxid = 2
		if test.sequential {
			w.Flags = wire.PersistentSequential
		}
		if got := tr.Apply(&w).Code; got != test.want {
			t.Errorf("create %q, sequential %v: %d, want %d", test.path, test.sequential, got,
				test.want)
		}
	}
}
