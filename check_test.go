package interlock_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// variantVariable selects the lock or the mode of TestChecked: for example a broken lock, a lock
// that hangs, a sometimes condition that is never reached, or a scenario beyond the limits of a
// checker. The tests below run TestChecked with it in a separate process.
const variantVariable = "INTERLOCK_TEST_BROKEN"

func scenario(subject scenarios.Subject, clients, cycles, anyFaults int) *scenarios.Scenario {
	return &scenarios.Scenario{
		Subject: subject, Clients: clients, Cycles: cycles, Faults: faults.Of(faults.Any, uint16(anyFaults)),
	}
}

func TestChecked(t *testing.T) {
	s := scenario(subjects.Textbook(), 3, 1, 1)
	name, two := subjects.ExistsThenWait().Name, false
	switch os.Getenv(variantVariable) {
	case "1":
		s.Subject = subjects.ExistsThenWait()
	case "sometimes":
		s.Subject.Sometimes = []history.Sometimes{{
			Name: "never", Clients: 1,
			Reached: func([]history.Event) bool { return false },
		}}
	case "late":
		s = &scenarios.Scenario{
			Subject: locktest.Named(t, "late-notice"), Clients: 3, Cycles: 2,
			Severity: faults.Severity{Pause: 10 * time.Second, Drift: 5},
		}
		s.Faults = faults.MustParse("expire=1,pause=1")
	case "refuses":
		s.Subject = locktest.Misplaced()
		s.Subject.Claims = []history.Property{history.ServerMutualExclusion, history.Progress}
	case "differs":
		s = scenario(locktest.RandomSelect(true), 2, 1, 0)
	case "panics with lines":
		s.Subject.Open = func(*scenarios.Process) (scenarios.Locker, error) {
			panic(errors.Join(errors.New("first"), errors.New("second")))
		}
	case "several failures":
		s = scenario(locktest.Named(t, "name-order"), 3, 2, 2)
	case "alone":
		s.Clients = 1
	case "pair":
		s = scenario(subjects.ExistsThenWait(), 2, 1, 0)
	case "unsettled":
		s = scenario(locktest.DeletesUntilClosed(), 1, 1, 0)
	case "real":
		s.Client = scenarios.Real
	case "hangs":
		engine.WatchdogLimit = 200 * time.Millisecond
		s.Subject = locktest.SharedMutex()
	case "slow to shrink": // Shrinking takes thousands of runs, with much computation in each.
		s = scenario(computing(locktest.PanicsLate(60)), 2, 60, 0)
	case "long":
		s.Clients, s.Cycles = 21, 100
	case "renamed":
		name = "new-name"
	case "two locks":
		two = true
	case "nil unlock":
		s.Subject.Open = func(*scenarios.Process) (scenarios.Locker, error) {
			return scenarios.Mutex(func() {}, nil), nil
		}
	case "nil held":
		s.Subject.Open = func(*scenarios.Process) (scenarios.Locker, error) {
			return scenarios.LockerFunc(func(context.Context) (*scenarios.Hold, error) {
				return scenarios.Held[func()](nil, nil), nil
			}), nil
		}
	case "nil rlock":
		s.Subject.Open = func(*scenarios.Process) (scenarios.Locker, error) {
			return scenarios.RWMutex(func() {}, func() {}, nil, func() {}), nil
		}
	case "no handle":
		s.Subject.Open = func(*scenarios.Process) (scenarios.Locker, error) {
			return nil, errors.New("no handle")
		}
	}
	s.Subject.Name = name // The fixed lock has the same name.
	t.Run("lock[1]", func(t *testing.T) {
		if two {
			other := *s
			other.Subject.Name = "other"
			interlock.Check(t, other)
		}
		interlock.Check(t, *s)
	})
}

