package recording_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// counterexample returns a small failing run of a broken lock.
func counterexample(t *testing.T, runner *engine.Runner) *recording.Counterexample {
	t.Helper()
	original := locktest.Scenario(subjects.ExistsThenWait(), 2, 1, 0)
	for i := range 1000 {
		if r := runner.Run(original, strategy.NewRandom(1, i)); len(r.Violations) > 0 {
			c, err := recording.NewCounterexample(runner, *original, r.Deviations, "", 1, i)
			if err != nil {
				t.Fatal(err)
			}
			c.ReplayBy = func(directory string) string { return "replay " + directory }
			return c
		}
	}
	t.Fatal("no schedule failed")
	return nil
}

// A counterexample contains all that a replay needs: 20 of 20 replays reproduce it.
func TestWriteAndReplay(t *testing.T) {
	runner := engine.NewRunner(t)
	c := counterexample(t, runner)
	directory, err := c.Write(filepath.Join(t.TempDir(), "new", "below"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{directory, filepath.Join(directory, "schedule.json")} {
		recording, err := recording.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := recording.Scenario(subjects.ExistsThenWait())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			again := engine.NewRunner(t).Run(s,
				&engine.Replay{Deviations: recording.Deviations})
			if again.TraceHash != uint64(recording.TraceHash) ||
				again.Violations[0].Signature() != recording.Signature {
				t.Fatalf("replay %d has trace hash %x and violates %v", i, again.TraceHash,
					again.Violations)
			}
		}
	}
	traceFile, err := os.Open(filepath.Join(directory, "trace.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer traceFile.Close()
	trace, err := history.Read(traceFile)
	if err != nil || trace.Hash() != uint64(c.Recording.TraceHash) {
		t.Errorf("the written trace has hash %x, error %v, want %v", trace.Hash(), err,
			c.Recording.TraceHash)
	}
	var report struct{ Replay string }
	content, err := os.ReadFile(filepath.Join(directory, "report.json"))
	if err == nil {
		err = json.Unmarshal(content, &report)
	}
	if err != nil || report.Replay != "replay "+directory {
		t.Errorf("the replay command in report.json is %q, error %v", report.Replay, err)
	}
	shown, err := os.ReadFile(filepath.Join(directory, "timeline.html"))
	if err != nil || !strings.Contains(string(shown), "replay "+directory) ||
		!strings.Contains(string(shown), `"property":"`+c.Recording.Property) {
		t.Errorf("timeline.html has %d bytes and lacks the violation or the command for replay, "+
			"error %v", len(shown), err)
	}
	// A second Write replaces the first and leaves no temporary files.
	_, err = recording.NewCounterexample(runner, c.Scenario, c.Recording.Deviations, "", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.Write(filepath.Dir(directory)); err != nil || again != directory {
		t.Errorf("written again to %s, error %v, want %s", again, err, directory)
	}
	if entries, err := os.ReadDir(filepath.Dir(directory)); err != nil || len(entries) != 1 {
		t.Errorf("entries %v, error %v, want one", entries, err)
	}
}

func TestReadRecordingRefuses(t *testing.T) {
	good := stored(t)
	replaced := func(from, to string) string {
		if !strings.Contains(string(good), from) {
			t.Fatalf("%s does not contain %s", good, from)
		}
		return strings.Replace(string(good), from, to, 1)
	}
	// signed returns an edited schedule with its checksum.
	signed := func(content string) string {
		path := filepath.Join(t.TempDir(), "schedule.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := recording.ReadSchedule(path)
		if err == nil {
			err = r.Write(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(again)
	}
	for _, tc := range []struct{ name, content, want string }{
		{"empty", "", "not a schedule of Interlock"},
		{"truncated", string(good[:len(good)/2]), "is damaged"},
		{"foreign", `{"clients": 3}`, `its format is ""`},
		{"an array", `[1]`, "not a schedule of Interlock"},
		{"newer", replaced(`"version": 3`, `"version": 4`), "version 4 of the format"},
		{"unknown step", replaced(`"step": "`, `"step": "dance `), "is not the name of a step"},
		{
			"unordered", signed(replaced(`"index": `, `"index": 9999`)),
			"is not greater than the one before",
		},
		{"edited", replaced(`"index": `, `"index": 1`), "its checksum is wrong"},
		{"without checksum", replaced(`"checksum": "`, `"sum": "`), "its checksum is wrong"},
		{"bad plan", replaced(`"faults": "none"`, `"faults": "x"`), `"x" is not of the form`},
		{
			"no property", signed(replaced(`"property": "progress"`, `"property": ""`)),
			"property and signature must both be empty, or neither",
		},
		{
			"no signature", signed(replaced(`"signature": "`, `"signed": "`)),
			"property and signature must both be empty, or neither",
		},
		{"bad hash", replaced(`"trace_hash": "`, `"trace_hash": "x`), "is not a trace hash"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "schedule.json")
			if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := recording.Read(path)
			if err == nil || !strings.Contains(err.Error(), tc.want) ||
				!strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want one that contains %q and the path", err, tc.want)
			}
		})
	}
	if _, err := recording.Read(filepath.Join(t.TempDir(),
		"nosuch")); !os.IsNotExist(err) {
		t.Errorf("a missing file gives %v", err)
	}
}

// stored returns the file of a counterexample's schedule.
func stored(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "schedule.json")
	r := counterexample(t, engine.NewRunner(t)).Recording
	if err := r.Write(path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Whatever bit of a stored schedule flips, and wherever it is cut, it is refused, or it is the same
// schedule: the bit was one of white space, or of the case of a key.
func TestDamagedSchedule(t *testing.T) {
	good := stored(t)
	path := filepath.Join(t.TempDir(), "schedule.json")
	read := func(content []byte) (*recording.Recording, error) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return recording.Read(path)
	}
	want, err := read(good)
	if err != nil {
		t.Fatal(err)
	}
	step := 9 // one bit of most bytes, each in turn
	if long.Enabled() {
		step = 1
	}
	refused, flipped := 0, 0
	for bit := 0; bit < 8*len(good); bit += step {
		flipped++
		damaged := bytes.Clone(good)
		damaged[bit/8] ^= 1 << (bit % 8)
		switch got, err := read(damaged); {
		case err != nil && strings.Contains(err.Error(), path):
			refused++
		case err != nil || !reflect.DeepEqual(got, want):
			t.Errorf("bit %d of byte %d: %+v, %v", bit%8, bit/8, got, err)
		}
	}
	if least := flipped * 2 / 3; refused < least {
		t.Errorf("%d of %d flips are refused, not %d", refused, flipped, least)
	}
	for end := 0; end < len(bytes.TrimSpace(good)); end += step {
		if _, err := read(good[:end]); err == nil {
			t.Errorf("the first %d of %d bytes are a schedule", end, len(good))
		}
	}
}

func TestRecordingBounds(t *testing.T) {
	r := counterexample(t, engine.NewRunner(t)).Recording
	for _, clients := range []int{-1, 0, 1 << 30} {
		r.Clients = clients
		if _, err := r.Scenario(subjects.ExistsThenWait()); err == nil {
			t.Errorf("%d clients are accepted", clients)
		}
	}
}

// A canceled Shrink returns a schedule that still fails.
func TestShrinkInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	runner := engine.NewRunner(t)
	c := counterexample(t, runner)
	small, deviations := shrink.Shrink(ctx, runner, c.Scenario, c.Recording.Deviations,
		c.Recording.Signature)
	if small.String() != c.Scenario.String() || !slices.Equal(deviations, c.Recording.Deviations) {
		t.Errorf("%v with %v, want the input", &small, deviations)
	}
}

// Directories of counterexamples may be part of a module; see module.CheckFilePath of
// golang.org/x/mod.
func TestCorpusIsAPathOfAModule(t *testing.T) {
	for test, want := range map[string]string{
		"TestLock":            "TestLock",
		"TestLock/fair[1]":    "TestLock-fair[1]",
		`TestLock/a:b*"c'd|?`: "TestLock-a%3Ab%2A%22c%27d%7C%3F",
		"TestLock/50%":        "TestLock-50%25",
		"TestLock/é→.":        "TestLock-é%E2%86%92%2E",
	} {
		if got := filepath.Base(recording.Corpus(test)); got != want {
			t.Errorf("%s has the directory %s, want %s", test, got, want)
		}
	}
}
