package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// ReplayVariable is the environment variable that names the counterexample which a test is to
// replay.
const ReplayVariable = "INTERLOCK_REPLAY"

// ExploreVariable is the environment variable that holds the address of the Unix socket at which a
// test is to serve an explorer, in place of its search. That begins with the counterexample of
// [ReplayVariable], if there is one.
const ExploreVariable = "INTERLOCK_EXPLORE"

// The variables by which interlock test tells interlock.Check what it does differently.
const (
	FaultsVariable   = "INTERLOCK_FAULTS"   // the fault plan, instead of the scenario's
	ClaimsVariable   = "INTERLOCK_CLAIMS"   // the properties to judge, instead of the lock's claims
	OutVariable      = "INTERLOCK_OUT"      // directory for counterexamples
	CommandVariable  = "INTERLOCK_COMMAND"  // the shell command that runs the tests again
	VerdictsVariable = "INTERLOCK_VERDICTS" // file to which each Check appends a [Verdict]
)

// PackageWord is the word of the command in [CommandVariable] that stands for the directory of the
// test's package, if the tests are those of several packages.
const PackageWord = "{package}"

// Command returns the shell command of [CommandVariable] for the package of this test program,
// whose directory is the working directory. It returns "" if there is none.
func Command() string {
	command := os.Getenv(CommandVariable)
	directory, err := os.Getwd()
	if err != nil {
		return command
	}
	return strings.Replace(command, PackageWord, quoteUnlessPlain(directory), 1)
}

// A Verdict is the outcome of a interlock.Check for interlock test, one line of JSON.
type Verdict struct {
	Package   string             `json:"package"` // the import path
	Test      string             `json:"test"`
	Lock      string             `json:"lock"`
	Scenario  string             `json:"scenario"`
	Claims    []history.Property `json:"claims"`
	Seed      uint64             `json:"seed,omitempty"`
	Schedules int                `json:"schedules,omitempty"`
	Steps     int                `json:"steps,omitempty"`
	Outcome   string             `json:"outcome"`          // one of those below
	Reason    string             `json:"reason,omitempty"` // of an outcome without a failure
	Failures  []Failure          `json:"failures,omitempty"`
	// of a search: whether it left no schedule out; claims that it did not exercise; the faults
	// that struck, of planned kinds, by name; kinds that did not, planned or not; margins that were
	// measured
	Complete    bool                      `json:"complete,omitempty"`
	Unexercised []string                  `json:"unexercised,omitempty"`
	Coverage    map[string]map[string]int `json:"fault_coverage,omitempty"`
	NeverStruck []string                  `json:"faults_never_struck,omitempty"`
	Margins     map[string]check.Margin   `json:"margins,omitempty"`
	// HeldUnclaimed are the properties that the lock kept and does not claim, in the first
	// [UnclaimedSchedules].
	HeldUnclaimed []history.Property `json:"held_unclaimed,omitempty"`
	// Requests are those to ZooKeeper.
	Requests float64 `json:"requests_per_acquisition,omitempty"`
}

// UnclaimedSchedules is the number of schedules in which a Check tries what a lock does not claim.
const UnclaimedSchedules = 200

// DescribeUnclaimed returns a line on what the lock could claim, after a line feed, or "".
func (v *Verdict) DescribeUnclaimed() string {
	if len(v.HeldUnclaimed) == 0 {
		return ""
	}
	names := make([]string, 0, len(v.HeldUnclaimed))
	for _, p := range v.HeldUnclaimed {
		names = append(names, string(p))
	}
	return fmt.Sprintf("\nnot claimed, but held in %d schedules; claim what the lock promises: %s",
		min(UnclaimedSchedules, v.Schedules), strings.Join(names, ", "))
}

// A Failure is a distinct failure that a Check has found or replayed.
type Failure struct {
	Signature      string `json:"signature"`
	Counterexample string `json:"counterexample"`
	Replay         string `json:"replay"` // the command
}

