package report

import "fmt"

// A Range are the schedules of a campaign from one number up to, but not including, another.
type Range struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Shard returns the range of one of several shards, which have nearly equal lengths.
func Shard(index, shards, schedules int) Range {
	cut := func(i int) int { return schedules/shards*i + schedules%shards*i/shards }
	return Range{cut(index), cut(index + 1)}
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
