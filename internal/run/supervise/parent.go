package supervise

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/flightrecorder"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// NewJob returns a job for a call of the test, with a new directory for its files.
func NewJob(test string, call int) (*Job, error) {
	directory, err := os.MkdirTemp("", "interlock-")
	if err != nil {
		return nil, err
	}
	return &Job{
		Test: test, Call: call, Verbose: testing.Verbose(), Mark: rand.Text(), Directory: directory,
	}, nil
}

// Again returns a job like this one, with files of its own below those of this one.
func (j *Job) Again(mode string) (*Job, error) {
	directory, err := os.MkdirTemp(j.Directory, mode+"-")
	if err != nil {
		return nil, err
	}
	again := *j
	again.Mode, again.Directory, again.Mark = mode, directory, rand.Text()
	return &again, nil
}

// An Outcome is how a child ended.
type Outcome struct {
	Began    bool // the call was reached
	Ended    bool // the call has ended; then the next three say how
	Failed   bool
	Skipped  bool
	Returned bool // the call did not end its goroutine
	TimedOut bool // the child did not end in time

	// Death says how the child died, unless the call ended. It has no steps.
	Death   *engine.Death
	Flights []flightrecorder.Flight // of all runners, up to then
	Printed string                  // what the child has printed, if it did not reach the call
}

// Active returns the flights of runs that were under way.
func (o *Outcome) Active() (active []flightrecorder.Flight) {
	for _, f := range o.Flights {
		if f.State != flightrecorder.Idle {
			active = append(active, f)
		}
	}
	return active
}

// Run runs the job in a child. It relays what the call logs to logs, and what it prints otherwise
// to the same place as this process does, unless logs is nil. A child that takes longer than the
// limit is killed; 0 is no limit. Owned reports whether a function belongs to the simulation.
func (j *Job) Run(logs io.Writer, limit, timeout time.Duration,
	owned func(function string) bool,
) (*Outcome, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	command := exec.Command(program, j.arguments(timeout)...)
	// The report of a crash tells which process the goroutine belongs to, and whether its run is
	// over.
	command.Env = append(os.Environ(), Variable+"="+string(text), "GOTRACEBACK=all",
		"GODEBUG="+strings.TrimPrefix(os.Getenv("GODEBUG")+",tracebacklabels=1", ","))
	command.WaitDelay = 2 * time.Second // for programs that the lock has started
	stdout := &relay{mark: []byte(j.Mark), logs: logs}
	stderr := &crashes{relay: logs != nil}
	command.Stdout, command.Stderr = stdout, stderr
	alive, err := command.StdinPipe() // It closes when this process ends.
	if err != nil {
		return nil, err
	}
	defer alive.Close()
	if err := command.Start(); err != nil {
		return nil, err
	}
	guard := j.guard(command.Process, limit)
	command.Wait() // The files say how the child ended.
	timedOut := guard.end()
	stdout.flush()
	o := &Outcome{TimedOut: timedOut, Began: stdout.marks > 0}
	var end ending
	if readJSON(j.path(endName), &end) == nil {
		o.Ended, o.Failed, o.Skipped, o.Returned = true, end.Failed, end.Skipped, end.Returned
		stderr.flush()
		j.useFiles()
		return o, nil
	}
	if !o.Began {
		o.Printed = stdout.before.String() + stderr.text.String()
		return o, nil
	}
	o.Flights, err = flightrecorder.Read(j.path(flightName))
	if err != nil {
		return nil, err
	}
	o.Death = new(engine.Death)
	if readJSON(j.path(deathName), o.Death) != nil {
		o.Death = autopsy(stderr.text.String(), command.ProcessState, guard.quit, owned)
	}
	return o, nil
}

// Arguments returns the arguments of the child: those of this process, with flags that select the
// test. The last of several equal flags counts.
func (j *Job) arguments(timeout time.Duration) []string {
	given := os.Args[1:]
	flags, rest := given[:len(given)-flag.NArg()], given[len(given)-flag.NArg():]
	if len(flags) > 0 && flags[len(flags)-1] == "--" {
		flags, rest = flags[:len(flags)-1], given[len(flags)-1:]
	}
	arguments := append([]string{}, flags...)
	arguments = append(arguments, "-test.run="+recording.Pattern(j.Test), "-test.v=true",
		"-test.count=1", "-test.cpu="+strconv.Itoa(runtime.GOMAXPROCS(0)),
		"-test.timeout="+timeout.String(), "-test.testlogfile="+j.path(testlogName),
		"-test.bench=", "-test.fuzz=", "-test.list=", "-test.shuffle=off", "-test.coverprofile=",
		"-test.parallel="+strconv.Itoa(runtime.GOMAXPROCS(0)))
	return append(arguments, rest...)
}