// The outcomes of a Check.
const (
	Passed    = "passed"
	Violation = "violation"
	// Unsound is the outcome of a search that can be trusted in nothing: the lock is
	// nondeterministic, or a checker gave up, or nothing was tested.
	Unsound = "unsound"
	// Refused is the outcome of a search that the flags ask for and the scenario does not have.
	Refused = "refused"
	// Interrupted is the outcome of a search that a signal ended before it found anything.
	Interrupted = "interrupted"
)

// ReadVerdicts reads the verdicts that calls of Check have appended to a file.
func ReadVerdicts(file io.Reader) ([]Verdict, error) {
	verdicts := []Verdict{}
	for decoder := json.NewDecoder(file); ; {
		var v Verdict
		switch err := decoder.Decode(&v); {
		case errors.Is(err, io.EOF):
			return verdicts, nil
		case err != nil:
			return nil, err
		}
		verdicts = append(verdicts, v)
	}
}

// Corpus returns the directory in which a test keeps its counterexamples, relative to its package.
func Corpus(test string) string {
	return filepath.Join("testdata", "interlock", pathElement(strings.ReplaceAll(test, "/", "-")))
}

// pathElement returns a name as an element of a path that a module may have. The go command refuses
// to vendor, or to make an archive of, a module with other paths.
func pathElement(name string) string {
	var element strings.Builder
	for i, r := range name {
		switch {
		case r == '.' && i == len(name)-1, r < 0x80 && !unicode.IsLetter(r) &&
			!unicode.IsDigit(r) && !strings.ContainsRune("!#$&()+,-.=@[]^_{}~ ", r),
			r >= 0x80 && !unicode.IsLetter(r):
			for _, b := range []byte(string(r)) {
				fmt.Fprintf(&element, "%%%02X", b)
			}
		default:
			element.WriteRune(r)
		}
	}
	return element.String()
}

// A GoTest is a test of a user's lock that replays a counterexample.
type GoTest struct {
	Name      string // such as TestLock/fair
	Directory string // of the counterexample, relative to the test's package
	// By is the command of interlock test that runs the package's tests, or "" for go test.
	By string
}

// ErrBuilt says that interlock test has built the test which replays a counterexample.
var ErrBuilt = errors.New("interlock test replays it")

// ReadGoTest reads which test replays the counterexample in a directory. It returns an error if the
// counterexample is not that of a test, or its report has another command than
// [GoTest.Command]: what others have written there is never run. The error is an [ErrBuilt] if go
// test alone cannot run the test.
func ReadGoTest(directory string) (*GoTest, error) {
	r, err := readReplay(directory)
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(directory)
	if err != nil {
		return nil, err
	}
	if r.By != "" {
		return nil, fmt.Errorf("%s: %w: %s", directory, ErrBuilt, r.Replay)
	}
	test := &GoTest{Name: r.Test, Directory: filepath.Join(Corpus(r.Test), filepath.Base(absolute))}
	if r.Replay != test.Command() {
		return nil, fmt.Errorf("%s: the command %q does not replay it: it has been changed or "+
			"renamed", filepath.Join(directory, reportName), r.Replay)
	}
	return test, nil
}

// A reportedReplay is what a report says of how the counterexample of a test is replayed.
type reportedReplay struct {
	Test    string `json:"test"`
	Replay  string `json:"replay"`
	By      string `json:"by"`
	Package string `json:"package"` // if interlock test replays it
	Steps   int    `json:"steps"`
}

