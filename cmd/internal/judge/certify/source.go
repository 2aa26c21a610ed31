package certify

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Source is the source of a module whose tests were run.
type Source struct {
	Module  string `json:"module"`
	Version string `json:"version,omitempty"` // of a dependency
	Commit  string `json:"commit,omitempty"`  // empty if the source is in no Git repository
	Date    string `json:"date,omitempty"`    // of the commit, as in RFC 3339
	// Modified reports whether a Go file, go.mod or go.sum differs from the commit.
	Modified bool `json:"modified,omitempty"`
}

// String describes the source in a line.
func (s *Source) String() string {
	text := strings.TrimSpace("module " + s.Module + " " + s.Version)
	if s.Commit == "" {
		return text + ", in no Git repository"
	}
	text += ", commit " + s.Commit + " of " + s.Date
	if s.Modified {
		text += ", modified since"
	}
	return text
}

// sources returns the modules of the tests, before a test writes a file. A package that cannot be
// listed is left to its tests, which say why.
func (p *Plan) sources(ctx context.Context) ([]Source, error) {
	all, seen := []Source{}, map[string]bool{}
	for i := range p.Tests {
		directory, pattern := p.Tests[i].directory(p)
		listed := exec.CommandContext(ctx, "go", "list", "-json=Module", pattern)
		listed.Dir = directory
		output, err := listed.Output()
		if err != nil {
			continue
		}
		decoder := json.NewDecoder(strings.NewReader(string(output)))
		for decoder.More() {
			var of struct {
				Module *struct{ Path, Version, Dir string }
			}
			if err := decoder.Decode(&of); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Tests[i].Package, err)
			}
			if m := of.Module; m != nil && !seen[m.Dir] {
				seen[m.Dir] = true
				all = append(all, sourceIn(ctx, m.Dir, Source{Module: m.Path, Version: m.Version}))
			}
		}
	}
	slices.SortFunc(all, func(a, b Source) int { return strings.Compare(a.Module, b.Module) })
	return all, nil
}

// sourceIn adds what Git knows of the directory of a module.
func sourceIn(ctx context.Context, directory string, s Source) Source {
	git := func(arguments ...string) (string, bool) {
		command := exec.CommandContext(ctx, "git", arguments...)
		command.Dir = filepath.Clean(directory)
		output, err := command.Output()
		return strings.TrimSpace(string(output)), err == nil
	}
	if _, tracked := git("ls-files", "--error-unmatch", "go.mod"); !tracked {
		return s
	}
	described, known := git("log", "-1", "--format=%H %cI")
	if !known {
		return s
	}
	s.Commit, s.Date, _ = strings.Cut(described, " ")
	changes, _ := git("status", "--porcelain", "--", "*.go", "go.mod", "go.sum")
	s.Modified = changes != ""
	return s
}
