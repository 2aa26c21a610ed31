// Package supervise runs a part of a test in a child process, so that code under test that ends the
// process does not end the test.
//
// The child is the same test binary. An environment variable names the test and the call that it
// executes. It hands back what it prints, and a file that says how the call ended. If there is
// no such file, the child has died, and the flight recorder says in which runs.
package supervise

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/base/file"
)

// Variable is the environment variable that holds a [Job] for a child.
const Variable = "INTERLOCK_CHILD"

// A Job is what a child is to do.
type Job struct {
	Test      string        // the name of the test
	Call      int           // which call of the test, from 1
	Verbose   bool          // the parent prints everything
	Mark      string        // surrounds what the call prints
	Directory string        // for the files of parent and child
	Mode      string        // what the call does
	Stall     time.Duration // after which a step counts as endless
	Memory    uint64        // limit of the heap in bytes; 0 for none
	Schedules int           // of a search with one worker; 0 for one as the test asks for
	// KeepStopped says that processes are stopped as [engine.KeepStopped] says.
	KeepStopped bool
	TrapExit    bool // shows the stack of a goroutine that ends the program
}

// The files in the directory of a job.
const (
	flightName = "flight"
	endName    = "end.json"
	deathName  = "death.json"
	inputName  = "input.json"  // what the parent tells the child
	outputName = "output.json" // what the child tells the parent
)

// Current returns the job of this process, or nil. It hides the job from processes that this one
// starts.
var Current = sync.OnceValue(func() *Job {
	text, ok := os.LookupEnv(Variable)
	if !ok {
		return nil
	}
	os.Unsetenv(Variable)
	job := new(Job)
	if json.Unmarshal([]byte(text), job) != nil {
		return nil
	}
	return job
})

// An ending is how the call of a child ended.
type ending struct {
	Failed   bool
	Skipped  bool
	Returned bool // the call did not end its goroutine
}

// Path returns the path of a file of the job.
func (j *Job) path(name string) string { return filepath.Join(j.Directory, name) }

// WriteInput writes what the child needs to know.
func (j *Job) WriteInput(value any) error { return file.WriteJSON(j.path(inputName), value) }

// ReadInput reads what the parent has written.
func (j *Job) ReadInput(value any) error { return readJSON(j.path(inputName), value) }

// WriteOutput writes what the child hands back.
func (j *Job) WriteOutput(value any) error { return file.WriteJSON(j.path(outputName), value) }

// ReadOutput reads what the child has handed back.
func (j *Job) ReadOutput(value any) error { return readJSON(j.path(outputName), value) }

func readJSON(path string, value any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, value)
}

// calls counts the calls of each running test.
var calls struct {
	sync.Mutex
	of map[string]int
}

// NextCall returns the number of the present call of the test, from 1.
func NextCall(t *testing.T) int {
	calls.Lock()
	defer calls.Unlock()
	if calls.of == nil {
		calls.of = make(map[string]int)
	}
	name := t.Name()
	if calls.of[name]++; calls.of[name] == 1 {
		t.Cleanup(func() { // The test may run again.
			calls.Lock()
			defer calls.Unlock()
			delete(calls.of, name)
		})
	}
	return calls.of[name]
}
