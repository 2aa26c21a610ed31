package server

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/simzk/conform"
)

// compareFrames compares mutated frames on both servers.
func (f *conformFlags) compareFrames(ctx context.Context, simulated, reference string,
	report *ConformReport, w, progress io.Writer,
) error {
	seed, err := strategy.ParseSeed(f.seed)
	if err != nil {
		return err
	}
	report.Seed = seed
	tell := newCount(progress, f.frames, "frames")
	differences, stats, err := conform.DifferFrames(ctx, conform.FrameOptions{
		Address: simulated, Reference: reference, Seed: seed, Frames: f.frames,
		TTL: f.ttl, Containers: f.containers, Super: f.super,
		Progress: func(s conform.FrameStats) { tell(s.Frames) },
	})
	report.Frames = stats.Frames
	for _, d := range differences {
		report.FrameDifferences = append(report.FrameDifferences, d.String())
		fmt.Fprint(w, d)
	}
	if err != nil {
		return err
	}
	result := "no difference"
	if len(differences) > 0 {
		result = fmt.Sprintf("%d differences", len(differences))
	}
	fmt.Fprintf(w, "%d frames, seed %d, %d of them handshakes: %s\n", stats.Frames, seed,
		stats.Handshakes, result)
	fmt.Fprintf(w, "connections ended after %d frames; %d were not answered\n", stats.Ended,
		stats.Silent)
	for _, reason := range slices.Sorted(maps.Keys(stats.Listed)) {
		fmt.Fprintf(w, "not compared: %d frames with %s\n", stats.Listed[reason], reason)
	}
	return nil
}
