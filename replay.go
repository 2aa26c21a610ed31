package interlock

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
)

// Replay runs a test that calls [Check], with the counterexample in the directory in place of the
// search. It fails if the recorded schedule violates a property that the lock claims, and skips the
// test if none of its steps is possible any more.
//
// Of several calls of Check, only those that check the recorded lock replay it. If the
// counterexample was found in a subtest, only the subtest of that name does. If no call does,
// Replay fails. The command interlock regress writes tests that call it.
func Replay(t *testing.T, directory string, test func(*testing.T)) {
	t.Helper()
	recorded, err := recording.Read(directory)
	if err != nil {
		t.Fatalf("%v (relative to the directory of the package)", err)
	}
	r := &replayedTest{directory: directory, lock: recorded.Lock}
	if found, err := recording.ReadGoTest(directory); err == nil {
		_, r.subtest, r.inSubtest = strings.Cut(found.Name, "/")
	}
	replayedTests.Store(t.Name(), r)
	t.Cleanup(func() { // after all subtests
		replayedTests.Delete(t.Name())
		if !r.done.Load() && !t.Failed() && !t.Skipped() {
			t.Errorf("%s: the test has not checked the lock %s that it was found with", directory,
				recorded.Lock)
		}
	})
	test(t)
}

// A replayedTest is a test that replays a counterexample.
type replayedTest struct {
	directory string
	lock      string
	subtest   string // in which the counterexample was found
	inSubtest bool   // it was found in a subtest
	done      atomic.Bool
}

// replayedTests holds each [replayedTest] under its name. Check has no other way to know that a
// caller of its caller replays a counterexample.
var replayedTests sync.Map

// replays returns the test that replays a counterexample and has called this one, or nil. It
// returns the name of this one within that test, empty for the test itself.
func replays(t *testing.T) (r *replayedTest, subtest string) {
	for name := t.Name(); ; {
		if found, ok := replayedTests.Load(name); ok {
			return found.(*replayedTest), strings.TrimPrefix(t.Name()[len(name):], "/")
		}
		end := strings.LastIndexByte(name, '/')
		if end < 0 {
			return nil, ""
		}
		name = name[:end]
	}
}

// applies reports whether this call of Check is one that the counterexample was found with.
func (r *replayedTest) applies(scenario *scenarios.Scenario, subtest string) bool {
	if scenario.Subject.Name != r.lock || r.inSubtest && subtest != r.subtest {
		return false
	}
	r.done.Store(true)
	return true
}

// replay replays the counterexample.
func (r *replayedTest) replay(t *testing.T, scenario *scenarios.Scenario, verdict *verdict) {
	t.Helper()
	if !replayInTest(t, scenario, r.directory, verdict) {
		verdict.Outcome = notJudged
		t.Skipf("%s: none of its steps is possible any more, so it says nothing about this lock",
			r.directory)
	}
	verdict.Outcome = recording.Passed
}
