package main

import (
	"context"
	"fmt"
	"go/version"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/run/scheduler/overlay"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/simzk/conform"
)

// goNeeded is the first release of Go whose testing/synctest suffices for runs.
const goNeeded = "go1.26"

// A diagnosis reports whether the machine has one thing that commands need.
type diagnosis struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Needed bool   `json:"needed"` // false if only some commands need it
	Detail string `json:"detail"`
}

func newDoctor() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check what this machine has that commands need",
		Long: `Doctor looks for the Go command, the overlay of its runtime for --scheduler,
processors, memory, and ZooKeeper's servers for conform --installed.

Exit status:
  0  nothing that every search needs is missing
  3  something is missing; the line says what to do`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := diagnose(cmd.Context())
			if err := writeDiagnoses(cmd, found, asJSON); err != nil {
				return err
			}
			for _, d := range found {
				if d.Needed && !d.OK {
					return exit.With(exit.Internal, nil)
				}
			}
			return nil
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func diagnose(ctx context.Context) []diagnosis {
	release, err := goRelease(ctx)
	return []diagnosis{
		diagnoseGo(release, err), diagnoseScheduler(release),
		{"processors", true, true, fmt.Sprintf("%d; check uses all", runtime.GOMAXPROCS(0))},
		diagnoseMemory(), diagnoseZooKeeper(),
	}
}

// goRelease returns the release of the go command, such as go1.26.1.
func goRelease(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	return strings.TrimSpace(string(out)), err
}

func diagnoseGo(release string, err error) diagnosis {
	d := diagnosis{Name: "Go", Needed: true, Detail: release}
	switch {
	case err != nil:
		d.Detail = fmt.Sprintf("go env GOVERSION: %v; install Go 1.26 or later", err)
	case version.Compare(release, goNeeded) < 0:
		d.Detail = release + "; install Go 1.26 or later"
	default:
		d.OK = true
	}
	return d
}

func diagnoseScheduler(release string) diagnosis {
	if overlay.Knows(release) {
		return diagnosis{"scheduler", true, false, "--scheduler has an overlay for " + release}
	}
	return diagnosis{
		"scheduler", false, false,
		"--scheduler has no overlay for this Go release; goroutines run in any order",
	}
}

func diagnoseMemory() diagnosis {
	limit := exhaustive.DefaultMemoryLimit()
	if limit == 0 {
		return diagnosis{"memory", false, false, "unknown size; set GOMEMLIMIT, such as 8GiB"}
	}
	return diagnosis{"memory", true, false, fmt.Sprintf("exhaustive searches hold at most %.1f GiB",
		float64(limit)/(1<<30))}
}

func diagnoseZooKeeper() diagnosis {
	if err := conform.Installed(); err != nil {
		return diagnosis{"ZooKeeper", false, false, err.Error()}
	}
	return diagnosis{"ZooKeeper", true, false, "conform --installed can run its server"}
}

func writeDiagnoses(cmd *cobra.Command, found []diagnosis, asJSON bool) error {
	w := cmd.OutOrStdout()
	if asJSON {
		return file.EncodeJSON(w, found)
	}
	for _, d := range found {
		state := "ok"
		switch {
		case !d.OK && d.Needed:
			state = "missing"
		case !d.OK:
			state = "absent"
		}
		if _, err := fmt.Fprintf(w, "%-8s %-11s %s\n", state, d.Name, d.Detail); err != nil {
			return err
		}
	}
	return nil
}
