package certify

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/internal/base/program"
)

// A Certificate is the report of a plan. The same program writes the same bytes for the same plan,
// wherever the plan and the counterexamples are: their recordings are named relative to the plan's
// directory and to [Runner.Out].
type Certificate struct {
	Version int `json:"version"`
	// Hash is the SHA-256 of the certificate with an empty hash.
	Hash     string    `json:"hash"`
	Partial  bool      `json:"partial"` // not all of the plan was run
	Failures []Failure `json:"failures"`
	Versions Versions  `json:"versions"`
	Sources  []Source  `json:"sources"`
	// Card has the verdicts, and how much each search has run.
	Card     *reportcard.Card `json:"card"`
	Locks    []*Lock          `json:"locks"`
	Tests    []Tested         `json:"tests"`
	MustFail []Replayed       `json:"must_fail"`
	MustPass []Replayed       `json:"must_pass"`
	Against  *Comparison      `json:"against,omitempty"`
	LeftOut  *LeftOut         `json:"left_out,omitempty"` // nil in older certificates

	struck map[string]bool // by kind of fault: whether it struck in a search
}

const certificateVersion = 6

// Versions are the versions of everything that affects the verdicts.
type Versions struct {
	Go        string   `json:"go"`
	Platform  string   `json:"platform"`
	Interlock string   `json:"interlock"`
	Build     string   `json:"build"` // SHA-256 of the program
	Modules   []Module `json:"modules"`
}

// A Module is a dependency of the program.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum,omitempty"`
}

// A Lock is what was measured of a lock. Its verdicts are in the card.
type Lock struct {
	Name string `json:"name"`
	judge.Measured
	// Missing lists the required cells in which no fault struck.
	Missing []string `json:"missing_coverage,omitempty"`
	// NeverReached lists sometimes conditions that a search should have reached, with the search.
	NeverReached []string `json:"sometimes_never,omitempty"`
	// Cost is absent if the lock was not measured, or could not be, for the reason Unmeasured.
	Cost       *Cost  `json:"cost,omitempty"`
	Unmeasured string `json:"unmeasured,omitempty"`
}

// Cost is what a lock costs without faults; see package costs.
type Cost struct {
	Requests   int `json:"requests"`    // of an acquire with its release
	RoundTrips int `json:"round_trips"` // see costs.Cost
	// HandOff is the virtual time from a release to the next grant, without message delays;
	// absent if no process waited.
	HandOff           *time.Duration `json:"hand_off_ns,omitempty"`
	HandOffRoundTrips *int           `json:"hand_off_round_trips,omitempty"`
	// Recovery is the virtual time from the crash of the holder to the next grant; absent if there
	// was none.
	Recovery *time.Duration `json:"recovery_ns,omitempty"`
}

// Replayed is a recording that was run again.
type Replayed struct {
	Recording string `json:"recording"` // see [Plan.File]
	Lock      string `json:"lock"`
	Signature string `json:"signature"`
	// Shown reports whether the run showed the recorded violation, or any if none is recorded.
	Shown bool `json:"shown"`
}

// versions returns the versions of this program.
func versions() (Versions, error) {
	hash, err := program.Hash()
	v := Versions{
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Interlock: program.Version(), Build: hash, Modules: []Module{},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			v.Modules = append(v.Modules, Module{m.Path, m.Version, m.Sum})
		}
	}
	return v, err
}

// sum returns the hash that the certificate should have.
func (c *Certificate) sum() string {
	unsigned := *c
	unsigned.Hash = ""
	content, err := json.Marshal(&unsigned)
	if err != nil {
		panic(err) // Everything in a certificate can be encoded.
	}
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}

// ReadCertificate reads a certificate, and verifies its version and its hash. The error names the
// file.
func ReadCertificate(path string) (*Certificate, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := new(Certificate)
	switch err := json.Unmarshal(content, c); {
	case err != nil:
		return nil, fmt.Errorf("%s is not a certificate, or is damaged: %w", path, err)
	case c.Version != certificateVersion || c.Card == nil:
		return nil, fmt.Errorf("%s is not a certificate of version %d", path, certificateVersion)
	case c.Hash != c.sum():
		return nil, fmt.Errorf("%s has been changed: its content does not have its hash", path)
	}
	return c, nil
}
