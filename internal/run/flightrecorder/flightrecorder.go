// Package flightrecorder keeps the decisions of runs in a file that survives the program, so that
// another program can tell which schedule ended it.
//
// The file has a slot for each runner. Where the system allows it, the file is mapped into memory,
// so that a decision costs a few stores; what is stored stays in the file however the program ends.
package flightrecorder

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync/atomic"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// The layout of a slot, in bytes.
const (
	stateAt      = 0 // a state
	runsAt       = 8 // how many runs have begun
	scheduleAt   = 16
	stepsAt      = 24
	countAt      = 32 // of deviations
	lengthAt     = 40 // of the scenario
	scenarioAt   = 48
	deviationsAt = 8 << 10
	slotSize     = 48 << 10
	recordSize   = 16
	recordsMax   = (slotSize - deviationsAt) / recordSize // more than [engine.StepsMax]
	slots        = 128
)

// A State says what a runner does.
type State uint64

// The states of a runner.
const (
	Idle    State = iota
	Running       // goroutines of a run
	Judging       // a run whose goroutines have ended
)

// A Recorder is a file of flight records.
type Recorder struct {
	file   *os.File
	memory []byte // the mapped file, or nil
	next   atomic.Int64
}

// Create creates the file of a recorder.
func Create(path string) (*Recorder, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(slots * slotSize); err != nil {
		file.Close()
		return nil, err
	}
	r := &Recorder{file: file}
	r.memory, _ = mapFile(file, slots*slotSize) // Without it, each store is a write.
	return r, nil
}

// NewSlot returns a slot for a runner. If there are more runners than slots, the oldest runner's
// slot is used again.
func (r *Recorder) NewSlot() engine.FlightRecorder {
	return &slot{recorder: r, at: int((r.next.Add(1)-1)%slots) * slotSize}
}

// store stores a word.
func (r *Recorder) store(at int, value uint64) {
	if r.memory != nil {
		atomic.StoreUint64(wordAt(r.memory, at), value)
		return
	}
	var word [8]byte
	binary.NativeEndian.PutUint64(word[:], value)
	r.file.WriteAt(word[:], int64(at)) // A record that cannot be written is no reason to stop.
}

// A slot implements [engine.FlightRecorder].
type slot struct {
	recorder *Recorder
	at       int
	runs     uint64
	last     scenarios.Dimensions // of the last run
	written  []engine.Deviation
}

// Begin implements [engine.FlightRecorder].
func (s *slot) Begin(scenario *scenarios.Scenario, schedule int) {
	s.noteScenario(scenario)
	s.written = s.written[:0]
	s.runs++
	s.store(stepsAt, 0)
	s.store(countAt, 0)
	s.store(scheduleAt, uint64(schedule))
	s.store(runsAt, s.runs)
	s.store(stateAt, uint64(Running))
}

// noteScenario writes the scenario if it is not that of the last run. The program that reads it
// knows the lock.
func (s *slot) noteScenario(scenario *scenarios.Scenario) {
	dimensions := scenario.Dimensions()
	if dimensions == s.last {
		return
	}
	s.last = dimensions
	text, err := json.Marshal(dimensions)
	if err != nil || len(text) > deviationsAt-scenarioAt {
		s.store(lengthAt, 0)
		return
	}
	s.store(lengthAt, uint64(len(text)))
	for i := 0; i < len(text); i += 8 {
		var word [8]byte
		copy(word[:], text[i:])
		s.store(scenarioAt+i, binary.NativeEndian.Uint64(word[:]))
	}
}

// Resume implements [engine.FlightRecorder].
func (s *slot) Resume(deviations []engine.Deviation) {
	for _, d := range deviations {
		s.note(d)
	}
}

// Decide implements [engine.FlightRecorder].
func (s *slot) Decide(index int, step sim.Step, deviates bool) {
	if deviates {
		s.note(engine.Deviation{Index: index, Step: step})
	}
	s.store(stepsAt, uint64(index+1))
}

