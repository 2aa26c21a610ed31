package scenarios

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A checkpoint is how far an exhaustive search has come: the way that it is on, what is to be tried there yet, and the
// states that it has seen. It is good for the same search of the same code only.
type checkpoint struct {
	Format      string      `json:"format"` // always checkpointFormat
	Version     int         `json:"version"`
	Search      string      `json:"search"`      // what is searched
	Fingerprint TraceHash   `json:"fingerprint"` // of the run under the default policy, which is another if code has changed
	Schedules   int         `json:"schedules"`
	Steps       int         `json:"steps"`
	Transitions int         `json:"transitions"`
	Depth       int         `json:"depth"`
	CutOff      int         `json:"cut_off"`
	Digest      uint64      `json:"digest"`
	Landed      Landed      `json:"landed"`
	Aimed       Aimed       `json:"aimed"`
	ElapsedNs   int64       `json:"elapsed_ns"`
	Way         []waymark   `json:"way"`
	Seen        encodedKeys `json:"seen"`
}

const (
	checkpointFormat  = "interlock-checkpoint"
	checkpointVersion = 1
	// checkpointEvery is how often a search writes one while it runs.
	checkpointEvery = time.Minute
)

// A waymark is a branch as it stands in a file.
type waymark struct {
	Key      uint64 `json:"key"`
	Step     Step   `json:"step"`
	Usual    Step   `json:"usual"`
	Rest     []Step `json:"rest,omitempty"`
	Deferred []Step `json:"deferred,omitempty"`
	Slack    int    `json:"slack,omitempty"`
	Idle     bool   `json:"idle,omitempty"`
	Unstored int    `json:"unstored,omitempty"`
}

// encodedKeys are state keys, in ascending order, as base64 of 8 bytes each.
type encodedKeys []uint64

// MarshalText writes the keys.
func (k encodedKeys) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, 8*len(k))
	for _, key := range k {
		raw = binary.BigEndian.AppendUint64(raw, key)
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText reads the keys.
func (k *encodedKeys) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(raw)%8 != 0 {
		return errors.New("the states that were seen are not whole")
	}
	*k = make(encodedKeys, 0, len(raw)/8)
	for ; len(raw) > 0; raw = raw[8:] {
		*k = append(*k, binary.BigEndian.Uint64(raw))
	}
	return nil
}

// description says what is searched, as far as a search depends on it.
func (e *Exhaustive) description() string {
	text := fmt.Sprintf("%v, symmetry %v, slack %d, unreduced %v, live %v", &e.Scenario, e.Symmetry, e.Slack, e.Unreduced, e.Live)
	if e.Fair {
		text += ", fair"
	}
	return text
}

// Resume makes the next Run go on from where an earlier one has written the Checkpoint; without such a file it begins at
// the beginning. It returns an error that names the file if that cannot be read, or is no checkpoint of this search of
// this code.
func (e *Exhaustive) Resume(t *testing.T) error {
	e.fingerprint = TraceHash(NewRunner(t).Run(&e.Scenario, &Replay{}).TraceHash)
	content, err := os.ReadFile(e.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var c checkpoint
	if err := json.Unmarshal(content, &c); err != nil {
		return fmt.Errorf("%s is not a checkpoint of Interlock, or not a whole one: %w", e.Checkpoint, err)
	}
	switch {
	case c.Format != checkpointFormat:
		return fmt.Errorf("%s is not a checkpoint of Interlock: its format is %q, not %q", e.Checkpoint, c.Format, checkpointFormat)
	case c.Version != checkpointVersion:
		return fmt.Errorf("%s: version %d of the format, and this program reads only version %d", e.Checkpoint, c.Version, checkpointVersion)
	case c.Search != e.description():
		return fmt.Errorf("%s is of another search: %s. This one is: %s", e.Checkpoint, c.Search, e.description())
	case c.Fingerprint != e.fingerprint:
		return fmt.Errorf("%s was written with another version of the lock or of Interlock: the same schedule runs differently now", e.Checkpoint)
	}
	e.resumed = &c
	return nil
}

// resume puts a search where the checkpoint says.
func (x *explorer) resume(c *checkpoint, r *Report) {
	for _, key := range c.Seen {
		x.seen.add(key)
	}
	for _, w := range c.Way {
		x.path = append(x.path, branch{key: w.Key, step: w.Step, usual: w.Usual, rest: w.Rest, deferred: w.Deferred, slack: w.Slack, idle: w.Idle,
			unstored: w.Unstored})
	}
	x.transitions = c.Transitions
	r.Schedules, r.Steps, r.Transitions, r.Depth, r.CutOff = c.Schedules, c.Steps, c.Transitions, c.Depth, c.CutOff
	r.Digest, r.Landed, r.Aimed, r.States = c.Digest, c.Landed, c.Aimed, x.seen.count
}

// save writes a checkpoint. Where the file stands there is a whole one at any time.
func (x *explorer) save(r *Report) error {
	c := checkpoint{
		Format: checkpointFormat, Version: checkpointVersion, Search: x.search.description(), Fingerprint: x.search.fingerprint,
		Schedules: r.Schedules, Steps: r.Steps, Transitions: r.Transitions, Depth: r.Depth, CutOff: r.CutOff,
		Digest: r.Digest, Landed: r.Landed, Aimed: r.Aimed, ElapsedNs: int64(r.Elapsed), Seen: x.seen.sorted(),
	}
	for i := range x.path {
		b := &x.path[i]
		c.Way = append(c.Way, waymark{Key: b.key, Step: b.step, Usual: b.usual, Rest: b.rest, Deferred: b.deferred, Slack: b.slack, Idle: b.idle,
			Unstored: b.unstored})
	}
	content, err := json.Marshal(&c)
	if err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(x.search.Checkpoint), draftPrefix)
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name()) // Nothing is left to remove once it has been renamed.
	_, err = draft.Write(content)
	if err = errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), x.search.Checkpoint)
}

// sorted returns the keys in ascending order.
func (s *keySet) sorted() []uint64 {
	keys := make([]uint64, 0, s.count)
	if s.zero {
		keys = append(keys, 0)
	}
	for _, key := range s.slots {
		if key != 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
