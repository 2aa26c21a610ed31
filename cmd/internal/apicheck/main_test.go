package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"
)

const released = `package lock
import "context"
type Mutex struct{}
func (*Mutex) Lock(ctx context.Context) error { return nil }
type Observer interface { Observe() }
var ErrLost error`

func TestUndocumented(t *testing.T) {
	for name, tc := range map[string]struct {
		now, changelog string
		want           []string
	}{
		"same":  {now: released},
		"added": {now: released + "\nfunc New() *Mutex { return nil }"},
		"removed and changed": {
			now: `package lock
type Mutex struct{}
func (*Mutex) Lock() error { return nil }
type Observer interface { Observe(); Close() }`,
			changelog: "# Changelog\n\n## [Unreleased]\n\n- Removed `lock.ErrLost`.\n\n" +
				"## [0.1.0]\n\n- `lock.Mutex.Lock` has a new parameter.\n",
			want: []string{
				"  `lock.Mutex.Lock`: (*Mutex).Lock: changed from func(context.Context) error " +
					"to func() error",
				"  `lock.Observer.Close`: Observer.Close: added",
			},
		},
	} {
		got := undocumented(checked(t, released), checked(t, tc.now), unreleased(tc.changelog))
		if slices.Sort(got); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// The number of kinds may change, but not go. Other values may not change.
func TestCounts(t *testing.T) {
	const before = "package history\nconst Kinds = 5\nconst Enter = 1"
	for now, want := range map[string][]string{
		"const Kinds = 6\nconst Enter = 1": nil,
		"const Kinds = 5\nconst Enter = 2": {
			"  `history.Enter`: Enter: value changed from 1 to 2",
		},
		"const Enter = 1": {"  `history.Kinds`: Kinds: removed"},
	} {
		got := undocumented(checked(t, before), checked(t, "package history\n"+now), "")
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", now, got, want)
		}
	}
}

func checked(t *testing.T, source string) *types.Package {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "api.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: importer.Default()}
	api, err := config.Check(module+file.Name.Name, fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return api
}