// note appends a deviation.
func (s *slot) note(d engine.Deviation) {
	if len(s.written) == recordsMax {
		return
	}
	at := deviationsAt + len(s.written)*recordSize
	s.written = append(s.written, d)
	s.store(at, uint64(d.Index))
	s.store(at+8, uint64(uint32(d.Step.Process))<<32|uint64(d.Step.Peer)<<16|
		uint64(d.Step.Fault)<<8|uint64(d.Step.Kind))
	s.store(countAt, uint64(len(s.written)))
}

// Judge implements [engine.FlightRecorder].
func (s *slot) Judge() { s.store(stateAt, uint64(Judging)) }

// End implements [engine.FlightRecorder].
func (s *slot) End() { s.store(stateAt, uint64(Idle)) }

func (s *slot) store(at int, value uint64) { s.recorder.store(s.at+at, value) }

// A Flight is what a slot says of the last run of its runner.
type Flight struct {
	State      State
	Runs       int // how many runs have begun
	Schedule   int // the number that the runner had for the run
	Steps      int // how many decisions were taken
	Deviations []engine.Deviation
	scenarios.Dimensions
}

// Read returns the flights of all runners that have begun a run, in the order of their schedules.
func Read(path string) ([]Flight, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(content) != slots*slotSize {
		return nil, fmt.Errorf("%s has %d bytes, not %d", path, len(content), slots*slotSize)
	}
	var flights []Flight
	for at := 0; at < len(content); at += slotSize {
		if f, ok := flight(content[at : at+slotSize]); ok {
			flights = append(flights, f)
		}
	}
	slices.SortStableFunc(flights, func(a, b Flight) int { return a.Schedule - b.Schedule })
	return flights, nil
}

// flight decodes a slot. It returns false if the slot has no run.
func flight(content []byte) (f Flight, ok bool) {
	word := func(at int) uint64 { return binary.NativeEndian.Uint64(content[at:]) }
	f = Flight{
		State: State(word(stateAt)), Runs: int(word(runsAt)), Schedule: int(word(scheduleAt)),
		Steps: int(word(stepsAt)),
	}
	length := min(word(lengthAt), deviationsAt-scenarioAt)
	if f.Runs == 0 ||
		json.Unmarshal(content[scenarioAt:scenarioAt+length], &f.Dimensions) != nil {
		return f, false
	}
	for i := range min(word(countAt), recordsMax) {
		at := deviationsAt + int(i)*recordSize
		step := word(at + 8)
		f.Deviations = append(f.Deviations, engine.Deviation{
			Index: int(word(at)),
			Step: sim.Step{
				Kind: sim.StepKind(step), Fault: faults.Kind(step >> 8), Peer: uint8(step >> 16),
				Process: int32(step >> 32),
			},
		})
	}
	return f, true
}

// A Progress changes with every decision of every run.
type Progress []uint64

// Progress returns the progress of each slot whose runner runs goroutines; 0 for the others.
func (r *Recorder) Progress(last Progress) Progress {
	last = last[:0]
	for at := 0; at < slots*slotSize; at += slotSize {
		value := uint64(0)
		if State(r.load(at+stateAt)) == Running {
			value = 1 + r.load(at+runsAt)<<32 + r.load(at+stepsAt)
		}
		last = append(last, value)
	}
	return last
}

// load loads a word.
func (r *Recorder) load(at int) uint64 {
	if r.memory != nil {
		return atomic.LoadUint64(wordAt(r.memory, at))
	}
	var word [8]byte
	r.file.ReadAt(word[:], int64(at)) // What cannot be read makes no progress.
	return binary.NativeEndian.Uint64(word[:])
}

// Stuck reports whether a slot had the same progress in both.
func (p Progress) Stuck(before Progress) bool {
	for i := range p {
		if i < len(before) && p[i] != 0 && p[i] == before[i] {
			return true
		}
	}
	return false
}
