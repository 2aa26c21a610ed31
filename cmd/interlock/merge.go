package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shard"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

func newMerge(t *testing.T) *cobra.Command {
	var f reportFlags
	command := &cobra.Command{
		Use:   "merge REPORT...",
		Short: "Make one report of the shards of a campaign",
		Long: `Merge reads the JSON reports of all shards of a campaign, or of an exhaustive
search with --max-deviations, which interlock check --shard has written, in any
order. It prints the report of the whole, as one machine prints it that runs all
schedules, and shrinks the failures.

The shards must have been run by the same build of interlock as merge, with the
same flags. If a shard has ended the campaign by a violation, later schedules
do not count, and reports of them are not needed.

Exit status:
  as for interlock check; 2 also if a report is missing, or the reports do not
  belong together; 130 if a signal ended it`,
		Example: `  interlock check --schedules 100000 --shard 0/2 --json 0.json
  interlock check --schedules 100000 --shard 1/2 --json 1.json
  interlock merge 0.json 1.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := f.validate(cmd.Flags().Changed); err != nil {
				return err
			}
			return runMerge(cmd.Context(), t, paths, &f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.define(command)
	return command
}

// runMerge merges the reports and reports the campaign.
func runMerge(ctx context.Context, t *testing.T, paths []string, f *reportFlags,
	stdout, stderr io.Writer,
) error {
	defer ignorePipe()()
	var records []*shard.Record
	var searches []*shard.SearchRecord
	for _, path := range paths {
		if err := f.sparing(path); err != nil {
			return err
		}
		read, err := shard.Read(path)
		switch {
		case err != nil:
			return err
		case read.Search != nil:
			searches = append(searches, read.Search)
		case read.Campaign.Campaign.Client == scenarios.Real && real.RaceDetector:
			return errRealUnderRace
		default:
			records = append(records, read.Campaign)
		}
	}
	if len(records) > 0 && len(searches) > 0 {
		return errors.New("the reports are of a campaign and of an exhaustive search: merge each " +
			"by itself")
	}
	c, found, err := mergeRecords(ctx, t, records, searches)
	if err != nil {
		return err
	}
	o, err := f.openOutputs(stdout, stderr)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(o.text, "merging %s of %v, seed %d\n", counted(len(paths), "report"),
		c, c.Seed); unwritable(err) {
		return exit.With(exit.Internal, err)
	}
	return o.present(ctx, t, c, found, nil)
}

// mergeRecords returns the campaign of the records, or the exhaustive search if there are records
// of one, and its report, or the error with which the program ends.
func mergeRecords(ctx context.Context, t *testing.T, records []*shard.Record,
	searches []*shard.SearchRecord,
) (c *campaign.Campaign, r report.Report, err error) {
	build, err := shard.Build()
	if err != nil {
		return nil, nil, exit.With(exit.Internal, err)
	}
	if len(searches) > 0 {
		c, r, err = shard.MergeSearch(ctx, t, build, lockNamed, searches)
	} else {
		c, r, err = shard.Merge(ctx, t, build, lockNamed, records)
	}
	var failed *shard.FailedError
	switch {
	case ctx.Err() != nil:
		return nil, nil, exit.With(exit.Interrupted, errors.New("interrupted"))
	case errors.As(err, &failed):
		return nil, nil, exit.With(exit.Internal, err)
	}
	return c, r, err
}

// sparing returns an error if a report would be written over the file.
func (f *reportFlags) sparing(path string) error {
	input, err := os.Stat(path)
	if err != nil {
		return nil // Reading it says so.
	}
	for _, output := range []struct{ flag, path string }{
		{"--json", f.json}, {"--junit", f.junit}, {"--sarif", f.sarif},
	} {
		if existing, err := os.Stat(output.path); err == nil && os.SameFile(input, existing) {
			return fmt.Errorf("%s: %s is a report to merge; give another file", output.flag,
				output.path)
		}
	}
	return nil
}

// lockNamed returns a bundled lock for the engine.
func lockNamed(name string) (scenarios.Subject, error) {
	subject, err := bundled.Named(name)
	if err != nil {
		return scenarios.Subject{}, err
	}
	return subject, nil
}
