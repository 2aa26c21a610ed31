package server

import (
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/conform"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// conformFlags holds the flags of conform as they were given.
type conformFlags struct {
	zookeeper, version, super, seed, json string
	operations, frames                    int
	installed, ttl, containers            bool
}

// NewConform returns the command conform.
func NewConform() *cobra.Command {
	var f conformFlags
	command := &cobra.Command{
		Use:   "conform",
		Short: "Compare a real ZooKeeper server with the simulated one",
		Long: `Conform sends the same requests to a server and to the simulated one, and
reports the first difference. It compares some 300 facts, from the bytes of a
handshake to the order of watch events, and then the replies, stats and events
of random operations by three clients. With --frames it then sends mutated
requests and handshakes.

The server must have no other clients, because transaction ids are compared, and
no data of value: one fact is a request that a release before 3.9 cannot read
back after a restart. It needs a tickTime of two seconds, TTL nodes enabled, and
the superuser super:test, or that of --super. With the Debian package zookeeper
installed, --installed starts such a server.

Exit status:
  0    no difference
  1    a difference
  2    bad usage, or a server that is unreachable or stops answering
  3    an internal error
  130  interrupted`,
		Example: `  interlock conform --installed
  interlock conform --zookeeper 127.0.0.1:2181 --operations 1000000 --seed 7`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("json") && f.json == "" {
				return file.ErrNoJSON
			}
			if err := f.validate(); err != nil {
				return err
			}
			return runConform(cmd.Context(), &f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.zookeeper, "zookeeper", "", "`address` of the server, host:port")
	flags.BoolVar(&f.installed, "installed", false, "start and stop a server of Debian's zookeeper")
	flags.StringVar(&f.version, "zookeeper-version", "3.8",
		"`release` of the simulated server: 3.8 or 3.9")
	flags.IntVar(&f.operations, "operations", 50_000, "random operations, 0 for facts only")
	flags.IntVar(&f.frames, "frames", 0, "mutated frames, after the operations")
	flags.StringVar(&f.seed, "seed", "1", "random seed: a number, or random")
	flags.BoolVar(&f.ttl, "ttl", false, "include TTL nodes (implied by --installed)")
	flags.BoolVar(&f.containers, "containers", false,
		"include containers, which the server must keep (implied by --installed)")
	flags.StringVar(&f.super, "super", "",
		"superuser of both as `user:password` (set by --installed)")
	flags.StringVar(&f.json, "json", "", file.JSONUsage)
	return command
}

// validate returns an error that names a wrong flag. It sets the flags that --installed implies.
func (f *conformFlags) validate() error {
	switch {
	case f.installed && f.zookeeper != "":
		return errors.New("--installed and --zookeeper cannot be combined")
	case !f.installed && f.zookeeper == "":
		return errors.New("conform needs a server: --zookeeper host:port, or --installed")
	case f.operations < 0:
		return fmt.Errorf("--operations must be at least 0, not %d", f.operations)
	case f.frames < 0:
		return fmt.Errorf("--frames must be at least 0, not %d", f.frames)
	case f.super != "" && strings.Count(f.super, ":") != 1:
		return fmt.Errorf("--super: %q is not of the form user:password", f.super)
	case f.version != "3.8" && f.version != "3.9":
		return fmt.Errorf("--zookeeper-version: unknown release %q; known are 3.8 and 3.9",
			f.version)
	}
	if _, _, err := net.SplitHostPort(f.zookeeper); f.zookeeper != "" && err != nil {
		return fmt.Errorf("--zookeeper: %q is not of the form host:port", f.zookeeper)
	}
	if _, err := strategy.ParseSeed(f.seed); err != nil {
		return fmt.Errorf("--seed: %w", err)
	}
	if f.installed {
		f.ttl, f.containers, f.super = true, true, "super:test"
	}
	return nil
}

// A ConformReport is the JSON report of conform.
type ConformReport struct {
	Version     int      `json:"version"`
	Release     string   `json:"zookeeper_version"`
	Seed        uint64   `json:"seed"`
	Facts       int      `json:"facts"`
	Operations  int      `json:"operations"`
	Events      int      `json:"events"`
	Seconds     float64  `json:"seconds"`
	Interrupted bool     `json:"interrupted"`
	Difference  string   `json:"difference,omitempty"`
	Deviations  []string `json:"fact_deviations"`

	Frames           int      `json:"frames,omitempty"`
	FrameDifferences []string `json:"frame_differences,omitempty"`
}

// differs reports whether the servers differ.
func (r *ConformReport) differs() bool {
	return r.Difference != "" || len(r.Deviations) > 0 || len(r.FrameDifferences) > 0
}

func runConform(ctx context.Context, f *conformFlags, stdout, stderr io.Writer) error {
	began := time.Now()
	report := &ConformReport{Version: 1, Release: f.version, Deviations: []string{}}
	text, to, err := file.OpenJSON(f.json, stdout, stderr)
	if err != nil {
		return err
	}
	err = f.compare(ctx, report, text, stderr)
	if ctx.Err() != nil && !report.differs() {
		report.Interrupted = true
		fmt.Fprintf(text, "interrupted: no difference in the first %d "+
			"operations and %d frames\n", report.Operations, report.Frames)
		err = exit.With(exit.Interrupted, nil)
	}
	var status *exit.Error
	if err != nil && !errors.As(err, &status) {
		return err
	}
	report.Seconds = time.Since(began).Seconds()
	if err := to.WriteJSON(report); err != nil {
		return exit.With(exit.Internal, fmt.Errorf("writing the report: %w", err))
	}
	return err
}

// compare compares the facts and, if they agree, random operations.
func (f *conformFlags) compare(ctx context.Context, report *ConformReport, text,
	stderr io.Writer,
) error {
	reference, stop, err := f.reference(ctx)
	if err != nil {
		return err
	}
	defer stop()
	simulated, err := f.simulate()
	if err != nil {
		return exit.With(exit.Internal, err)
	}
	defer simulated.Close()
	address := simulated.Addresses()[0]
	err = f.compareFacts(ctx, address, reference, report, text)
	if err == nil && len(report.Deviations) == 0 && f.operations > 0 {
		err = f.compareOperations(ctx, address, reference, report, text, stderr)
	}
	if err == nil && len(report.Deviations) == 0 && report.Difference == "" && f.frames > 0 {
		err = f.compareFrames(ctx, address, reference, report, text, stderr)
	}
	var lost *conform.ServerError
	switch {
	case errors.As(err, &lost) && lost.Address != address:
		return err
	case err != nil:
		return exit.With(exit.Internal, err)
	case report.differs():
		return exit.With(exit.Violation, nil)
	}
	return nil
}

// reference returns the address of the server to compare with, and a function that ends it.
func (f *conformFlags) reference(ctx context.Context) (address string, stop func(), err error) {
	if !f.installed {
		return f.zookeeper, func() {}, nil
	}
	directory, err := os.MkdirTemp("", "interlock-zookeeper-")
	if err != nil {
		return "", nil, err
	}
	address, end, err := conform.StartReal(ctx, directory)
	if err != nil {
		os.RemoveAll(directory)
		return "", nil, fmt.Errorf("--installed: %w", err)
	}
	return address, func() { end(); os.RemoveAll(directory) }, nil
}

// simulate starts a simulated server on a port of the loopback interface.
func (f *conformFlags) simulate() (*tcp.Server, error) {
	super := f.super
	if super == "" {
		super = "super:test"
	}
	user, _, _ := strings.Cut(super, ":")
	sum := sha1.Sum([]byte(super))
	config := simzk.Config{ExtendedTypes: true, SuperDigest: user + ":" +
		base64.StdEncoding.EncodeToString(sum[:])}
	if f.version == "3.9" {
		config.Version = simzk.V39
	}
	// Like a real server that conform starts, it keeps containers that are due.
	return tcp.Start(tcp.Config{Cluster: config, Dispose: -1}, "127.0.0.1:0")
}

// compareFacts compares the facts of both servers.
func (f *conformFlags) compareFacts(ctx context.Context, simulated, reference string,
	report *ConformReport, w io.Writer,
) error {
	var found [2][]string
	for i, address := range [...]string{simulated, reference} {
		if err := conform.Facts(ctx, address,
			func(fact string) { found[i] = append(found[i], fact) }); err != nil {
			return err
		}
	}
	report.Facts = len(found[1])
	for _, d := range conform.Deviations(found[0], found[1]) {
		report.Deviations = append(report.Deviations, d.String())
	}
	if len(report.Deviations) > 0 {
		fmt.Fprintf(w, "%d of %d facts differ; got is the simulation, want the server:\n%s\n",
			len(report.Deviations), report.Facts, strings.Join(report.Deviations, "\n"))
		return nil
	}
	fmt.Fprintf(w, "%d facts: no difference\n", report.Facts)
	return nil
}

// newCount returns a function that prints how many of all are done, and how many a second, at
// most every two seconds.
func newCount(w io.Writer, all int, what string) func(done int) {
	began, told := time.Now(), time.Now()
	return func(done int) {
		if now := time.Now(); now.Sub(told) >= 2*time.Second {
			told = now
			fmt.Fprintf(w, "%d of %d %s, %.0f/s\n", done, all, what,
				float64(done)/now.Sub(began).Seconds())
		}
	}
}

// compareOperations compares random operations on both servers.
func (f *conformFlags) compareOperations(ctx context.Context, simulated, reference string,
	report *ConformReport, w, progress io.Writer,
) error {
	seed, err := strategy.ParseSeed(f.seed)
	if err != nil {
		return err
	}
	report.Seed = seed
	tell := newCount(progress, f.operations, "operations")
	difference, stats, err := conform.Differ(ctx, conform.Options{
		Address: simulated, Reference: reference, Seed: seed, Operations: f.operations,
		TTL: f.ttl, Containers: f.containers, Super: f.super,
		Progress: func(s conform.Stats) { tell(s.Operations) },
	})
	report.Operations, report.Events = stats.Operations, stats.Events
	switch {
	case err != nil:
		return err
	case difference != nil:
		report.Difference = difference.String()
		fmt.Fprintf(w, "%s", report.Difference)
		return nil
	}
	fmt.Fprintf(w, "%d random operations, seed %d, with %d watch events: no difference\n",
		stats.Operations, seed, stats.Events)
	return nil
}
