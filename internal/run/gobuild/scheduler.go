package gobuild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/interlock-sim/interlock/internal/run/scheduler/overlay"
)

// addScheduler adds the overlay of the goroutine scheduler to that of the build, for the release of
// Go that the copied go.mod selects. For an unknown release it sets b.Unscheduled instead.
func (b *Build) addScheduler(ctx context.Context) error {
	if !b.test.Scheduler {
		return nil
	}
	environment, err := b.goOutput(ctx, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return err
	}
	file, err := overlay.Install(environment)
	if unknown := (*overlay.UnknownRelease)(nil); errors.As(err, &unknown) {
		b.Unscheduled = err
		return nil
	}
	if err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var added struct{ Replace map[string]string }
	if err := json.Unmarshal(content, &added); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for path, with := range added.Replace {
		if b.overlay[path] != "" { // The scheduler and [Build.seedRandom] edit other files.
			return fmt.Errorf("two overlays replace %s", path)
		}
		b.overlay[path] = with
	}
	if len(b.tags) == 0 { // Flags of the command go before those of GOFLAGS.
		flags, err := b.goOutput(ctx, "env", "GOFLAGS")
		if err != nil {
			return err
		}
		b.tags = tagsIn(flags)
	}
	b.tags = append(b.tags, overlay.Tag)
	return nil
}

// tagsIn returns the build tags in the value of GOFLAGS. The last flag counts.
func tagsIn(flags string) (tags []string) {
	for flag := range strings.FieldsSeq(flags) {
		name, value, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		if name == "tags" {
			tags = []string{value}
		}
	}
	return tags
}