// testlogName is the name of the file in which the child lists the files and variables that it
// uses.
const testlogName = "testlog"

// useFiles uses the files and variables that the child has used, so that the go command knows when
// the outcome of the test is no longer valid.
func (j *Job) useFiles() {
	content, err := os.ReadFile(j.path(testlogName))
	if err != nil {
		return
	}
	directory := ""
	for line := range strings.Lines(string(content)) {
		verb, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if verb != "getenv" && !filepath.IsAbs(name) {
			name = filepath.Join(directory, name)
		}
		switch verb {
		case "getenv":
			os.Getenv(name)
		case "chdir":
			directory = name
		case "stat", "open":
			if !strings.HasPrefix(name, j.Directory) {
				os.Stat(name)
			}
		}
	}
}

// A guard ends a child that takes too long, or whose own watch no longer works.
type guard struct {
	stop chan struct{}
	done sync.WaitGroup
	late bool
	quit bool
}

// guard begins to guard the child.
func (j *Job) guard(child *os.Process, limit time.Duration) *guard {
	g := &guard{stop: make(chan struct{})}
	g.done.Go(func() {
		began, interval := time.Now(), time.Second
		var before []flightrecorder.Flight
		same := time.Duration(0)
		for {
			wait := interval
			if limit > 0 {
				wait = min(interval, max(limit-time.Since(began), time.Millisecond))
			}
			select {
			case <-g.stop:
				return
			case <-time.After(wait):
			}
			if limit > 0 && time.Since(began) >= limit {
				g.late = true
				child.Kill()
				return
			}
			now, _ := flightrecorder.Read(j.path(flightName)) // There is none at first.
			if same += wait; !stuck(now, before) {
				before, same = now, 0
			}
			if same > 2*min(j.Stall, engine.WatchdogLimit)+5*time.Second {
				g.quit = true
				quit(child)
				return
			}
		}
	})
	return g
}

// stuck reports whether a run has been at the same decision in both.
func stuck(now, before []flightrecorder.Flight) bool {
	for _, a := range now {
		for _, b := range before {
			if a.State == flightrecorder.Running && b.State == flightrecorder.Running &&
				a.Schedule == b.Schedule && a.Runs == b.Runs && a.Steps == b.Steps {
				return true
			}
		}
	}
	return false
}

// end ends the guard and reports whether the child was late.
func (g *guard) end() (late bool) {
	close(g.stop)
	g.done.Wait()
	return g.late
}

// A relay passes on what the call of a child prints: all between two marks. Lines of the log are
// indented and go to logs; all others go to the standard output.
type relay struct {
	mark   []byte
	logs   io.Writer
	marks  int
	before bytes.Buffer // up to the first mark
	line   []byte
}

// Write implements [io.Writer].
func (r *relay) Write(p []byte) (int, error) {
	r.line = append(r.line, p...)
	for {
		end := bytes.IndexByte(r.line, '\n')
		if end < 0 {
			return len(p), nil
		}
		r.pass(r.line[:end+1])
		r.line = r.line[end+1:]
	}
}

// flush passes on a line without an end.
func (r *relay) flush() {
	if len(r.line) > 0 {
		r.pass(append(r.line, '\n'))
	}
}

// framing matches the lines that package testing prints around those of the test.
var framing = regexp.MustCompile(`^\x16?(=== |\n$)`)

// pass passes on a line.
func (r *relay) pass(line []byte) {
	switch log, indented := bytes.CutPrefix(line, []byte("    ")); {
	case bytes.Equal(bytes.TrimSuffix(line, []byte("\n")), r.mark):
		r.marks++
	case r.marks == 0:
		if r.before.Len() < crashMax {
			r.before.Write(line)
		}
	case r.logs == nil || r.marks > 1 || framing.Match(line):
	case indented:
		r.logs.Write(log)
	default:
		os.Stdout.Write(line)
	}
}

// crashMax bounds how much of a child's error output is kept.
const crashMax = 1 << 20

// crashes keeps the report of a crash, and passes on what comes before it.
type crashes struct {
	relay bool
	line  []byte
	seen  bool // the report has begun
	text  bytes.Buffer
}

// crashLine begins the report of a crash.
var crashLine = regexp.MustCompile(
	`^(panic: |fatal error: |runtime: |SIG[A-Z]+: |unexpected fault)`)

