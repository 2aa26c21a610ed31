// Command lockmutation inserts known defects into package lock, or into the part of simzk on which
// the lock's timing depends, one at a time. It verifies that the test of each defect fails with it
// and passes without it. It also drives interlock check: with -search, interlock check looks for
// the published defects, given nothing but the names of the locks, and lockmutation counts those
// that it finds. The schedule that it prints has the number that interlock check prints, which
// counts from 0.
//
// The defects are in internal/tools/lockmutation/defects.txt, which describes its own format. The
// command changes no source file: it passes the edited text to the compiler as an overlay. Run it
// in the root of the module:
//
//	go run ./internal/tools/lockmutation [-search] [PATTERN]
//
// PATTERN is a regular expression that selects defects by name.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

const defectsPath = "internal/tools/lockmutation/defects.txt"

const (
	// timeLimit bounds a test. Nearly all tests take a second or less.
	timeLimit = 30 * time.Second
	// commandLimit bounds every other command: a build on a busy machine takes minutes.
	commandLimit = 20 * timeLimit
)

// A defect is an entry of defects.txt.
type defect struct {
	line  int
	kind  string // "test", "check" or "control": what must find the defect
	name  string // the name of the test, or the arguments of interlock check
	hangs bool   // the time limit counts as a failure
	quick bool   // a quick search must find it
	edits []edit
}

// An edit replaces consecutive lines of a file: of package lock, or of what it relies on.
type edit struct {
	line     int
	file     string
	old, new string
}

func main() {
	log.SetFlags(0)
	searches := flag.Bool("search", false, "search for the published defects with interlock check")
	var s search
	s.define()
	flag.Parse()
	names, err := regexp.Compile(strings.Join(flag.Args(), " "))
	if err != nil {
		log.Fatal(err)
	}
	directory, err := os.MkdirTemp("", "interlock-mutate-")
	if err != nil {
		log.Fatal(err)
	}
	work := run
	if *searches {
		work = s.run
	}
	err = work(directory, names)
	os.RemoveAll(directory)
	if err != nil {
		log.Fatal(err)
	}
}

// run tries every selected defect with its test.
func run(directory string, names *regexp.Regexp) error {
	defects, err := read()
	if err != nil {
		return err
	}
	if err := checkBaseline(directory, defects); err != nil {
		return err
	}
	defects = slices.DeleteFunc(defects, func(d defect) bool { return !names.MatchString(d.name) })
	found, wrong := 0, 0
	for d, result := range each(directory, defects, defect.try) {
		switch {
		case strings.HasPrefix(result, "WRONG"):
			wrong++
		case d.kind != "control":
			found++
		}
	}
	fmt.Printf("%d defects found, %d controls, %d wrong\n", found, len(defects)-found-wrong, wrong)
	if wrong > 0 || len(defects) == 0 {
		return errors.New("not every defect was found")
	}
	return nil
}

// each calls work for every defect, with one worker per processor and a directory per defect. It
// prints and yields the results in the order of the defects.
func each(directory string, defects []defect,
	work func(d defect, directory string) string,
) iter.Seq2[defect, string] {
	results := make([]chan string, len(defects))
	workers := make(chan struct{}, runtime.NumCPU())
	for i, d := range defects {
		results[i] = make(chan string, 1)
		go func() {
			workers <- struct{}{}
			results[i] <- work(d, filepath.Join(directory, fmt.Sprint(i)))
			<-workers
		}()
	}
	return func(yield func(defect, string) bool) {
		for i, d := range defects {
			result := <-results[i]
			fmt.Printf("%s %s: %s\n", d.kind, d.name, result)
			if !yield(d, result) {
				return
			}
		}
	}
}

// read reads defects.txt.
func read() ([]defect, error) {
	content, err := os.ReadFile(defectsPath)
	if err != nil {
		return nil, err
	}
	return parse(string(content))
}

// parse parses the text of defects.txt.
func parse(content string) ([]defect, error) {
	var defects []defect
	var last *edit
	number := 0
	for line := range strings.Lines(content) {
		number++
		line = strings.TrimSuffix(line, "\n")
		keyword, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || line[0] == '#':
			last = nil
		case keyword == "test" || keyword == "check" || keyword == "control":
			last = nil
			defects = append(defects, defect{line: number, kind: keyword, name: rest})
		case len(defects) == 0:
			return nil, fmt.Errorf("%s:%d: %q precedes the first defect", defectsPath, number,
				line)
		case line == "hangs":
			defects[len(defects)-1].hangs = true
		case line == "quick":
			defects[len(defects)-1].quick = true
		case keyword == "in":
			d := &defects[len(defects)-1]
			d.edits = append(d.edits, edit{line: number, file: filepath.Join("lock", rest)})
			last = &d.edits[len(d.edits)-1]
		case last != nil && line[0] == '-':
			last.old += line[1:] + "\n"
		case last != nil && line[0] == '+':
			last.new += line[1:] + "\n"
		case last != nil && line[0] == ' ':
			last.old += line[1:] + "\n"
			last.new += line[1:] + "\n"
		default:
			return nil, fmt.Errorf("%s:%d: %q is neither a keyword nor part of an edit",
				defectsPath, number,
				line)
		}
	}
	for _, d := range defects {
		if (d.kind == "control") != (len(d.edits) == 0) {
			return nil, fmt.Errorf("%s:%d: a control must have no edits, and every other entry "+
				"at least one",
				defectsPath, d.line)
		}
	}
	return defects, nil
}

