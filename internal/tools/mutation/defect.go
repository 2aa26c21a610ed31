package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A defect is an entry of a file of defects.
type defect struct {
	at    string // its place: the file of defects, and the line
	suite suite
	kind  string // "test", "check" or "control": what must find the defect
	name  string // the name of the test, or the arguments of interlock check
	hangs bool   // the time limit counts as a failure
	quick bool   // a quick search must find it
	edits []edit
}

// String returns the place of the defect and what must find it. PATTERN is matched against it.
func (d defect) String() string { return fmt.Sprintf("%s: %s %s", d.at, d.kind, d.name) }

// A suite is a package whose tests must find defects.
type suite struct {
	directory string
	complete  string // a test whose subtests all have an entry, or empty
}

// An edit replaces consecutive lines of a file.
type edit struct {
	at       string // its place in the file of defects
	file     string
	old, new string
}

// read reads a file of defects.
func read(file string) ([]defect, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parse(file, string(content))
}

// parse parses the text of a file of defects.
func parse(file, content string) ([]defect, error) {
	var defects []defect
	var current suite
	var last *edit
	number := 0
	for line := range strings.Lines(content) {
		number++
		at := fmt.Sprintf("%s:%d", file, number)
		line = strings.TrimSuffix(line, "\n")
		keyword, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || line[0] == '#':
			last = nil
		case keyword == "package":
			last = nil
			current.directory, current.complete, _ = strings.Cut(rest, " ")
		case current.directory == "":
			return nil, fmt.Errorf("%s: %q precedes the first package", at, line)
		case keyword == "test" || keyword == "check" || keyword == "control":
			last = nil
			defects = append(defects, defect{at: at, suite: current, kind: keyword, name: rest})
		case len(defects) == 0:
			return nil, fmt.Errorf("%s: %q precedes the first defect", at, line)
		case line == "hangs":
			defects[len(defects)-1].hangs = true
		case line == "quick":
			defects[len(defects)-1].quick = true
		case keyword == "in":
			d := &defects[len(defects)-1]
			d.edits = append(d.edits, edit{at: at, file: rest})
			last = &d.edits[len(d.edits)-1]
		case last != nil && line[0] == '-':
			last.old += line[1:] + "\n"
		case last != nil && line[0] == '+':
			last.new += line[1:] + "\n"
		case last != nil && line[0] == ' ':
			last.old += line[1:] + "\n"
			last.new += line[1:] + "\n"
		default:
			return nil, fmt.Errorf("%s: %q is neither a keyword nor part of an edit", at, line)
		}
	}
	for _, d := range defects {
		if (d.kind == "control") != (len(d.edits) == 0) {
			return nil, fmt.Errorf("%s: a control must have no edits, and every other entry "+
				"at least one", d.at)
		}
	}
	return defects, nil
}

// build creates the directory, compiles a program with the defect into it and returns the program's
// path.
func (d defect) build(directory string, arguments ...string) (program string, err error) {
	if err := os.Mkdir(directory, 0o755); err != nil {
		return "", err
	}
	overlay, err := d.overlay(directory)
	if err != nil {
		return "", err
	}
	program = filepath.Join(directory, "program")
	// The package is the last argument.
	arguments = slices.Insert(arguments, len(arguments)-1, "-overlay", overlay, "-ldflags=-s -w",
		"-o", program)
	if output, err := command("go", arguments...); err != nil {
		return "", fmt.Errorf("%s: the defect does not compile: %v\n%s", d.at, err, output)
	}
	return program, nil
}

// overlay writes the edited files and the JSON overlay of go build -overlay that substitutes them,
// and returns the overlay's path.
func (d defect) overlay(directory string) (string, error) {
	replaced := make(map[string]string)
	texts := make(map[string]string)
	for _, e := range d.edits {
		if _, ok := texts[e.file]; !ok {
			content, err := os.ReadFile(e.file)
			if err != nil {
				return "", fmt.Errorf("%s: %w", e.at, err)
			}
			texts[e.file] = "\n" + string(content)
		}
		if n := strings.Count(texts[e.file], "\n"+e.old); n != 1 || e.old == "" {
			return "", fmt.Errorf("%s: the old lines occur %d times in %s, want once", e.at, n,
				e.file)
		}
		texts[e.file] = strings.Replace(texts[e.file], "\n"+e.old, "\n"+e.new, 1)
	}
	for file, text := range texts {
		original, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		replaced[original] = filepath.Join(directory, filepath.Base(file))
		if err := os.WriteFile(replaced[original], []byte(text[1:]), 0o644); err != nil {
			return "", err
		}
	}
	content, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	path := filepath.Join(directory, "overlay.json")
	return path, os.WriteFile(path, content, 0o644)
}
