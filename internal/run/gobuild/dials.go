package gobuild

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// replaceDials adds to the overlay copies of the module's files that call net.Dial or
// net.DialTimeout, in which these calls lead to the simulated servers. Some programs find out in
// this way whether a server is there, before they open a client.
func (b *Build) replaceDials(ctx context.Context) error {
	arguments := slices.Concat([]string{"list", "-e", "-deps"}, b.tagFlags(), []string{
		"-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", b.pattern,
	})
	listed, err := b.goOutput(ctx, arguments...)
	if err != nil || b.module == modulePath {
		return err
	}
	for directory := range strings.SplitSeq(listed, "\n") {
		if directory == "" { // of a package outside the module
			continue
		}
		entries, err := os.ReadDir(directory)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if err := b.replaceDialsIn(filepath.Join(directory, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// replaceDialsIn adds a copy of a file to the overlay if it calls net.Dial or net.DialTimeout. A
// file that cannot be parsed is left to the compiler.
func (b *Build) replaceDialsIn(path string) error {
	if filepath.Ext(path) != ".go" || b.overlay[path] != "" {
		return nil
	}
	content, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(content, []byte(".Dial")) {
		return err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, content, parser.SkipObjectResolution)
	name := importName(parsed, "net")
	if err != nil || name == "" {
		return nil
	}
	var edits []edit
	ast.Inspect(parsed, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if ok && (isSelector(selector, name, "Dial") || isSelector(selector, name, "DialTimeout")) {
			edits = append(edits, edit{
				files.Position(selector.Pos()).Offset, files.Position(selector.End()).Offset,
				dialName + ".Net" + selector.Sel.Name,
			})
		}
		return true
	})
	if len(edits) == 0 {
		return nil
	}
	edits = append(edits, importDial(files, parsed))
	content = append(apply(content, edits), "\nvar _ = "+name+".Dial\n"...)
	copied := b.file(fmt.Sprintf("%d-%s", len(b.overlay), filepath.Base(path)))
	b.overlay[path] = copied
	return os.WriteFile(copied, content, 0o644)
}

// importName returns the name under which a file imports a package of the standard library, or "".
func importName(f *ast.File, path string) string {
	if f == nil {
		return ""
	}
	for _, spec := range f.Imports {
		switch {
		case spec.Path.Value != `"`+path+`"`:
		case spec.Name == nil:
			return path
		case spec.Name.Name != "_" && spec.Name.Name != ".":
			return spec.Name.Name
		}
	}
	return ""
}

// importDial returns the edit that imports [dialPackage], on the line of the package clause.
func importDial(files *token.FileSet, f *ast.File) edit {
	at := files.Position(f.Name.End()).Offset
	return edit{at, at, "; import " + dialName + ` "` + dialPackage + `"`}
}

// apply returns a file with the edits, which do not overlap.
func apply(content []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return b.from - a.from })
	for _, e := range edits {
		content = slices.Concat(content[:e.from], []byte(e.text), content[e.to:])
	}
	return content
}
