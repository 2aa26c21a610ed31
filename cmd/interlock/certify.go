package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/judge/certify"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/search/strategy"
)

// certifyFlags holds the flags of certify as they were given.
type certifyFlags struct {
	against, html, seed string
	reportFlags
}

func newCertify(t *testing.T) *cobra.Command {
	var f certifyFlags
	command := &cobra.Command{
		Use:   "certify [PLAN]",
		Short: "Run a plan of searches and report what was shown",
		Long: `Certify runs the searches, the tests and the recordings that PLAN declares, by
default interlock.yaml, and writes one report: what was searched exhaustively
within which bounds, what was sampled how much, which faults struck where, what
each lock costs, which recordings still fail, and the versions of everything.
With --against it also lists what changed since an older report.

Exit status:
  0  no reason against a release
  1  a reason against a release; each is printed on a line
  2  bad usage, or an unusable file
  3  nondeterminism, a failed write or an internal error
  4  a signal ended it before it found anything; the report is marked as partial`,
		Example: "  interlock certify --json certificate.json --against released.json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if err := f.validate(cmd.Flags().Changed); err != nil {
				return err
			}
			if cmd.Flags().Changed("html") && (f.html == "" || f.html == "-") {
				return errors.New("--html needs a file")
			}
			if f.html != "" && slices.Contains([]string{f.json, f.junit, f.sarif}, f.html) {
				return errors.New("--html and the other reports need different files")
			}
			path := append(arguments, "interlock.yaml")[0]
			return f.run(cmd.Context(), t, path, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.against, "against", "", "older report to compare with, a JSON `file`")
	flags.StringVar(&f.seed, "seed", "", "random seed instead of the plan's, or random")
	flags.StringVar(&f.html, "html", "", "`file` for the report as a web page")
	f.define(command)
	return command
}

// run runs the plan and reports it.
func (f *certifyFlags) run(ctx context.Context, t *testing.T, path string,
	stdout, stderr io.Writer,
) error {
	defer ignorePipe()()
	plan, err := certify.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: docs/releases.md has a minimal plan", err)
	}
	if err != nil {
		return err
	}
	if f.seed != "" {
		if plan.Seed, err = strategy.ParseSeed(f.seed); err != nil {
			return fmt.Errorf("--seed: %w", err)
		}
	}
	runner := &certify.Runner{T: t, Out: f.out}
	if f.against != "" {
		if runner.Old, err = certify.ReadCertificate(f.against); err != nil {
			return fmt.Errorf("--against: %w", err)
		}
	}
	o, err := f.openOutputs(stdout, stderr)
	if err != nil {
		return err
	}
	runner.Progress = o.progress
	page, err := file.OpenReport("--html", f.html, nil)
	if err != nil {
		return err
	}
	c, err := runner.Run(ctx, plan)
	if err != nil {
		return exit.With(exit.Internal, err)
	}
	outcome, report := outcomeOfCertificate(c), &certificateReport{c, plan, f.out}
	if err := errors.Join(
		o.json.WriteJSON(c),
		o.junit.Write(func(w io.Writer) error {
			return encodeJUnit(w, report.suites()...)
		}),
		o.sarif.Write(func(w io.Writer) error {
			return file.EncodeJSON(w, report.sarif(outcome))
		}),
		page.Write(func(w io.Writer) error {
			return certify.WriteHTML(w, c, plan, f.out, filepath.Dir(f.html))
		}),
	); err != nil {
		return exit.With(exit.Internal, fmt.Errorf("writing the report: %w", err))
	}
	report.write(o.text)
	return outcome
}

// outcomeOfCertificate returns the error with which the program ends, nil for status 0.
func outcomeOfCertificate(c *certify.Certificate) error {
	switch {
	case len(c.Failures) > 0:
		return exit.With(exit.Violation, nil)
	case c.Partial:
		return exit.With(exit.Partial, nil)
	}
	return nil
}

// A certificateReport is a certificate with the places of the recordings that it names.
type certificateReport struct {
	*certify.Certificate
	plan *certify.Plan
	out  string // directory of counterexamples
}

// write prints what was run, what changed, and the verdict.
func (c *certificateReport) write(w io.Writer) {
	if len(c.Card.Locks) > 0 {
		writeCard(w, c.Card, c.out)
	}
	for i := range c.Sources {
		fmt.Fprintf(w, "%v\n", &c.Sources[i])
	}
	for _, l := range c.Card.Locks {
		for i := range l.Searches {
			fmt.Fprintf(w, "  %s: %v\n", l.Name, &l.Searches[i])
		}
	}
	for i := range c.Tests {
		t := &c.Tests[i]
		fmt.Fprintf(w, "test %s: %s\n", t.Name(), t.Result)
		for _, line := range t.Lines() {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	failing := 0
	for _, r := range c.MustFail {
		if r.Shown {
			failing++
		}
	}
	if len(c.MustFail) > 0 {
		fmt.Fprintf(w, "must fail: %d of %s do\n", failing,
			counted(len(c.MustFail), "recording"))
	}
	if c.Against != nil {
		for i := range c.Against.Differences {
			fmt.Fprintf(w, "changed: %v\n", &c.Against.Differences[i])
		}
	}
	for i := range c.Failures {
		f := &c.Failures[i]
		fmt.Fprintf(w, "RED %.300s%s\n", f.Reason, c.howToReplay(f))
	}
	if c.Partial && !c.Card.Partial { // otherwise the card says it
		fmt.Fprintln(w, "partial: a signal ended it before all of the plan had run")
	}
	if len(c.Failures) == 0 && !c.Partial {
		fmt.Fprintln(w, strings.Join(append([]string{"GREEN"}, c.LeftOut.Lines()...), "\n  "))
	}
	fmt.Fprintf(w, "certificate %s\n", c.Hash)
}

// howToReplay returns in parentheses the command that replays the recording of a failure, or "".
func (c *certificateReport) howToReplay(f *certify.Failure) string {
	path := f.File(c.plan, c.out)
	if path == "" {
		return ""
	}
	return " (" + invocation() + " replay " + shellQuote(path) + ")"
}