// Write implements [io.Writer].
func (c *crashes) Write(p []byte) (int, error) {
	c.line = append(c.line, p...)
	for {
		end := bytes.IndexByte(c.line, '\n')
		if end < 0 {
			return len(p), nil
		}
		c.pass(c.line[:end+1])
		c.line = c.line[end+1:]
	}
}

func (c *crashes) pass(line []byte) {
	c.seen = c.seen || crashLine.Match(line)
	switch {
	case c.seen && c.text.Len() < crashMax:
		c.text.Write(line)
	case !c.seen && c.relay:
		os.Stderr.Write(line)
	}
}

// flush passes on what looked like the report of a crash of a child that went on.
func (c *crashes) flush() {
	if c.relay {
		os.Stderr.Write(c.text.Bytes())
		os.Stderr.Write(c.line)
	}
}

// autopsy says how a child died, from the report of its crash and its exit status.
func autopsy(crash string, state *os.ProcessState, quit bool,
	owned func(string) bool,
) *engine.Death {
	header, stack := crash, ""
	if at := goroutineLine.FindStringIndex(crash); at != nil {
		header, stack = crash[:at[0]], crash[at[0]:]
	}
	first, _, _ := strings.Cut(stack, "\n\n")
	death := &engine.Death{Calls: engine.LockCalls(first, owned)}
	death.Locate(stack)
	line := crashLineOf(header)
	switch {
	case quit:
		death.Reason, death.Message = Stalled, "the child did not answer"
	case strings.HasPrefix(line, "SIGSYS: bad system call"):
		death.Reason, death.Message = Exited, "os.Exit"
		if status := exitCall.FindStringSubmatch(first); status != nil {
			code, _ := strconv.ParseInt(status[1], 0, 64)
			death.Message = "os.Exit(" + strconv.FormatInt(code, 10) + ")"
		}
	case strings.HasPrefix(line, "panic: unexpected call to os.Exit(0)"):
		death.Reason, death.Message = Exited, "os.Exit(0)"
	case strings.HasPrefix(line, "panic: interlock: a run has made no progress"):
		death.Reason, death.Calls = Stalled, nil
		death.Message = notBlocked(between(header,
			"of the lock are not blocked within their run:\n", "\nA goroutine of a lock"))
	case strings.HasPrefix(line, "panic: interlock: a run cannot go on"):
		death.Reason, death.Calls = Stalled, nil
		death.Message = notBlocked(between(header,
			"whose owner waits for ZooKeeper, a channel or time:\n", "\nThe stock Go runtime"))
	case strings.HasPrefix(line, "panic: "):
		death.Reason = Panicked
		death.Message = strings.TrimSuffix(strings.TrimPrefix(line, "panic: "), " [recovered]")
	case line != "":
		death.Reason = Fatal
		death.Message = strings.TrimPrefix(line, "fatal error: ")
	case state.ExitCode() >= 0:
		death.Reason, death.Message = Exited, "os.Exit("+strconv.Itoa(state.ExitCode())+")"
	default:
		death.Reason, death.Message = Killed, state.String()
	}
	return death
}

// between returns what the message of a panic has between two texts. The runtime indents its lines.
func between(message, before, after string) string {
	_, text, _ := strings.Cut(strings.ReplaceAll(message, "\n\t", "\n"), before)
	text, _, _ = strings.Cut(text, after)
	return text
}

var (
	goroutineLine = regexp.MustCompile(`(?m)^goroutine \d+.*\[.*\]:$`)
	exitCall      = regexp.MustCompile(`(?m)^os\.Exit\((0x[0-9a-f]+)`)
)

// crashLineOf returns the line that says why the program crashed. It joins the lines of a message.
func crashLineOf(header string) string {
	for _, prefix := range []string{"panic: ", "fatal error: ", "SIG", "runtime: "} {
		lines := strings.Split(header, "\n")
		for i, line := range lines {
			if !strings.HasPrefix(line, prefix) {
				continue
			}
			message := []string{line}
			for _, more := range lines[i+1:] { // The runtime indents them.
				if !strings.HasPrefix(more, "\t") || strings.HasPrefix(more, "\tpanic: ") {
					break
				}
				message = append(message, strings.TrimPrefix(more, "\t"))
			}
			return engine.OneLine(strings.TrimSpace(strings.Join(message, "\n")))
		}
	}
	return ""
}

// Remove removes the files of the job, and of those made from it.
func (j *Job) Remove() error { return os.RemoveAll(j.Directory) }