// A test fails if schedules or replays differ when they run twice, even if nothing is violated.
func TestCheckDiffers(t *testing.T) {
	directory := t.TempDir()
	found, passed := runChecked(t, directory, variantVariable+"=pair", "INTERLOCK_OUT=out")
	replay, _ := filepath.Glob(filepath.Join(directory, "out", "*", "*"))
	if passed || len(replay) != 1 {
		t.Fatalf("passed %v, counterexamples %v:\n%s", passed, replay, found)
	}
	// With many calls of Lock, no two runs are alike.
	recorded, err := recording.Read(replay[0])
	if err != nil {
		t.Fatal(err)
	}
	recorded.Cycles = 20
	if err := recorded.Write(filepath.Join(replay[0], "schedule.json")); err != nil {
		t.Fatal(err)
	}
	for variable, wants := range map[string][]string{
		"INTERLOCK_SCHEDULES=200": {
			"nothing found in 200 schedules, but that says too little: nondeterministic: ",
			" did not run the same way twice", "locktest/concurrent.go:",
		},
		"INTERLOCK_STRATEGY=exhaustive": {"that says too little: nondeterministic: "},
		"INTERLOCK_REPLAY=" + replay[0]: {", but that says too little: schedule "},
	} {
		text, passed := runChecked(t, directory, variantVariable+"=differs",
			"INTERLOCK_CLAIMS=progress", variable)
		for _, want := range wants {
			if passed || !strings.Contains(text, want) {
				t.Errorf("%s: passed %v, want %q:\n%s", variable, passed, want, text)
			}
		}
	}
	text, _ := runChecked(t, directory, variantVariable+"=panics with lines")
	if want := "c1 panicked: first; second in "; !strings.Contains(text, want) {
		t.Errorf("the output does not contain %q:\n%s", want, text)
	}
}

// computing returns the lock with about 0.1 ms of computation in each call of Lock.
func computing(s scenarios.Subject) scenarios.Subject {
	open := s.Open
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		locker, err := open(p)
		return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
			var sum [sha256.Size]byte
			for range 1000 {
				sum = sha256.Sum256(sum[:])
			}
			return locker.Lock(ctx)
		}), err
	}
	return s
}

// runChecked runs TestChecked in the directory. It returns the output and reports whether the test
// passed.
func runChecked(t *testing.T, directory string, environment ...string) (string, bool) {
	t.Helper()
	return runCheckedWithin(t, "2m", directory, environment...)
}

// runCheckedWithin is runChecked with a timeout for the test.
func runCheckedWithin(t *testing.T, timeout, directory string, environment ...string) (string,
	bool,
) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "-test.run=^TestChecked$", "-test.v", "-test.timeout="+timeout)
	command.Dir = directory
	command.Env = append(os.Environ(), environment...)
	printed, err := command.CombinedOutput()
	return string(printed), err == nil
}

