// Command mutation inserts known defects into package lock, the exhaustive search and the simulated
// ZooKeeper, one at a time. It verifies that the test of each defect fails with it and passes
// without it. With -search, interlock check looks for the published defects of package lock, given
// nothing but the names of the locks, and mutation counts those that it finds. The schedule that it
// prints has the number that interlock check prints, which counts from 0. With -witnesses, the
// referee looks for random locks that reveal the defects of the exhaustive search.
//
// The defects are in lock.txt, which describes the format, search.txt and zookeeper.txt. The
// command changes no source file: it passes the edited text to the compiler as an overlay. Run it
// in the root of the module:
//
//	go run ./internal/tools/mutation [-search | -witnesses] [PATTERN]
//
// PATTERN is a regular expression that selects defects by file, line and test.
package main

import (
	"bytes"
	"context"
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

// The files of defects, by what they edit.
const (
	lockDefects      = "internal/tools/mutation/lock.txt"
	searchDefects    = "internal/tools/mutation/search.txt"
	zookeeperDefects = "internal/tools/mutation/zookeeper.txt"
)

const (
	// timeLimit bounds a test. Nearly all tests take a second or less.
	timeLimit = 30 * time.Second
	// commandLimit bounds every other command: a build on a busy machine takes minutes.
	commandLimit = 20 * timeLimit
)

func main() {
	log.SetFlags(0)
	searches := flag.Bool("search", false, "search for the published defects with interlock check")
	draws := flag.Bool("witnesses", false,
		"search for random locks that reveal the defects of the exhaustive search")
	var s search
	s.define()
	var w witnesses
	w.define()
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
	switch {
	case *searches:
		work = s.run
	case *draws:
		work = w.run
	}
	err = work(directory, names)
	os.RemoveAll(directory)
	if err != nil {
		log.Fatal(err)
	}
}

// run tries every selected defect with its test.
func run(directory string, names *regexp.Regexp) error {
	var defects []defect
	for _, file := range []string{lockDefects, searchDefects, zookeeperDefects} {
		of, err := read(file)
		if err != nil {
			return err
		}
		defects = append(defects, of...)
	}
	all := slices.Clone(defects)
	defects = slices.DeleteFunc(defects, func(d defect) bool {
		return !names.MatchString(d.String())
	})
	var checked []suite
	for _, d := range defects {
		if slices.Contains(checked, d.suite) {
			continue
		}
		checked = append(checked, d.suite)
		if err := d.suite.checkBaseline(filepath.Join(directory, "sound"), all); err != nil {
			return err
		}
	}
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
			fmt.Printf("%v: %s\n", d, result)
			if !yield(d, result) {
				return
			}
		}
	}
}

// checkBaseline verifies that every test of the suite passes while no defect is inserted, and that
// every subtest of the complete one has an entry. It compiles the tests into the program.
func (s suite) checkBaseline(program string, all []defect) error {
	defects := slices.DeleteFunc(slices.Clone(all), func(d defect) bool { return d.suite != s })
	if output, err := command("go", "test", "-c", "-o", program, s.pattern()); err != nil {
		return fmt.Errorf("the tests do not compile: %w\n%s", err, output)
	}
	tests := []string{s.complete}
	for _, d := range defects {
		if name, _, _ := strings.Cut(d.name, "/"); d.kind != "check" {
			tests = append(tests, name)
		}
	}
	output, err := s.run(program, "-test.v", "-test.run=^("+strings.Join(tests, "|")+")$")
	if err != nil {
		return fmt.Errorf("without any defect: %w: %s", err, firstMatch(`(?m)^ +(\w+_test\.go:.*)$`,
			output))
	}
	passed := make(map[string]bool)
	passes := regexp.MustCompile(`(?m)^ *--- PASS: (.*) \([0-9.]+s\)$`)
	for _, match := range passes.FindAllStringSubmatch(output, -1) {
		passed[match[1]] = true
	}
	for _, d := range defects {
		if d.kind != "check" && !passed[strings.ReplaceAll(d.name, " ", "_")] {
			return fmt.Errorf("%s: no test %q passed", d.at, d.name)
		}
	}
	for _, d := range defects {
		delete(passed, strings.ReplaceAll(d.name, " ", "_"))
	}
	for name := range passed {
		if s.complete != "" && strings.HasPrefix(name, s.complete+"/") {
			return fmt.Errorf("%s: no defect for %s", s.directory, name)
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
	program, err := d.build(directory, "test", "-c", d.suite.pattern())
	if err != nil {
		return "WRONG: " + err.Error()
	}
	return d.judge(d.suite.run(program, "-test.run="+pattern(d.name)))
}

// judge describes the outcome of a test or a check with the defect inserted.
func (d defect) judge(output string, err error) string {
	var exit *exec.ExitError
	switch timedOut := errors.Is(err, context.DeadlineExceeded) ||
		strings.Contains(output, "panic: test timed out"); {
	case timedOut && d.hangs:
		return "hangs"
	case timedOut:
		return fmt.Sprintf("WRONG: hangs, and the entry at %s does not say hangs", d.at)
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

// pattern returns the argument of go test that names the package.
func (s suite) pattern() string { return "./" + s.directory }

// run runs a compiled test binary of the package in the package's directory.
func (s suite) run(program string, arguments ...string) (string, error) {
	return commandIn(s.directory, commandLimit, program,
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
