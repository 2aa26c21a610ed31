package main

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// An example uses a value of each exported type of package lock.
func TestExamples(t *testing.T) {
	const path = "github.com/interlock-sim/interlock/lock"
	loaded, err := packages.Load(&packages.Config{
		Mode:  packages.NeedName | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
		Tests: true, Dir: filepath.Join("..", "..", "..", "lock"),
	}, ".")
	if err != nil {
		t.Fatal(err)
	}
	used := make(map[string]bool)
	var exported []string
	for _, p := range loaded {
		switch {
		case len(p.Errors) > 0:
			t.Fatal(p.Errors)
		case p.PkgPath == path:
			exported = exportedTypes(p.Types)
		case p.PkgPath == path+"_test":
			for _, file := range p.Syntax {
				noteTypes(file, p.TypesInfo, used)
			}
		}
	}
	if len(exported) < 20 {
		t.Errorf("only %d exported types", len(exported))
	}
	for _, name := range exported {
		if !used[name] {
			t.Errorf("no example uses a value of the type %s", name)
		}
	}
}

func exportedTypes(p *types.Package) (names []string) {
	for _, name := range p.Scope().Names() {
		if _, isType := p.Scope().Lookup(name).(*types.TypeName); isType && ast.IsExported(name) {
			names = append(names, name)
		}
	}
	return names
}

// noteTypes notes the types of package lock that expressions have in a file with examples.
func noteTypes(file *ast.File, info *types.Info, used map[string]bool) {
	if !hasExamples(file) {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		typ := info.TypeOf(e)
		if pointer, ok := typ.(*types.Pointer); ok {
			typ = pointer.Elem()
		}
		named, ok := typ.(*types.Named)
		if ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Name() == "lock" {
			used[named.Obj().Name()] = true
		}
		return true
	})
}

func hasExamples(file *ast.File) bool {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Example") {
			return true
		}
	}
	return false
}
