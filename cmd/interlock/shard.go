package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shard"
	"github.com/interlock-sim/interlock/internal/search/strategy"
)

// setShard restricts the campaign, or the exhaustive search, to the shard that --shard names. It
// returns an error if other flags do not allow shards.
func (f *checkFlags) setShard(c *campaign.Campaign, given func(string) bool) error {
	s, err := parseShard(f.shard)
	switch {
	case err != nil:
		return err
	case f.strategy == strategy.ExhaustiveName && f.maxDeviations > 0:
		err = f.divisibleSearch(given)
	default:
		err = f.divisible("shard", given)
	}
	switch {
	case err != nil:
		return err
	case f.json == "":
		return errors.New("--shard needs --json, for interlock merge")
	case f.strategy == strategy.ExhaustiveName:
		f.part = s
	case s.Of > f.schedules:
		return fmt.Errorf("--shard %v: there are only %s", s, counted(f.schedules, "schedule"))
	default:
		c.Range = s.Range(f.schedules)
	}
	return nil
}

// divisibleSearch returns an error if an exhaustive search by deviations cannot be run in parts.
func (f *checkFlags) divisibleSearch(given func(string) bool) error {
	if given("schedules") || given("budget") || given("states") {
		return errors.New("--shard cannot be combined with --schedules, --budget or --states in " +
			"an exhaustive search: all of the schedules are run")
	}
	return nil
}

// divisible returns an error if the schedules cannot be run in parts, which a flag asks for.
func (f *checkFlags) divisible(flag string, given func(string) bool) error {
	switch {
	case f.strategy == strategy.ExhaustiveName:
		return fmt.Errorf("--%s cannot be combined with --strategy exhaustive: the parts would "+
			"not know each other's states; --shard can with --max-deviations", flag)
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
func parseShard(text string) (report.Shard, error) {
	first, second, found := strings.Cut(text, "/")
	i, errIndex := strconv.ParseUint(first, 10, 31)
	n, errShards := strconv.ParseUint(second, 10, 31)
	if !found || errIndex != nil || errShards != nil || i >= n {
		return report.Shard{}, fmt.Errorf("--shard must be I/N with I from 0 to N-1, not %q", text)
	}
	return report.Shard{Index: int(i), Of: int(n)}, nil
}

// describeShard returns what the first line of the report says of the shard, or "".
func (f *checkFlags) describeShard(c *campaign.Campaign) string {
	switch {
	case f.shard == "":
		return ""
	case f.part != report.Shard{}:
		return fmt.Sprintf(", shard %v", f.part)
	}
	return fmt.Sprintf(", shard %s: %v", f.shard, c.Range)
}

// newRecord returns the record of a shard for the JSON report, or nil if the campaign is no shard.
func (f *checkFlags) newRecord(c *campaign.Campaign, found report.Report) (any, error) {
	if f.shard == "" {
		return nil, nil
	}
	build, err := shard.Build()
	if err != nil {
		return nil, err
	}
	switch r := found.(type) {
	case *report.Campaign:
		return shard.New(build, c, r), nil
	case *report.Exhaustive:
		return shard.NewSearch(build, c, shard.Search{
			MaxDeviations: f.maxDeviations, FairSuffixes: f.fairSuffixes, Shards: f.part.Of,
		}, r), nil
	}
	return nil, nil
}
