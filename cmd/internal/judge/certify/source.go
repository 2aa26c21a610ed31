package certify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Source is the source of a module whose tests were run.
type Source struct {
	Module  string `json:"module"`
	Version string `json:"version,omitempty"` // of a dependency
	// Commit is empty if the source is in no Git repository, or if it is Unknown whether it is.
	Commit  string `json:"commit,omitempty"`
	Unknown bool   `json:"commit_unknown,omitempty"`
	Date    string `json:"date,omitempty"` // of the commit, as in RFC 3339
	// Modified reports whether a Go file, go.mod or go.sum differs from the commit.
	Modified bool `json:"modified,omitempty"`
}

// String describes the source in a line.
func (s *Source) String() string {
	text := strings.TrimSpace("module " + s.Module + " " + s.Version)
	switch {
	case s.Unknown:
		return text + ", commit unknown"
	case s.Commit == "":
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
			m := of.Module
			if m == nil || seen[m.Path+"@"+m.Version] {
				continue
			}
			seen[m.Path+"@"+m.Version] = true
			one := Source{Module: m.Path, Version: m.Version, Unknown: true}
			if m.Dir != "" { // A vendored module has none of its own.
				one = sourceIn(ctx, m.Dir, one)
			}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Source) int { return strings.Compare(a.Module, b.Module) })
	return all, nil
}

// sourceIn adds what Git knows of the directory of a module.
func sourceIn(ctx context.Context, directory string, s Source) Source {
	git := func(arguments ...string) (string, error) {
		command := exec.CommandContext(ctx, "git", arguments...)
		command.Dir, command.Env = filepath.Clean(directory), append(os.Environ(), "LC_ALL=C")
		output, err := command.Output()
		return strings.TrimSpace(string(output)), err
	}
	if _, err := git("ls-files", "--error-unmatch", "go.mod"); err != nil {
		s.Unknown = !untracked(err)
		return s
	}
	described, err := git("log", "-1", "--format=%H %cI")
	if err != nil {
		return s
	}
	changes, err := git("status", "--porcelain", "--", "*.go", "go.mod", "go.sum")
	if err != nil {
		return s
	}
	s.Commit, s.Date, _ = strings.Cut(described, " ")
	s.Modified, s.Unknown = changes != "", false
	return s
}

// untracked reports whether Git says that a file is in no repository.
func untracked(err error) bool {
	var failed *exec.ExitError
	return errors.As(err, &failed) && (failed.ExitCode() == 1 ||
		strings.Contains(string(failed.Stderr), "not a git repository"))
}
