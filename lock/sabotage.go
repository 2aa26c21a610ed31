//go:build ignore

// This program puts defects into package lock, one after the other, and demands that the test of
// each fails then, which passes without. The defects stand in testdata/defects.txt, which says how
// it is to be read. It changes no file: the compiler is given the edited text in the place of the
// file's. With -search it is interlock check that searches for the published ones, by no more than
// the locks' names, and the program says how many it finds. Usage, in the directory of the module:
// go run lock/sabotage.go [-search] [PATTERN], with a pattern for some of the names.
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

const defectsPath = "lock/testdata/defects.txt"

const (
	// timeLimit is how long a test may take. Nearly all take a second or less.
	timeLimit = 30 * time.Second
	// buildLimit is how long other commands may take, and searchLimit one of the searches of
	// search, which has no other limit.
	buildLimit, searchLimit = 4 * timeLimit, 20 * timeLimit
)

// A defect is an entry of the file.
type defect struct {
	line  int
	kind  string // "test", "check" or "control"
	name  string // of the test; the arguments of interlock check
	hangs bool   // the time limit counts as a failure
	edits []edit
}

// An edit replaces some lines of a file of package lock.
type edit struct {
	line     int
	file     string
	old, new string
}

func main() {
	log.SetFlags(0)
	searches := flag.Bool("search", false, "let interlock check search for the defects")
	flag.Parse()
	names, err := regexp.Compile(strings.Join(flag.Args(), " "))
	if err != nil {
		log.Fatal(err)
	}
	directory, err := os.MkdirTemp("", "interlock-sabotage-")
	if err != nil {
		log.Fatal(err)
	}
	work := run
	if *searches {
		work = search
	}
	err = work(directory, names)
	os.RemoveAll(directory)
	if err != nil {
		log.Fatal(err)
	}
}

// run tries all defects, each with its test.
func run(directory string, names *regexp.Regexp) error {
	defects, err := read()
	if err != nil {
		return err
	}
	if err := passWithout(directory, defects); err != nil {
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

// search lets interlock check search for all published defects.
func search(directory string, names *regexp.Regexp) error {
	defects, err := read()
	if err != nil {
		return err
	}
	defects = slices.DeleteFunc(defects, func(d defect) bool {
		return !strings.HasPrefix(d.name, "TestDefects/") || d.kind == "control" ||
			!names.MatchString(d.name)
	})
	found := 0
	for _, result := range each(directory, defects, defect.search) {
		switch {
		case strings.HasPrefix(result, "WRONG"):
			return errors.New("a defect could not be searched for")
		case result != unfound:
			found++
		}
	}
	fmt.Printf("%d of %d defects found by interlock check\n", found, len(defects))
	return nil
}

// each does the work for all defects, on all processors, each in a directory of its own, and prints
// and yields the results in the order of the defects.
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

// read reads the file.
func read() ([]defect, error) {
	content, err := os.ReadFile(defectsPath)
	if err != nil {
		return nil, err
	}
	return parse(string(content))
}

// parse reads the entries of the file.
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
			return nil, fmt.Errorf("%s:%d: %q stands before the first defect", defectsPath, number,
				line)
		case line == "hangs":
			defects[len(defects)-1].hangs = true
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
			return nil, fmt.Errorf("%s:%d: a control has no edits, and every other entry has some",
				defectsPath, d.line)
		}
	}
	return defects, nil
}

// passWithout demands that all tests pass as long as no defect is put in, and that none of
// TestDefects is left out.
func passWithout(directory string, defects []defect) error {
	program := filepath.Join(directory, "sound")
	if output, err := command("go", "test", "-c", "-o", program, "./lock"); err != nil {
		return fmt.Errorf("the tests do not build: %w\n%s", err, output)
	}
	tests := "^(TestDefects"
	for _, d := range defects {
		if name, _, _ := strings.Cut(d.name, "/"); d.kind == "test" && name != "TestDefects" {
			tests += "|" + name
		}
	}
	output, err := testing(program, "-test.v", "-test.run="+tests+")$")
	if err != nil {
		return fmt.Errorf("without any defect: %w: %s", err, first(`(?m)^ +(\w+_test\.go:.*)$`,
			output))
	}
	passed := make(map[string]bool)
	for _, match := range regexp.MustCompile(`(?m)^ *--- PASS: (.*) \([0-9.]+s\)$`).FindAllStringSubmatch(output, -1) {
		passed[match[1]] = true
	}
	delete(passed, "TestDefects")
	for _, d := range defects {
		name := strings.ReplaceAll(d.name, " ", "_")
		if d.kind != "check" && !passed[name] {
			return fmt.Errorf("%s:%d: no test %q has passed", defectsPath, d.line, d.name)
		}
	}
	for _, d := range defects {
		delete(passed, strings.ReplaceAll(d.name, " ", "_"))
	}
	for name := range passed {
		if strings.HasPrefix(name, "TestDefects/") {
			return fmt.Errorf("%s: nothing is put in for %s", defectsPath, name)
		}
	}
	return nil
}

