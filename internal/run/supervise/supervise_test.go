package supervise_test

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/supervise"
	"github.com/interlock-sim/interlock/scenarios"
)

// limit is longer than any child takes that ends by itself.
const limit = time.Minute

func ownsNothing(string) bool { return false }

// A childTest is a call that a child executes, and how the parent sees it end.
type childTest struct {
	name    string
	call    func(t *testing.T)
	memory  uint64
	stall   time.Duration
	ends    supervise.Outcome // with the fields that say how the call ended
	reason  string            // of the death, if the child dies
	message string
}

var childTests = []childTest{
	{
		name: "returns", call: func(t *testing.T) { t.Log("well") },
		ends: supervise.Outcome{Ended: true, Returned: true},
	},
	{
		name: "fails", call: func(t *testing.T) { t.Error("badly") },
		ends: supervise.Outcome{Ended: true, Failed: true, Returned: true},
	},
	{
		name: "aborts", call: func(t *testing.T) { t.Fatal("badly") },
		ends: supervise.Outcome{Ended: true, Failed: true},
	},
	{
		name: "skips", call: func(t *testing.T) { t.Skip("for now") },
		ends: supervise.Outcome{Ended: true, Skipped: true},
	},
	{
		name: "panics", call: func(*testing.T) { go panic("boom"); select {} },
		reason: supervise.Panicked, message: "boom",
	},
	{
		name: "panics with lines", call: func(*testing.T) {
			go panic(errors.Join(errors.New("first"), errors.New("second")))
			select {}
		},
		reason: supervise.Panicked, message: "first; second",
	},
	{
		name: "exits", call: func(*testing.T) { os.Exit(5) },
		reason: supervise.Exited, message: "os.Exit(5)",
	},
	{
		name: "fatal", call: func(*testing.T) { new(sync.Mutex).Unlock() },
		reason: supervise.Fatal, message: "sync: unlock of unlocked mutex",
	},
	{
		name: "killed", call: killSelf, reason: supervise.Killed, message: "killed",
	},
	{
		name: "memory", call: allocate, memory: 64 << 20,
		reason: supervise.Memory, message: "more than 64 MiB",
	},
	{
		name: "stalls", call: stall, stall: 100 * time.Millisecond,
		reason: supervise.Stalled, message: "not blocked",
	},
}

func killSelf(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	select {}
}

// kept keeps what allocate allocates alive.
var kept []byte

// allocate allocates twice its limit, and waits to be found.
func allocate(*testing.T) {
	kept = make([]byte, 128<<20)
	select {}
}

// stall begins a run and takes no decision in it.
func stall(*testing.T) {
	engine.NewFlightRecorder().Begin(&scenarios.Scenario{Clients: 1}, 3)
	select {}
}

// The outcome says how the call of a child ended, or how the child died.
func TestChild(t *testing.T) {
	for _, tc := range childTests {
		t.Run(tc.name, func(t *testing.T) {
			if job := supervise.Current(); job != nil {
				job.Perform(t, ownsNothing, func() { tc.call(t) })
				return
			}
			t.Parallel()
			tc.run(t)
		})
	}
}

func (tc *childTest) run(t *testing.T) {
	job, err := supervise.NewJob(t.Name(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer job.Remove()
	job.Stall, job.Memory = cmp.Or(tc.stall, limit), tc.memory
	job.TrapExit = tc.reason == supervise.Exited
	var logs bytes.Buffer
	o, err := job.Run(&logs, limit, limit, ownsNothing)
	if err != nil {
		t.Fatal(err)
	}
	if !o.Began || o.TimedOut || o.Ended != tc.ends.Ended || o.Failed != tc.ends.Failed ||
		o.Skipped != tc.ends.Skipped || o.Returned != tc.ends.Returned {
		t.Errorf("outcome %+v, printed %s", o, o.Printed)
	}
	switch {
	case tc.reason == "":
		if o.Death != nil {
			t.Errorf("death %+v", o.Death)
		}
	case o.Death == nil || o.Death.Reason != tc.reason ||
		!strings.Contains(o.Death.Message, tc.message):
		t.Errorf("death %+v, want %s: %s", o.Death, tc.reason, tc.message)
	}
	if tc.name == "returns" && !strings.Contains(logs.String(), "well") {
		t.Errorf("the log of the child is %q", logs.String())
	}
	if active := o.Active(); tc.name == "stalls" &&
		(len(active) != 1 || active[0].Schedule != 3) {
		t.Errorf("runs under way: %+v", active)
	}
}

// A child that does not reach the call has no outcome but what it prints.
func TestChildWithoutCall(t *testing.T) {
	job, err := supervise.NewJob("TestNone", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer job.Remove()
	job.Stall = limit
	o, err := job.Run(nil, limit, limit, ownsNothing)
	if err != nil || o.Began || o.Ended || o.Death != nil ||
		!strings.Contains(o.Printed, "PASS") {
		t.Errorf("outcome %+v, error %v", o, err)
	}
}

// A child that takes longer than the limit is killed.
func TestLateChild(t *testing.T) {
	if job := supervise.Current(); job != nil {
		job.Perform(t, ownsNothing, func() { select {} })
		return
	}
	job, err := supervise.NewJob(t.Name(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer job.Remove()
	job.Stall = limit
	o, err := job.Run(nil, 200*time.Millisecond, limit, ownsNothing)
	if err != nil || !o.TimedOut || o.Ended {
		t.Errorf("outcome %+v, error %v", o, err)
	}
}
