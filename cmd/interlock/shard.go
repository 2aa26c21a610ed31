package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/internal/campaign"
	"github.com/interlock-sim/interlock/internal/report"
	"github.com/interlock-sim/interlock/internal/shard"
	"github.com/interlock-sim/interlock/internal/strategy"
)

// shardRange returns the schedules of the shard that --shard names, or an error if other flags do
// not allow shards.
func (f *checkFlags) shardRange(given func(string) bool) (report.Range, error) {
	index, shards, err := parseShard(f.shard)
	if err == nil {
		err = f.divisible("shard", given)
	}
	switch {
	case err != nil:
	case f.json == "":
		err = errors.New("--shard needs --json, for interlock merge")
	case shards > f.schedules:
		err = fmt.Errorf("--shard %s: there are only %s", f.shard,
			counted(f.schedules, "schedule"))
	}
	if err != nil {
		return report.Range{}, err
	}
	return report.Shard(index, shards, f.schedules), nil
}

// divisible returns an error if the schedules cannot be run in parts, which a flag asks for.
func (f *checkFlags) divisible(flag string, given func(string) bool) error {
	switch {
	case f.strategy == strategy.ExhaustiveName:
		return fmt.Errorf("--%s cannot be combined with --strategy exhaustive: the parts would "+
			"not know each other's states", flag)
	case strategy.Adaptive(f.strategy):
		return fmt.Errorf("--%s cannot be combined with --strategy %s, whose schedules depend "+
			"on earlier ones; use %s", flag, f.strategy, strategy.RoundRobinName)
	case !given("schedules"):
		return fmt.Errorf("--%s needs --schedules, the number of schedules of all parts", flag)
	case given("budget") || given("states"):
		return fmt.Errorf("--%s cannot be combined with --budget or --states: all of the "+
			"schedules are run", flag)
	case f.seed == "random":
		return fmt.Errorf("--%s needs a number for --seed, the same for all parts", flag)
	}
	return nil
}

// parseShard parses the value of --shard.
func parseShard(text string) (index, shards int, err error) {
	first, second, found := strings.Cut(text, "/")
	i, errIndex := strconv.ParseUint(first, 10, 31)
	n, errShards := strconv.ParseUint(second, 10, 31)
	if !found || errIndex != nil || errShards != nil || i >= n {
		return 0, 0, fmt.Errorf("--shard must be I/N with I from 0 to N-1, not %q", text)
	}
	return int(i), int(n), nil
}

// sharded reports whether the campaign is a shard.
func sharded(c *campaign.Campaign) bool { return c.Range != report.Range{} }

// describeShard returns what the first line of the report says of the shard, or "".
func (f *checkFlags) describeShard(c *campaign.Campaign) string {
	if !sharded(c) {
		return ""
	}
	return fmt.Sprintf(", shard %s: %v", f.shard, c.Range)
}

// newRecord returns the record of a shard for the JSON report, or nil if the campaign is no shard.
func newRecord(c *campaign.Campaign, found report.Report) (*shard.Record, error) {
	r, ok := found.(*report.Campaign)
	if !ok || !sharded(c) {
		return nil, nil
	}
	build, err := shard.Build()
	if err != nil {
		return nil, err
	}
	return shard.New(build, c, r), nil
}
