package contributing_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sizeBudgets bound the source files of all modules.
type sizeBudgets struct {
	function, file int            // lines
	files          map[string]int // of those that have more
}

// Files and functions are short, and no declaration hides an import of its file, except in tests.
func TestSizes(t *testing.T) {
	var complaints []string
	known := make(map[string]bool)
	for _, name := range sourceFiles(t) {
		one := measure(t, filepath.Join(module, name), nil)
		known[name] = true
		complaints = append(complaints, one.exceeds(name, &budgets.sizes)...)
	}
	for name := range budgets.sizes.files {
		if !known[name] {
			complaints = append(complaints, name+" has a budget and does not exist")
		}
	}
	slices.Sort(complaints)
	for _, complaint := range complaints {
		t.Error(complaint)
	}
	if t.Failed() {
		t.Log(overBudget)
	}
}

// A long file, a long function and a variable that hides an import are found.
func TestSizesExceeded(t *testing.T) {
	source := "package p\n\nimport \"path\"\n\nfunc f(path string) {\n\tvar _ = path\n\n}\n" +
		"var _ = path.Base\n"
	one := measure(t, "p.go", source)
	got := one.exceeds("p.go", &sizeBudgets{function: 3, file: 8})
	if want := []string{
		"p.go has 9 lines, more than 8", "path in p.go hides an import",
		"f in p.go has 4 lines, more than 3",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	one = measure(t, "p_test.go", source)
	got = one.exceeds("p_test.go", &sizeBudgets{files: map[string]int{"p_test.go": 9}})
	if len(got) > 0 {
		t.Errorf("%q within the budget", got)
	}
}

// sourceFiles returns the Go files of all modules, with paths relative to the root.
func sourceFiles(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(module, func(name string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && (entry.Name() == "testdata" ||
			entry.Name() == "node_modules" || len(entry.Name()) > 2 && entry.Name()[0] == '.') {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".go") {
			relative, _ := filepath.Rel(module, name)
			names = append(names, filepath.ToSlash(relative))
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	return names
}

// A measured file has the lines of a file and of its functions.
type measured struct {
	lines     int
	functions map[string]int
	shadows   []string // names that hide an import
}

// measure parses a file: the source, or if that is nil, what the file has.
func measure(t *testing.T, name string, source any) *measured {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	imports := make(map[string]bool)
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = true
	}
	one := &measured{lines: set.File(file.FileStart).LineCount(), functions: make(map[string]int)}
	hides := func(id *ast.Ident) {
		if imports[id.Name] && id.Name != "_" {
			one.shadows = append(one.shadows, id.Name)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			one.functions[n.Name.Name] = set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1
			if n.Recv != nil {
				hidesIn(n.Recv, hides)
			}
		case *ast.FuncType:
			hidesIn(n.Params, hides)
			hidesIn(n.Results, hides)
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if id, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					hides(id)
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					hides(id)
				}
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				hides(id)
			}
		}
		return true
	})
	return one
}

func hidesIn(fields *ast.FieldList, hides func(*ast.Ident)) {
	if fields == nil {
		return
	}
	for _, field := range fields.List {
		for _, id := range field.Names {
			hides(id)
		}
	}
}

// exceeds names what is longer than the budgets allow and, except in tests, what hides an import.
func (m *measured) exceeds(name string, b *sizeBudgets) (complaints []string) {
	if most := cmp.Or(b.files[name], b.file); m.lines > most {
		complaints = append(complaints, fmt.Sprintf("%s has %d lines, more than %d", name, m.lines,
			most))
	}
	if strings.HasSuffix(name, "_test.go") {
		return complaints
	}
	for _, hidden := range m.shadows {
		complaints = append(complaints, fmt.Sprintf("%s in %s hides an import", hidden, name))
	}
	for function, lines := range m.functions {
		if lines > b.function {
			complaints = append(complaints, fmt.Sprintf("%s in %s has %d lines, more than %d",
				function, name, lines, b.function))
		}
	}
	return complaints
}