// readReplay reads a report, which must be that of a test.
func readReplay(directory string) (*reportedReplay, error) {
	path := filepath.Join(directory, reportName)
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(reportedReplay)
	if err := json.Unmarshal(content, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !strings.HasPrefix(r.Test, "Test") && !strings.HasPrefix(r.Test, "Fuzz") {
		return nil, fmt.Errorf("%s names no test that replays it", path)
	}
	return r, nil
}

// TestOf returns the name of the test that has written the counterexample in a directory, and the
// number of decisions in it.
func TestOf(directory string) (test string, steps int, err error) {
	r, err := readReplay(directory)
	if err != nil {
		return "", 0, err
	}
	return r.Test, r.Steps, nil
}

// BuiltTest returns the test that has written the counterexample in a directory, and the import
// path of its package, if interlock test ran it.
func BuiltTest(directory string) (test *GoTest, packaged string, err error) {
	r, err := readReplay(directory)
	if err != nil {
		return nil, "", err
	}
	return &GoTest{Name: r.Test, Directory: directory, By: r.By}, r.Package, nil
}

// Package returns the directory of the test's package, from that of the counterexample. It returns
// an error if the counterexample is not where the test has written it.
func (g *GoTest) Package(counterexample string) (string, error) {
	absolute, err := filepath.Abs(counterexample)
	if err != nil {
		return "", err
	}
	root, ok := strings.CutSuffix(absolute, string(filepath.Separator)+g.Directory)
	if !ok {
		return "", fmt.Errorf("%s is not in %s of the package of %s, where the test wrote it",
			counterexample, g.Directory, g.Name)
	}
	return root, nil
}

// Arguments returns the arguments of the go command that replay the counterexample, if Environment
// is set, in the directory of the package, with further flags of go test.
func (g *GoTest) Arguments(flags ...string) []string {
	return slices.Concat([]string{"test", "-count=1", "-run", g.pattern()}, flags, []string{"."})
}

// Environment returns the setting of the environment variable.
func (g *GoTest) Environment() string { return ReplayVariable + "=" + g.Directory }

// Command returns the shell command that replays the counterexample in the directory of the
// package.
func (g *GoTest) Command() string {
	if g.By != "" {
		return g.By + " --run " + quote(g.pattern()) + " --replay " + quote(g.Directory)
	}
	return ReplayVariable + "=" + quote(g.Directory) + " go test -count=1 -run " +
		quote(g.pattern()) + " ."
}

// In returns the shell command that runs another one in a directory.
func In(directory, command string) string {
	return "cd " + quoteUnlessPlain(directory) + " && " + command
}

// A Setting is a variable that interlock.Check reads, and its value.
type Setting struct {
	Variable string
	Flag     string // of interlock test, with the same meaning; "" if there is none
	Value    string
}

// SearchCommand returns the shell command that runs the test's search with the settings. It needs
// no counterexample. Packaged is the import path of the test's package, or its directory.
func (g *GoTest) SearchCommand(settings []Setting, packaged string) string {
	var environment, flags strings.Builder
	for _, s := range settings {
		if g.By != "" && s.Flag != "" {
			fmt.Fprintf(&flags, " --%s=%s", s.Flag, quoteUnlessPlain(s.Value))
		} else {
			fmt.Fprintf(&environment, "%s=%s ", s.Variable, quoteUnlessPlain(s.Value))
		}
	}
	if g.By != "" {
		return environment.String() + g.By + " --run " + quote(g.pattern()) + flags.String()
	}
	return environment.String() + "go test -count=1 -run " + quote(g.pattern()) + " " +
		quoteUnlessPlain(packaged)
}

func (g *GoTest) pattern() string { return Pattern(g.Name) }

// Pattern returns the pattern for the flag -run that matches only the test.
func Pattern(test string) string {
	return "^" + strings.ReplaceAll(regexp.QuoteMeta(test), "/", "$/^") + "$"
}

// quote quotes an argument for a POSIX shell.
func quote(argument string) string {
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}

// plainArgument matches an argument that a POSIX shell leaves as it is.
var plainArgument = regexp.MustCompile(`^[\w.,:/@%+-][\w.,:/@%+=-]*$`)

// quoteUnlessPlain is quote, but leaves a plain argument as it is.
func quoteUnlessPlain(argument string) string {
	if plainArgument.MatchString(argument) {
		return argument
	}
	return quote(argument)
}