func TestCheck(t *testing.T) {
	directory := t.TempDir()
	broken := variantVariable + "=1"
	first, passed := runChecked(t, directory, broken)
	if passed {
		t.Fatalf("the broken lock passed:\n%s", first)
	}
	found, err := filepath.Glob(filepath.Join(directory, "testdata", "interlock", "*",
		"exists-then-wait-progress-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("counterexamples %v, error %v, want one; output:\n%s", found, err, first)
	}
	relative, err := filepath.Rel(directory, found[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"progress: a process waits for the lock for ever", "these deviations:\n", "enter c1",
		"asks for the lock",
		"replay INTERLOCK_REPLAY='" + relative +
			"' go test -count=1 -run '^TestChecked$/^lock\\[1\\]$' .",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("the first failure does not contain %q:\n%s", want, first)
		}
	}
	recorded, err := os.ReadFile(filepath.Join(found[0], "schedule.json"))
	if err != nil {
		t.Fatal(err)
	}
	// No run of the lock makes as many decisions.
	past := regexp.MustCompile(`"index": (\d+)`).ReplaceAll(recorded, []byte(`"index": 9000$1`))
	for path, content := range map[string][]byte{
		filepath.Join(directory, "past.json"): past,
		filepath.Join(directory,
			"other.json"): regexp.MustCompile(`("trace_hash": ".*).{4}"`).ReplaceAll(recorded,
			[]byte(`${1}0000"`)),
		filepath.Join(directory,
			"signature.json"): regexp.MustCompile(`("trace_hash": ".*).{4}"|("signature": ).*"`).
			ReplaceAllFunc(recorded, func(field []byte) []byte {
				if bytes.HasPrefix(field, []byte(`"signature"`)) {
					return []byte(`"signature": "progress: another"`)
				}
				return append(field[:len(field)-5], `0000"`...)
			}),
		// a temporary file of an editor, for example; not a counterexample
		filepath.Join(filepath.Dir(found[0]), ".left-over"): nil,
	} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		if edited, err := recording.ReadSchedule(path); err == nil {
			if err := edited.Write(path); err != nil { // with its checksum
				t.Fatal(err)
			}
		}
	}
	for name, tc := range map[string]struct {
		environment []string
		passes      bool
		want        string
	}{
		"reproduced by the corpus": {[]string{broken}, false, " fails as recorded:\n"},
		"skipping the corpus": {
			[]string{broken},
			false,
			"the search was not run; to run it while the recorded schedule fails, delete " +
				relative,
		},
		"reproduced by the corpus without faults": {
			[]string{broken, "INTERLOCK_FAULTS=none"},
			false,
			"the search was not run",
		},
		"replayed": {
			[]string{broken, "INTERLOCK_REPLAY=" + relative},
			false,
			relative + " fails as recorded:\n",
		},
		"fixed": {nil, true, "nothing found in 2000 schedules of "},
		"held without a claim": {
			[]string{"INTERLOCK_SCHEDULES=100"},
			true,
			"not claimed, but held in 100 schedules; claim what the lock promises: ",
		},
		"not exercised": {
			[]string{"INTERLOCK_SCHEDULES=1"},
			true,
			"claimed and not exercised: ",
		},
		"fixed and replayed": {
			[]string{"INTERLOCK_REPLAY=" + relative},
			true,
			relative + ": no violation any more; recorded was progress: a process waits for the " +
				"lock for ever\n",
		},
		"replayed without the claim": {
			[]string{broken, "INTERLOCK_REPLAY=" + relative, "INTERLOCK_CLAIMS=fifo"},
			true,
			relative + ": not judged: recorded was progress: a process waits for the lock for " +
				"ever, and this run does not claim that property\n",
		},
		"replayed with another trace": {
			[]string{broken, "INTERLOCK_REPLAY=other.json"},
			false,
			"other.json fails with the recorded violation, but not every event is as recorded " +
				"(trace hash ",
		},
		"replayed with another violation": {
			[]string{broken, "INTERLOCK_REPLAY=signature.json"},
			false,
			"signature.json fails differently from the recorded progress: another:\n",
		},
		"replayed past its end": {
			[]string{"INTERLOCK_REPLAY=past.json"},
			false,
			"past.json: none of its steps is possible any more",
		},
		"the lock is never acquired": {
			[]string{variantVariable + "=refuses", "INTERLOCK_SCHEDULES=20"},
			false,
			"no process was granted the lock in any of 20 schedules, so this says nothing about " +
				"it: " +
				`Lock returns the error "zk: node does not exist"`,
		},
		"a sometimes condition is never reached": {
			[]string{variantVariable + "=sometimes", "INTERLOCK_SCHEDULES=5000"},
			false, "no schedule reached a sometimes condition, so this says too little about the " +
				"lock: never",
		},
		"a verdict is unknown": {
			[]string{variantVariable + "=long", "INTERLOCK_SCHEDULES=1"},
			false,
			"linearizability is unknown for 1 schedules",
		},
		"a run hangs": {
			[]string{variantVariable + "=hangs"},
			false,
			"not blocked within its run: sync.Mutex.Lock in interlock_test.",
		},
		"a failure is within the contract despite a pause": {[]string{
			variantVariable + "=late", "INTERLOCK_SCHEDULES=2000",
			"INTERLOCK_SEED=5",
		}, false, "faults expire=1, pauses up to 10s"},
		"bad number of schedules": {
			[]string{"INTERLOCK_SCHEDULES=0"},
			false,
			`INTERLOCK_SCHEDULES is "0", not a number of at least 1`,
		},
		"bad seed": {
			[]string{"INTERLOCK_SEED=x"},
			false,
			`INTERLOCK_SEED: "x" is neither a number`,
		},
		"bad values that a replay does not use": {
			[]string{"INTERLOCK_REPLAY=" + relative, "INTERLOCK_STRATEGY=luck"},
			false,
			`INTERLOCK_STRATEGY: unknown strategy "luck"`,
		},
		"bad values that a search in this process does not use": {
			[]string{"INTERLOCK_IN_PROCESS=1", "INTERLOCK_STALL=soon", "INTERLOCK_SCHEDULES=1"},
			false,
			`INTERLOCK_STALL is "soon", not a duration such as 30s`,
		},
		"bad keep-going": {
			[]string{"INTERLOCK_KEEP_GOING=perhaps"},
			false,
			`INTERLOCK_KEEP_GOING is "perhaps", not 1 or 0`,
		},
		"bad number of idle ticks": {
			[]string{"INTERLOCK_IDLE_TICKS=-1"},
			false,
			`INTERLOCK_IDLE_TICKS is "-1", not a number of at least 0`,
		},
		"bad replay": {
			[]string{"INTERLOCK_REPLAY=nosuch"},
			false,
			"INTERLOCK_REPLAY (relative to the directory of the package): stat nosuch: no " +
				"such file or directory\n        copy it from where the test failed, or find the " +
				"failure again by the command with INTERLOCK_SEED and INTERLOCK_SCHEDULES that ",
		},
	} {
		printed, passed := runChecked(t, directory, tc.environment...)
		if passed != tc.passes || !strings.Contains(printed, tc.want) {
			t.Errorf("%s: passed %v, want %v and %q:\n%s", name, passed, tc.passes, tc.want,
				printed)
		}
		if line := linesWithin.FindString(printed); line != "" {
			t.Errorf("%s: a line of package scenarios, not of the test: %s", name, line)
		}
	}
}

