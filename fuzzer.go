package interlock

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/flightrecorder"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/internal/run/supervise"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
)

// A fuzzer is a target under go test -fuzz. The fuzzer's coordinator starts workers and ends when
// one of them fails or dies. Workers leave files in a directory that both know.
type fuzzer struct {
	f         *testing.F
	scenario  *scenarios.Scenario
	works     bool // this process is a worker
	directory string
	stall     time.Duration // how long a step may take
	memory    uint64        // limit of a worker's heap
	once      sync.Once
	twice     repeater
}

// fuzzes reports whether this process is a worker of the fuzzer.
func fuzzes() bool { return flagValue("test.fuzzworker") == "true" }

func flagValue(name string) string {
	if f := flag.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// newFuzzer returns the fuzzer of a target. The coordinator makes the directory.
func newFuzzer(f *testing.F, scenario *scenarios.Scenario) *fuzzer {
	z := &fuzzer{
		f: f, scenario: scenario, works: fuzzes(), stall: stallLimit(f),
		memory: memoryLimit(f) / memoryShare,
	}
	coordinator := os.Getpid()
	switch {
	case z.works:
		coordinator = os.Getppid()
	case flagValue("test.fuzz") == "" || supervise.Current() != nil:
		return z
	}
	z.directory = filepath.Join(os.TempDir(), "interlock-fuzz-"+strconv.Itoa(coordinator))
	if !z.works {
		if err := os.MkdirAll(z.directory, 0o700); err != nil {
			f.Fatal(err)
		}
	}
	return z
}

// begin begins the flight record of a worker.
func (z *fuzzer) begin() {
	if z.works {
		z.once.Do(func() {
			supervise.Watch(filepath.Join(z.directory, strconv.Itoa(os.Getpid())), z.stall,
				z.memory, z.scenario.Subject.EffectiveService().OwnsFrame)
		})
	}
}

// failedName is the name of the file with the last run that failed in a worker.
const failedName = "failed.json"

// keep keeps a failed run for the coordinator.
func (z *fuzzer) keep(result *engine.Result) {
	s := z.scenario
	file.WriteJSON(filepath.Join(z.directory, failedName), &recording.Recording{
		Lock: s.Subject.Name, Dimensions: s.Dimensions(), Scheduler: scheduler.Enabled,
		Deviations: result.Deviations,
	}) // Without it, there is no counterexample but the fuzzer's.
}

// report writes the counterexample when the fuzzer has ended, in the coordinator.
func (z *fuzzer) report() {
	z.f.Helper()
	if z.works || z.directory == "" {
		return
	}
	defer os.RemoveAll(z.directory) // What is left is in the directory for temporary files.
	if !z.f.Failed() {
		return
	}
	// The first input of the corpus always exists.
	job, err := supervise.NewJob(z.f.Name()+"/seed#0", 1)
	if err != nil {
		z.f.Fatal(err)
	}
	defer job.Remove()
	job.Stall, job.Memory = z.stall, z.memory*memoryShare
	p := &parent{
		t: z.f, scenario: z.scenario, job: job, verdict: newVerdict(z.f, z.scenario),
	}
	o := &supervise.Outcome{Death: &engine.Death{Reason: supervise.Killed, Message: "unknown"}}
	entries, _ := os.ReadDir(z.directory) // An empty one has nothing to report.
	for _, entry := range entries {
		if !strings.Contains(entry.Name(), ".") {
			flights, _ := flightrecorder.Read(filepath.Join(z.directory, entry.Name()))
			o.Flights = append(o.Flights, flights...)
		}
	}
	if len(o.Active()) > 0 {
		p.reportDeath(o)
	}
	if run, err := recording.ReadSchedule(filepath.Join(z.directory, failedName)); err == nil {
		z.f.Error(p.recordFailed(run))
	}
}
