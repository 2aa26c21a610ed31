package report

import "fmt"

// A Range are the schedules of a campaign from one number up to, but not including, another.
type Range struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// A Shard is one of several parts of a search.
type Shard struct {
	Index int `json:"index"` // from 0
	Of    int `json:"of"`    // how many there are
}

// String returns the shard as the flag --shard has it, such as 0/2.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Range returns the range of the shard of so many schedules. Shards have nearly equal lengths.
func (s Shard) Range(schedules int) Range {
	cut := func(i int) int { return schedules/s.Of*i + schedules%s.Of*i/s.Of }
	return Range{cut(s.Index), cut(s.Index + 1)}
}

// Len returns the number of schedules.
func (r Range) Len() int { return r.To - r.From }

// String names the schedules.
func (r Range) String() string {
	if r.Len() == 1 {
		return fmt.Sprintf("schedule %d", r.From)
	}
	return fmt.Sprintf("schedules %d to %d", r.From, r.To-1)
}
