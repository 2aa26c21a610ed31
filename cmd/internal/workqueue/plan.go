package workqueue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shard"
)

// A Plan is a campaign that is handed out in ranges of schedules.
type Plan struct {
	Build    string            `json:"build"` // of the programs that may run the ranges
	Campaign shard.Description `json:"campaign"`
	// RangeSchedules is the number of schedules of each range but the last.
	RangeSchedules int `json:"range_schedules"`
}

// ID returns a name of the plan. Different plans have different names.
func (p *Plan) ID() string {
	content, err := json.Marshal(p)
	if err != nil {
		panic(err) // Everything in a plan can be encoded.
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

// Ranges returns the number of ranges.
func (p *Plan) Ranges() int {
	return (p.Campaign.Schedules + p.RangeSchedules - 1) / p.RangeSchedules
}

// Range returns the schedules of the range with an index.
func (p *Plan) Range(index int) report.Range {
	from := index * p.RangeSchedules
	return report.Range{From: from, To: min(from+p.RangeSchedules, p.Campaign.Schedules)}
}

// A state is the plan of a queue and what its workers must know besides.
type state struct {
	Plan
	// Needed is the number of the first schedule that does not count any more. It is 0 when the
	// report of the plan is known.
	Needed int `json:"needed"`
	// AckWait is how long a worker may be silent until its range goes to another.
	AckWait time.Duration `json:"ack_wait_ns"`
	// Seen are the sets that the first ranges have filled. Later ranges need not have their keys.
	Seen report.SeenRecord `json:"seen"`
}