// checkBaseline verifies that every test passes while no defect is inserted, and that every subtest
// of TestDefects has an entry.
func checkBaseline(directory string, defects []defect) error {
	program := filepath.Join(directory, "sound")
	if output, err := command("go", "test", "-c", "-o", program, "./lock"); err != nil {
		return fmt.Errorf("the tests do not compile: %w\n%s", err, output)
	}
	tests := "^(TestDefects"
	for _, d := range defects {
		if name, _, _ := strings.Cut(d.name, "/"); d.kind == "test" && name != "TestDefects" {
			tests += "|" + name
		}
	}
	output, err := runTests(program, "-test.v", "-test.run="+tests+")$")
	if err != nil {
		return fmt.Errorf("without any defect: %w: %s", err, firstMatch(`(?m)^ +(\w+_test\.go:.*)$`,
			output))
	}
	passed := make(map[string]bool)
	passes := regexp.MustCompile(`(?m)^ *--- PASS: (.*) \([0-9.]+s\)$`)
	for _, match := range passes.FindAllStringSubmatch(output, -1) {
		passed[match[1]] = true
	}
	delete(passed, "TestDefects")
	for _, d := range defects {
		name := strings.ReplaceAll(d.name, " ", "_")
		if d.kind != "check" && !passed[name] {
			return fmt.Errorf("%s:%d: no test %q passed", defectsPath, d.line, d.name)
		}
	}
	for _, d := range defects {
		delete(passed, strings.ReplaceAll(d.name, " ", "_"))
	}
	for name := range passed {
		if strings.HasPrefix(name, "TestDefects/") {
			return fmt.Errorf("%s: no entry for %s", defectsPath, name)
		}
	}
	return nil
}

// try inserts the defect, runs what must find it and describes the outcome. A description that
// begins with WRONG is a failure.
func (d defect) try(directory string) string {
	if d.kind == "control" {
		return "passes"
	}
	if d.kind == "check" {
		program, err := d.build(directory, "build", "./cmd/interlock")
		if err != nil {
			return "WRONG: " + err.Error()
		}
		return d.judge(commandIn(directory, commandLimit, program,
			append([]string{"check"}, strings.Fields(d.name)...)...))
	}
	program, err := d.build(directory, "test", "-c", "./lock")
	if err != nil {
		return "WRONG: " + err.Error()
	}
	return d.judge(runTests(program, "-test.run="+pattern(d.name)))
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
		"-o",
		program)
	if output, err := command("go", arguments...); err != nil {
		return "", fmt.Errorf("%s:%d: the defect does not compile: %v\n%s", defectsPath, d.line,
			err,
			output)
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
				return "", fmt.Errorf("%s:%d: %w", defectsPath, e.line, err)
			}
			texts[e.file] = "\n" + string(content)
		}
		if n := strings.Count(texts[e.file], "\n"+e.old); n != 1 || e.old == "" {
			return "", fmt.Errorf("%s:%d: the old lines occur %d times in %s, want once",
				defectsPath,
				e.line, n, e.file)
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

// judge describes the outcome of a test or a check with the defect inserted.
func (d defect) judge(output string, err error) string {
	var exit *exec.ExitError
	switch timedOut := errors.Is(err, context.DeadlineExceeded) ||
		strings.Contains(output, "panic: test timed out"); {
	case timedOut && d.hangs:
		return "hangs"
	case timedOut:
		return fmt.Sprintf("WRONG: hangs, and the entry at %s:%d does not say hangs", defectsPath,
			d.line)
	case err == nil:
		return "WRONG: the defect is not found"
	case !errors.As(err, &exit) || strings.Contains("\n"+output, "\npanic: ") ||
		strings.Contains("\n"+output, "\nfatal error: "):
		return fmt.Sprintf("WRONG: crashes: %v\n%s", err, output)
	case d.kind == "check" && !strings.Contains(output, "\nVIOLATION "):
		return fmt.Sprintf("WRONG: %v\n%s", err, output)
	case d.kind == "check":
		return "violates " + firstMatch(`\nVIOLATION ([a-z-]+)`, output)
	}
	return "fails, " + firstMatch(`(?m)^ +(\w+_test\.go:.*)$`, output)
}

// firstMatch returns the first match of the pattern: its first group, or all of it if it has none.
func firstMatch(pattern, text string) string {
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	return strings.Join(match[min(1, len(match)):], "")
}

// pattern returns the -test.run pattern that matches exactly the named test.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// runTests runs a compiled test binary in the directory of package lock.
func runTests(program string, arguments ...string) (string, error) {
	return commandIn("lock", commandLimit, program,
		append(arguments, "-test.timeout="+timeLimit.String())...)
}

func command(name string, arguments ...string) (string, error) {
	return commandIn("", commandLimit, name, arguments...)
}

func commandIn(directory string, limit time.Duration, name string, arguments ...string) (string,
	error,
) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir = directory
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	err := c.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return output.String(), err
}
