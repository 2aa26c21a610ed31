// Command platforms type-checks all packages, with their tests, for the other platforms on which
// Interlock runs. It reads the sources of what they import too: nothing is built for them.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/tools/go/packages"
)

// others are the platforms on which CI does not run; it runs on linux/amd64.
var others = []string{"darwin/arm64", "linux/arm64", "windows/amd64"}

func main() {
	debug.SetGCPercent(300) // A third of the time goes into the collection of syntax trees.
	failed := false
	for _, platform := range others {
		found, err := check(platform, ".", "work")
		if err != nil {
			fmt.Fprintf(os.Stderr, "platforms: %s: %v\n", platform, err)
			os.Exit(1)
		}
		for _, e := range found {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, e)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check returns the errors on a platform in the packages of a pattern, as seen from the directory.
func check(platform, directory, pattern string) (found []packages.Error, err error) {
	system, architecture, _ := strings.Cut(platform, "/")
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
			packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes,
		Dir: directory, Tests: true,
		Env: append(os.Environ(), "GOOS="+system, "GOARCH="+architecture, "CGO_ENABLED=0"),
		ParseFile: func(set *token.FileSet, name string, content []byte) (*ast.File, error) {
			return parser.ParseFile(set, name, content, parser.SkipObjectResolution)
		},
	}, pattern)
	if err != nil {
		return nil, err
	}
	if len(loaded) == 0 {
		return nil, fmt.Errorf("no package matches %s", pattern)
	}
	for _, p := range loaded {
		found = append(found, p.Errors...)
	}
	return found, nil
}
