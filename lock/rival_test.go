package lock_test

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A rival is a lock library of another language: a program that performs its locks on request. It
// reads a line for each request, and answers with the nanoseconds that it took: a number of
// hand-offs, "queue" or "drain".
type rival struct {
	requests io.Writer
	answers  *bufio.Scanner
}

// Where Debian installs the libraries of Java and Python.
const (
	jars   = "/usr/share/java/"
	python = "/usr/bin/python3"
)

// curator and kazoo return the commands that start the rivals, or why they cannot be started.
func curator(b *testing.B) (*exec.Cmd, error) {
	classes := b.TempDir()
	path := strings.Join([]string{
		jars + "curator-recipes.jar", jars + "curator-framework.jar", jars + "curator-client.jar",
		jars + "slf4j-nop.jar", classes,
	}, ":")
	compiled, err := exec.Command("javac", "-cp", path, "-d", classes,
		filepath.Join("testdata", "Curator.java")).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("Curator needs a JDK, libcurator-recipes-java and its dependencies "+
			"of Debian: %w: %s", err, lastLine(compiled))
	}
	return exec.Command("java", "-Xmx1g", "-Xss256k", "-cp", path, "Curator"), nil
}

func kazoo(*testing.B) (*exec.Cmd, error) {
	if output, err := exec.Command(python, "-c", "import kazoo").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("kazoo needs python3-kazoo of Debian: %w: %s", err, lastLine(output))
	}
	return exec.Command(python, filepath.Join("testdata", "kazoo_locks.py")), nil
}

func lastLine(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return lines[len(lines)-1]
}

// newRivalCompetitor starts a rival. It returns nil, and logs why, if the rival is not installed.
func newRivalCompetitor(b *testing.B, name string,
	install func(*testing.B) (*exec.Cmd, error), address string, contenders int,
) *competitor {
	b.Helper()
	command, err := install(b)
	if err != nil {
		b.Log("left out:", err)
		return nil
	}
	command.Args = append(command.Args, address, "/"+name, strconv.Itoa(contenders))
	var failure strings.Builder
	command.Stderr = &failure
	requests, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	answers, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		requests.Close()
		if err := command.Wait(); err != nil {
			b.Errorf("%s: %v\n%s", name, err, failure.String())
		}
	})
	r := &rival{requests, bufio.NewScanner(answers)}
	if !r.answers.Scan() || r.answers.Text() != "ready" {
		b.Fatalf("%s does not start: %s", name, r.answers.Text())
	}
	return &competitor{name: name, performer: r, directory: "/" + name}
}

// ask sends a request and returns the time that the rival took.
func (r *rival) ask(request string) (time.Duration, error) {
	if _, err := fmt.Fprintln(r.requests, request); err != nil {
		return 0, err
	}
	if !r.answers.Scan() {
		return 0, fmt.Errorf("no answer to %q: %w", request, r.answers.Err())
	}
	nanoseconds, err := strconv.ParseInt(r.answers.Text(), 10, 64)
	return time.Duration(nanoseconds), err
}

func (r *rival) handOver(times int) (time.Duration, error) { return r.ask(strconv.Itoa(times)) }

func (r *rival) queueUp() error {
	_, err := r.ask("queue")
	return err
}

func (r *rival) drain() (time.Duration, error) { return r.ask("drain") }
