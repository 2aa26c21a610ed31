package scenarios_test

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/scenarios"
)

// glueLinesMax is the number of lines after the imports, without blank ones, that
// docs/in-the-wild.md promises of each glue file.
const glueLinesMax = 15

// The glue of docs/in-the-wild.md is short, formatted and linked from the page, and all names of
// packages interlock and scenarios that it uses exist.
func TestGlueInTheWild(t *testing.T) {
	page, err := os.ReadFile("../docs/in-the-wild.md")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("../docs/in-the-wild/*_test.go.txt")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d glue files, %v", len(paths), err)
	}
	declared := declarations(t)
	for _, path := range paths {
		name := filepath.Base(path)
		if !strings.Contains(string(page), "(in-the-wild/"+name+")") {
			t.Errorf("%s: the page has no link to it", name)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		formatted, err := format.Source(content)
		if err != nil || string(formatted) != string(content) {
			t.Errorf("%s is not formatted: %v", name, err)
		}
		_, body, ok := strings.Cut(string(content), "\n)\n")
		lines := strings.FieldsFunc(body, func(r rune) bool { return r == '\n' })
		if !ok || len(lines) > glueLinesMax {
			t.Errorf("%s has %d lines after the imports, more than %d", name, len(lines),
				glueLinesMax)
		}
		for _, unknown := range unknownNames(t, content, declared) {
			t.Errorf("%s: there is no %s", name, unknown)
		}
	}
}

// The test above notices names that do not exist.
func TestUnknownNames(t *testing.T) {
	got := unknownNames(t, []byte("package p\nvar _ = interlock.Check(scenarios.Nothing, "+
		"p.Nowhere(), p.Directory, p.Servers())\n"), declarations(t))
	if want := []string{"scenarios.Nothing", "p.Nowhere"}; !reflect.DeepEqual(got, want) {
		t.Errorf("unknown are %v, want %v", got, want)
	}
}

// declarations returns the names that packages interlock and scenarios declare at the top level,
// each behind the name of its package.
func declarations(t *testing.T) map[string]bool {
	t.Helper()
	declared := map[string]bool{}
	for _, path := range slices.Concat(sources(t, "*.go"), sources(t, "../*.go")) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for name := range file.Scope.Objects {
			declared[file.Name.Name+"."+name] = true
		}
	}
	return declared
}

func sources(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// unknownNames returns the selectors of interlock, of scenarios and of a *Process named p that do
// not exist.
func unknownNames(t *testing.T, content []byte, declared map[string]bool) (unknown []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", content, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	process := reflect.TypeFor[*scenarios.Process]()
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := selector.X.(*ast.Ident)
		if !ok {
			return true
		}
		name := selector.Sel.Name
		_, method := process.MethodByName(name)
		_, field := process.Elem().FieldByName(name)
		ofPackage := of.Name == "scenarios" || of.Name == "interlock"
		if ofPackage && !declared[of.Name+"."+name] ||
			of.Name == "p" && !method && !field {
			unknown = append(unknown, of.Name+"."+name)
		}
		return true
	})
	return unknown
}
