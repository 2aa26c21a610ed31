// Command platforms type-checks all packages with their tests for the other platforms that Interlock
// supports. It reads the sources of the packages below them too, and so builds nothing.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

var platforms = []string{"darwin/arm64", "linux/arm64", "windows/amd64"}

func main() {
	failed := false
	for _, platform := range platforms {
		errors, err := check(platform, "work")
		if err != nil {
			fmt.Fprintf(os.Stderr, "platforms: %s: %v\n", platform, err)
			os.Exit(1)
		}
		for _, e := range errors {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, e)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check returns the errors of the packages of a pattern on a platform.
func check(platform, pattern string) (errors []packages.Error, err error) {
	system, architecture, _ := strings.Cut(platform, "/")
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
			packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes,
		Env:   append(os.Environ(), "GOOS="+system, "GOARCH="+architecture, "CGO_ENABLED=0"),
		Tests: true,
		ParseFile: func(fset *token.FileSet, name string, content []byte) (*ast.File, error) {
			return parser.ParseFile(fset, name, content, parser.SkipObjectResolution)
		},
	}, pattern)
	if err != nil {
		return nil, err
	}
	for _, p := range loaded {
		errors = append(errors, p.Errors...)
	}
	return errors, nil
}