// try puts the defect in, and says what came of it. What begins with WRONG is not as it should be.
func (d defect) try(directory string) string {
	if d.kind == "control" {
		return "passes"
	}
	if d.kind == "check" {
		program, err := d.build(directory, "build", "./cmd/interlock")
		if err != nil {
			return "WRONG: " + err.Error()
		}
		return d.judge(commandIn(directory, buildLimit, program,
			append([]string{"check"}, strings.Fields(d.name)...)...))
	}
	program, err := d.build(directory, "test", "-c", "./lock")
	if err != nil {
		return "WRONG: " + err.Error()
	}
	return d.judge(testing(program, "-test.run="+pattern(d.name)))
}

// Where interlock check searches for a defect: with each of the locks that are made of package
// lock, on one server and on three, with the default faults.
var (
	searched = [...]string{
		"mutex", "rwmutex", "semaphore", "trylock", "reentrant", "multi", "guarded",
		"session", "no-deadline", "deadline-retry", "pair", "aged-directory", "sequence-overflow",
	}
	searches = [...]string{"--servers=1 --schedules=2000", "--servers=3 --schedules=1500"}
)

// unfound is the result of a search that has found nothing.
const unfound = "not found"

// search puts the defect in, and says how interlock check finds it, if it does. A panic counts.
func (d defect) search(directory string) string {
	// Programs and counterexamples of all defects would take gigabytes.
	defer os.RemoveAll(directory)
	program, err := d.build(directory, "build", "./cmd/interlock")
	if err != nil {
		return "WRONG: " + err.Error()
	}
	for _, bounds := range searches {
		for _, lock := range searched {
			arguments := append([]string{"check", "--workers=1", "--lock=" + lock},
				strings.Fields(bounds)...)
			output, err := commandIn(directory, searchLimit, program, arguments...)
			var exit *exec.ExitError
			switch violated := first(`\nVIOLATION ([a-z-]+)`, output); {
			case violated != "":
				return fmt.Sprintf("violates %s, %s, schedule %s of %s", violated, lock,
					first(`\nfound in schedule (\d+)`, output), bounds)
			case strings.Contains("\n"+output, "\npanic: "):
				return fmt.Sprintf("panics, %s, %s", lock, bounds)
			case err != nil && !errors.As(err, &exit):
				return fmt.Sprintf("stands still, %s, %s", lock, bounds)
			case err != nil:
				return fmt.Sprintf("fails, %s, %s: %s", lock, bounds,
					output[strings.LastIndexByte(strings.TrimSpace(output), '\n')+1:])
			}
		}
	}
	return unfound
}

// build makes a directory, builds the program in which the defect is, and returns where that
// stands.
func (d defect) build(directory string, arguments ...string) (program string, err error) {
	if err := os.Mkdir(directory, 0o755); err != nil {
		return "", err
	}
	overlay, err := d.overlay(directory)
	if err != nil {
		return "", err
	}
	program = filepath.Join(directory, "program")
	// The packages come last.
	arguments = slices.Insert(arguments, len(arguments)-1, "-overlay", overlay, "-ldflags=-s -w",
		"-o",
		program)
	if output, err := command("go", arguments...); err != nil {
		return "", fmt.Errorf("%s:%d: it does not compile: %v\n%s", defectsPath, d.line, err,
			output)
	}
	return program, nil
}

// overlay writes down what the compiler is to take in the place of which file, and returns the path
// of that.
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
			return "", fmt.Errorf("%s:%d: the old lines stand %d times in %s, and should once",
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

// judge says what became of a test or a search with the defect put in.
func (d defect) judge(output string, err error) string {
	var exit *exec.ExitError
	switch timedOut := errors.Is(err, context.DeadlineExceeded) ||
		strings.Contains(output, "panic: test timed out"); {
	case timedOut && d.hangs:
		return "hangs"
	case timedOut:
		return fmt.Sprintf("WRONG: hangs, which %s:%d does not say", defectsPath, d.line)
	case err == nil:
		return "WRONG: the defect is not found"
	case !errors.As(err, &exit) || strings.Contains("\n"+output, "\npanic: ") ||
		strings.Contains("\n"+output, "\nfatal error: "):
		return fmt.Sprintf("WRONG: it crashes: %v\n%s", err, output)
	case d.kind == "check" && !strings.Contains(output, "\nVIOLATION "):
		return fmt.Sprintf("WRONG: %v\n%s", err, output)
	case d.kind == "check":
		return "violates " + first(`\nVIOLATION ([a-z-]+)`, output)
	}
	return "fails, " + first(`(?m)^ +(\w+_test\.go:.*)$`, output)
}

// first returns what a pattern finds first.
func first(pattern, text string) string {
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	return strings.Join(match[min(1, len(match)):], "")
}

// pattern returns the pattern of just one test.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// testing runs tests that were compiled, in the directory of their package.
func testing(program string, arguments ...string) (string, error) {
	return commandIn("lock", buildLimit, program,
		append(arguments, "-test.timeout="+timeLimit.String())...)
}

func command(name string, arguments ...string) (string, error) {
	return commandIn("", buildLimit, name, arguments...)
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