// linesWithin matches a failure at a line of package scenarios.
var linesWithin = regexp.MustCompile(`(?m)^ *(check|isolate|death|verdict)\.go:\d+: .*`)

func TestCheckStrategy(t *testing.T) {
	exhaustive := "INTERLOCK_STRATEGY=exhaustive"
	for name, tc := range map[string]struct {
		environment []string
		passes      bool
		want        string
	}{
		"all schedules": {
			[]string{exhaustive, variantVariable + "=alone"},
			true,
			" which are complete: all schedules of 1 client × 1 cycle on 1 server with " +
				"at most these faults: any=1",
		},
		"not all schedules": {
			[]string{exhaustive, "INTERLOCK_SCHEDULES=50"},
			true,
			"nothing found in 50 schedules of an exhaustive search, which is not complete: " +
				"it reached its bound of schedules",
		},
		"all schedules, with idle ticks": {
			[]string{exhaustive, variantVariable + "=pair", "INTERLOCK_IDLE_TICKS=2"},
			false,
			"progress: a process waits for the lock for ever",
		},
		"all schedules, one fails": {
			[]string{exhaustive, variantVariable + "=pair"},
			false,
			"progress: a process waits for the lock for ever",
		},
		"unsettled schedules": {
			[]string{exhaustive, variantVariable + "=unsettled"},
			true,
			"which is not complete\n        1 schedules reached a bound of time or steps with " +
				"requests in flight",
		},
		"unsettled random schedules": {
			[]string{variantVariable + "=unsettled", "INTERLOCK_SCHEDULES=3"},
			true, "3 schedules reached a bound",
		},
		"all schedules of the real client": {
			[]string{exhaustive, variantVariable + "=real"},
			false,
			"so it cannot be done with the real client",
		},
		"another strategy": {
			[]string{"INTERLOCK_STRATEGY=pct", "INTERLOCK_SCHEDULES=20"},
			true,
			"nothing found in 20 schedules of ",
		},
		"unknown strategy": {
			[]string{"INTERLOCK_STRATEGY=luck"},
			false,
			`INTERLOCK_STRATEGY: unknown strategy "luck"; known are random`,
		},
	} {
		if name == "all schedules of the real client" && real.RaceDetector {
			continue // The real client is skipped earlier.
		}
		if printed, passed := runChecked(t, t.TempDir(), tc.environment...); passed != tc.passes ||
			!strings.Contains(printed, tc.want) {
			t.Errorf("%s: passed %v, want %v and %q:\n%s", name, passed, tc.passes, tc.want,
				printed)
		}
	}
}

// Shrinking ends before the timeout of go test, and the failure is reported.
func TestCheckShrinksBeforeTimeout(t *testing.T) {
	directory := t.TempDir()
	printed, passed := runCheckedWithin(t, "6s", directory, variantVariable+"=slow to shrink")
	found, err := filepath.Glob(filepath.Join(directory, "testdata", "interlock", "*",
		"exists-then-wait-no-panic-*"))
	if err != nil || passed || len(found) != 1 ||
		!strings.Contains(printed, "no-panic: a process panicked") ||
		!strings.Contains(printed, ": shrinking what was found in ") {
		t.Errorf("passed %v, error %v, counterexamples %v:\n%s", passed, err, found, printed)
	}
}

// A search ends before the timeout of go test and reports its progress.
func TestCheckEndsBeforeTimeout(t *testing.T) {
	printed, passed := runCheckedWithin(t, "6s", t.TempDir(), "GOMAXPROCS=1",
		"INTERLOCK_SCHEDULES=100000000")
	if want := "lower the number, or raise the -timeout of go test"; passed ||
		!strings.Contains(printed, want) {
		t.Errorf("passed %v, want a failure that contains %q:\n%s", passed, want, printed)
	}
}

