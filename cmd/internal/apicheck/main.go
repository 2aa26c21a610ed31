// Command apicheck compares the exported API of the packages that users import with that of the
// last release. It fails if a change is incompatible and CHANGELOG.md does not name it.
//
//	go run ./cmd/internal/apicheck          compare
//	go run ./cmd/internal/apicheck -write   make the API of now the one of the last release
//
// The API of the last release is in cmd/internal/apicheck/baseline, as export data of the Go
// tools.
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"

	"github.com/interlock-sim/interlock/internal/base/file"
)

const (
	module   = "github.com/interlock-sim/interlock/"
	baseline = "cmd/internal/apicheck/baseline"
)

// stable are the packages whose API is kept; see docs/releases.md.
var stable = []string{
	"", "faults", "history", "lock", "lock/lockotel", "lock/record", "scenarios", "simzk/client",
	"simzk/zktest",
}

// counts are constants that count others, and grow with each that is added.
var counts = []string{"faults.Any", "faults.Kinds", "history.Kinds"}

func main() {
	write := flag.Bool("write", false, "write the baseline instead of comparing with it")
	flag.Parse()
	if err := run(*write); err != nil {
		fmt.Fprintln(os.Stderr, "apicheck:", err)
		os.Exit(1)
	}
}

func run(write bool) error {
	apis, err := load()
	if err != nil {
		return err
	}
	if write {
		return writeBaseline(apis)
	}
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	var breaks []string
	for _, api := range apis {
		before, err := readBaseline(api.Path())
		if err != nil {
			return err
		}
		breaks = append(breaks, undocumented(before, api, unreleased(string(changelog)))...)
	}
	if len(breaks) > 0 {
		return fmt.Errorf("incompatible with the last release, and CHANGELOG.md does not name it "+
			"under Unreleased:\n%s\nKeep it (docs/releases.md says how to deprecate), or name it "+
			"there", strings.Join(breaks, "\n"))
	}
	return nil
}

// load returns the stable packages as they are now.
func load() ([]*types.Package, error) {
	patterns := make([]string, len(stable))
	for i, name := range stable {
		patterns[i] = "./" + name
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes},
		patterns...)
	if err != nil {
		return nil, err
	}
	var apis []*types.Package
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		apis = append(apis, p.Types)
	}
	return apis, nil
}

// baselineOf returns the file with the baseline of a package.
func baselineOf(importPath string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(importPath+"/", module), "/")
	name = cmp.Or(strings.ReplaceAll(name, "/", "."), "interlock") // the root of the module
	return filepath.Join(baseline, name+".export")
}

// writeBaseline writes the baseline of each package. It has no positions, because they would name
// files of this machine.
func writeBaseline(apis []*types.Package) error {
	for _, api := range apis {
		var encoded bytes.Buffer
		if err := gcexportdata.Write(&encoded, token.NewFileSet(), api); err != nil {
			return fmt.Errorf("%s: %w", api.Path(), err)
		}
		if err := file.WriteContent(baselineOf(api.Path()), encoded.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func readBaseline(importPath string) (*types.Package, error) {
	content, err := os.Open(baselineOf(importPath))
	if err != nil {
		return nil, err
	}
	defer content.Close()
	api, err := gcexportdata.Read(content, token.NewFileSet(), make(map[string]*types.Package),
		importPath)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", content.Name(), err)
	}
	return api, nil
}

// undocumented returns the incompatible changes of a package that the text does not name as
// `lock.Mutex.Lock`.
func undocumented(before, now *types.Package, changelog string) (breaks []string) {
	for _, change := range apidiff.Changes(before, now).Changes {
		object, _, _ := strings.Cut(change.Message, ":")
		object = strings.NewReplacer("(*", "", "(", "", ")", "").Replace(object)
		name := path.Base(now.Path()) + "." + object
		if !change.Compatible && !strings.Contains(changelog, "`"+name+"`") &&
			!(slices.Contains(counts, name) && strings.Contains(change.Message, "value changed")) {
			breaks = append(breaks, fmt.Sprintf("  `%s`: %s", name, change.Message))
		}
	}
	return breaks
}

// unreleased returns the section of the changelog on what was not released.
func unreleased(changelog string) string {
	_, section, _ := strings.Cut(changelog, "\n## [Unreleased]")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}
