package report_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/internal/search/report"
)

// keysFrom returns distinct keys, as many as the range has numbers.
func keysFrom(from, to int) (keys []uint64) {
	for i := from; i < to; i++ {
		keys = append(keys, uint64(i)*0x9e3779b97f4a7c15)
	}
	return keys
}

// see returns what a campaign with these states and histories has seen.
func see(states, histories []uint64) *report.Seen {
	s := new(report.Seen)
	s.AddStates(states)
	for _, hash := range histories {
		s.AddHistory(hash)
	}
	return s
}

// recorded returns the stored form of what was seen, read back.
func recorded(t *testing.T, s *report.Seen) *report.SeenRecord {
	t.Helper()
	text, err := json.Marshal(s.Record())
	if err != nil {
		t.Fatal(err)
	}
	r := new(report.SeenRecord)
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Merged records count each state and history once, up to the bounds.
func TestSeenMerges(t *testing.T) {
	const states, histories = report.StatesMax, report.HistoriesMax
	for _, tc := range []struct {
		name                    string
		first, second           [2]int // ranges of states and histories
		wantStates, wantHistory int
		capped                  bool
	}{
		{"disjoint", [2]int{0, 10}, [2]int{10, 15}, 15, 15, false},
		{"common", [2]int{0, 10}, [2]int{5, 12}, 12, 12, false},
		{
			"histories at the bound",
			[2]int{0, histories - 1},
			[2]int{9, histories},
			histories,
			histories, false,
		},
		{"states at the bound", [2]int{0, states}, [2]int{9, states}, states, histories, false},
		{"states beyond", [2]int{0, states}, [2]int{states, states + 1}, states, histories, true},
		{"one beyond", [2]int{0, states + 1}, [2]int{0, 1}, states, histories, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			one, other := keysFrom(tc.first[0], tc.first[1]), keysFrom(tc.second[0], tc.second[1])
			merged := new(report.Seen)
			merged.Merge(recorded(t, see(other, other)))
			merged.Merge(recorded(t, see(one, one)))
			whole := see(append(one, other...), append(one, other...))
			for _, s := range []*report.Seen{merged, whole} {
				count, capped := s.States()
				if count != tc.wantStates || capped != tc.capped || s.Histories() != tc.wantHistory {
					t.Errorf("merged %v: %d states, capped %v, %d histories; want %d, %v, %d",
						s == merged, count, capped, s.Histories(), tc.wantStates, tc.capped,
						tc.wantHistory)
				}
			}
		})
	}
}

// The shards of a campaign have each schedule once, and nearly the same length.
func TestShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schedules := rapid.IntRange(1, 1<<40).Draw(t, "schedules")
		shards := rapid.IntRange(1, min(schedules, 1000)).Draw(t, "shards")
		next := 0
		for i := range shards {
			r := report.Shard{Index: i, Of: shards}.Range(schedules)
			if even := schedules / shards; r.From != next || r.Len() < even || r.Len() > even+1 {
				t.Fatalf("shard %d has %v, after %d", i, r, next)
			}
			next = r.To
		}
		if next != schedules {
			t.Fatalf("the shards end at %d", next)
		}
	})
}