// A recording is replayed by the check of its lock only. It is refused if the test has no such
// check, and a mistake in the scenario leaves none.
func TestCheckTidyRecords(t *testing.T) {
	directory := t.TempDir()
	few := "INTERLOCK_SCHEDULES=20"
	for variant, mistake := range map[string]string{
		"no handle":  "Subject.Open fails: no handle",
		"nil unlock": "the function unlock of scenarios.Mutex is nil",
		"nil held":   "Lock returns a Hold without Unlock",
		"nil rlock":  "the function rlock of scenarios.RWMutex is nil",
	} {
		printed, passed := runChecked(t, directory, variantVariable+"="+variant, few)
		if passed || !strings.Contains(printed, mistake+": a mistake in the scenario, not in") {
			t.Errorf("passed %v:\n%s", passed, printed)
		}
	}
	if _, err := os.Stat(filepath.Join(directory, "testdata")); !os.IsNotExist(err) {
		t.Errorf("a mistake in the scenario leaves a counterexample; error %v", err)
	}
	runChecked(t, directory, variantVariable+"=1")
	found, err := filepath.Glob(filepath.Join(directory, "testdata", "interlock", "*", "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("counterexamples %v, error %v", found, err)
	}
	for _, replay := range []string{"", "INTERLOCK_REPLAY=" + found[0]} {
		printed, passed := runChecked(t, directory, variantVariable+"=renamed", few, replay)
		want := `is a schedule of the lock "exists-then-wait", and the test checks new-name`
		if passed || !strings.Contains(printed, want) {
			t.Errorf("%q: passed %v, want %q:\n%s", replay, passed, want, printed)
		}
		printed, passed = runChecked(t, directory, variantVariable+"=two locks", few, replay)
		want = ": no violation any more"
		if !passed || strings.Count(printed, want) != 1 {
			t.Errorf("%q: passed %v, want %q once:\n%s", replay, passed, want, printed)
		}
	}
}

// A replay by a test that checks several locks leaves a verdict on the lock of the counterexample.
// A replay by a test that does not check this lock leaves the verdict that nothing can be trusted.
func TestCheckReplayVerdicts(t *testing.T) {
	directory := t.TempDir()
	runChecked(t, directory, variantVariable+"=1")
	found, err := filepath.Glob(filepath.Join(directory, "testdata", "interlock", "*", "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("counterexamples %v, error %v", found, err)
	}
	for variant, want := range map[string]string{
		"1":         `"violation"`,
		"two locks": `"passed"`,
		"renamed":   `"unsound"`,
	} {
		path := filepath.Join(t.TempDir(), "verdicts")
		printed, _ := runChecked(t, directory, variantVariable+"="+variant,
			"INTERLOCK_REPLAY="+found[0], "INTERLOCK_VERDICTS="+path)
		verdicts, err := os.ReadFile(path)
		if err != nil || strings.Count(string(verdicts), `"test":`) != 1 ||
			!strings.Contains(string(verdicts), `"package":"github.com/interlock-sim/interlock"`) ||
			!strings.Contains(string(verdicts), `"lock":"exists-then-wait"`) ||
			!strings.Contains(string(verdicts), `"outcome":`+want) {
			t.Errorf("%s: verdicts %s, error %v, want one with %s:\n%s", variant, verdicts, err,
				want, printed)
		}
	}
}

// A counterexample in the package that fails again is named with the command that replays it: for
// interlock test by an absolute path, or else relative to the package.
func TestCheckKeptVerdicts(t *testing.T) {
	directory, broken := t.TempDir(), variantVariable+"=1"
	runChecked(t, directory, broken)
	for out, want := range map[string]string{"": "", t.TempDir(): directory + "/"} {
		path := filepath.Join(t.TempDir(), "verdicts")
		printed, _ := runChecked(t, directory, broken, "INTERLOCK_VERDICTS="+path,
			"INTERLOCK_OUT="+out)
		verdicts, err := os.ReadFile(path)
		kept := want + "testdata/interlock/TestChecked-lock[1]/exists-then-wait-progress-"
		if err != nil || !strings.Contains(string(verdicts), `"counterexample":"`+kept) ||
			!strings.Contains(string(verdicts), `"replay":"INTERLOCK_REPLAY='`+kept) {
			t.Errorf("verdicts %s, error %v, want %s:\n%s", verdicts, err, kept, printed)
		}
	}
}

// sourceLines are the lines of the lock's calls in a timeline.
var sourceLines = regexp.MustCompile(`\[recipe\.go:\d+\]`)

// A replay by the test shows the lines of the lock's calls, as the failure of the search did.
func TestCheckReplayShowsLines(t *testing.T) {
	directory, broken := t.TempDir(), variantVariable+"=1"
	found, _ := runChecked(t, directory, broken)
	replayed, passed := runChecked(t, directory, broken)
	want := sourceLines.FindAllString(found, -1)
	got := sourceLines.FindAllString(replayed, -1)
	if passed || len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("passed %v, lines %q, want %q:\n%s", passed, got, want, replayed)
	}
}
