package workqueue

import "time"

// A Progress is how far a plan is.
type Progress struct {
	Workers   int // that have been heard of lately
	Schedules int // stored, and those of the ranges under way
	Planned   int // that count, as far as is known
	Stored    int // ranges
	Ranges    int
	Failed    int // stored ranges with a violation
	PerSecond float64
}

// A heartbeat is what a worker tells the coordinator now and then.
type heartbeat struct {
	Worker    string  `json:"worker"`
	Range     int     `json:"range"`
	Schedules int     `json:"schedules"` // of the range, so far
	PerSecond float64 `json:"per_second"`
}

const (
	heartbeatInterval = 2 * time.Second
	// silence is the time after which a worker is not shown any more.
	silence = 4 * heartbeatInterval
)

// heard are the last heartbeats of the workers.
type heard struct {
	last map[string]heartbeat
	at   map[string]time.Time
}

// note notes a heartbeat.
func (h *heard) note(b heartbeat) {
	if h.last == nil {
		h.last, h.at = make(map[string]heartbeat), make(map[string]time.Time)
	}
	h.last[b.Worker], h.at[b.Worker] = b, time.Now()
}

// add adds the workers to a progress. The ranges in stored have results, so they are not under way.
func (h *heard) add(p *Progress, stored func(index int) bool) {
	running := make(map[int]int) // schedules, by range
	for worker, b := range h.last {
		if time.Since(h.at[worker]) > silence {
			continue
		}
		p.Workers++
		p.PerSecond += b.PerSecond
		if !stored(b.Range) {
			running[b.Range] = max(running[b.Range], b.Schedules)
		}
	}
	for _, schedules := range running {
		p.Schedules += schedules
	}
}
