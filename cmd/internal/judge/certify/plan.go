// Package certify runs a declared plan of searches and recordings, and reports what was shown of
// each lock and the reasons against its release.
package certify

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/cmd/internal/yamlfile"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/base/unknown"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
)

// A Plan declares what to certify.
type Plan struct {
	Seed  uint64  `yaml:"seed"`
	Locks []Group `yaml:"locks"`
	Tests []Tests `yaml:"tests"`
	// MustFail and MustPass are patterns of recordings, relative to the plan's directory. A
	// recording of MustFail must still show its violation, one of MustPass must show none.
	MustFail []string `yaml:"must_fail"`
	MustPass []string `yaml:"must_pass"`

	file *yamlfile.File
}

// A Group is a set of locks that are searched in the same way. A search needs Faults, and a sampled
// one Schedules; only a sampled one may have Coverage, as --require-coverage of check.
type Group struct {
	Names      []string            `yaml:"names"`
	Sampled    []reportcard.Search `yaml:"sampled"`
	Exhaustive []reportcard.Search `yaml:"exhaustive"`
	// Unexercised lists claimed properties that the searches need not exercise.
	Unexercised []history.Property `yaml:"unexercised"`
}

// Read reads a plan. The error names the file and the line.
func Read(path string) (*Plan, error) {
	p := new(Plan)
	var err error
	if p.file, err = yamlfile.Read(path, p, "locks or tests"); err != nil {
		return nil, err
	}
	return p, p.validate()
}

// Where returns the path of the plan and the line that names the lock or the package of a test, or
// line 1 if none does.
func (p *Plan) Where(lock string) (path string, line int) {
	for i := range p.Tests {
		if name, _, _ := strings.Cut(lock, " "); p.Tests[i].Package == name {
			return p.file.Path, p.file.Line("tests", i, "package")
		}
	}
	for i := range p.Locks {
		if n := slices.Index(p.Locks[i].Names, lock); n >= 0 {
			return p.file.Path, p.file.Line("locks", i, "names", n)
		}
	}
	return p.file.Path, 1
}

// validate returns the first error of the plan, or nil.
func (p *Plan) validate() error {
	if len(p.Locks) == 0 && len(p.Tests) == 0 {
		return p.file.At(errors.New("the plan needs locks or tests"))
	}
	for i := range p.Tests {
		if err := p.Tests[i].validate(); err != nil {
			return p.file.At(err, "tests", i)
		}
	}
	seen := make(map[string]bool)
	for i := range p.Locks {
		g := &p.Locks[i]
		if len(g.Names) == 0 || len(g.Sampled)+len(g.Exhaustive) == 0 {
			return p.file.At(errors.New("locks need names, and sampled or exhaustive searches"),
				"locks", i)
		}
		for n, property := range g.Unexercised {
			if !slices.Contains(check.Claimable(), property) {
				return p.file.At(unknown.Name("property", string(property), check.Claimable()),
					"locks", i, "unexercised", n)
			}
		}
		for n, name := range g.Names {
			if seen[name] {
				return p.file.At(fmt.Errorf("the lock %s is named twice", name),
					"locks", i, "names", n)
			}
			seen[name] = true
			if err := p.validateLock(g, i, n); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{mustFailKey, mustPassKey} {
		if _, err := p.recordings(key); err != nil {
			return err
		}
	}
	return nil
}

// validateLock returns the first error of the searches of a lock, or nil.
func (p *Plan) validateLock(g *Group, group, name int) error {
	row, err := g.row(name)
	if err != nil {
		return p.file.At(err, "locks", group, "names", name)
	}
	for i := range row.Searches {
		key, index, search := g.search(i)
		scenario, err := row.Scenario(&row.Searches[i])
		if err != nil {
			return p.file.At(fmt.Errorf("%s: %w", g.Names[name], err), "locks", group, key, index)
		}
		switch {
		case search.Faults == "":
			err = errors.New(`the search needs faults, such as any=2 or none`)
		case key == "sampled" && search.Schedules < 1, search.Schedules < 0:
			err = fmt.Errorf("schedules must be at least 1, not %d", search.Schedules)
		case key == "exhaustive" && search.Coverage != "":
			err = errors.New("coverage is for sampled searches")
		case key == "exhaustive" && exhaustive.Unsupported(scenario) != nil:
			err = exhaustive.Unsupported(scenario)
		case search.Coverage != "":
			_, err = faults.ParseCoverageCells(search.Coverage, scenario.FaultKinds())
		}
		if err != nil {
			return p.file.At(err, "locks", group, key, index)
		}
	}
	return nil
}

// search returns the search with an index in the row of a lock, and where it is in the plan.
func (g *Group) search(i int) (key string, index int, search *reportcard.Search) {
	if i < len(g.Sampled) {
		return "sampled", i, &g.Sampled[i]
	}
	return "exhaustive", i - len(g.Sampled), &g.Exhaustive[i-len(g.Sampled)]
}

// row returns the searches of a lock of the group.
func (g *Group) row(name int) (*reportcard.Row, error) {
	subject, err := bundled.Named(g.Names[name])
	if err != nil {
		return nil, err
	}
	row := &reportcard.Row{Group: "Locks of the plan", Subject: subject}
	for i := range len(g.Sampled) + len(g.Exhaustive) {
		key, _, planned := g.search(i)
		s := *planned
		s.Exhaustive = key == "exhaustive"
		row.Searches = append(row.Searches, s)
	}
	return row, nil
}

// The keys of the plan that list recordings.
const (
	mustFailKey = "must_fail"
	mustPassKey = "must_pass"
)

// recordings returns the files that the patterns of a key match, relative to the plan's directory
// and with slashes.
func (p *Plan) recordings(key string) (names []string, err error) {
	patterns := map[string][]string{mustFailKey: p.MustFail, mustPassKey: p.MustPass}[key]
	directory := filepath.Dir(p.file.Path)
	for i, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(directory, pattern))
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("no recording matches %s", pattern)
		}
		if err != nil {
			return nil, p.file.At(err, key, i)
		}
		for _, path := range found {
			name, err := filepath.Rel(directory, path)
			if err != nil {
				return nil, p.file.At(err, key, i)
			}
			names = append(names, filepath.ToSlash(name))
		}
	}
	return names, nil
}

// File returns the path of a recording of the plan, which a certificate names relative to the
// plan's directory.
func (p *Plan) File(recording string) string {
	return filepath.Join(filepath.Dir(p.file.Path), filepath.FromSlash(recording))
}
