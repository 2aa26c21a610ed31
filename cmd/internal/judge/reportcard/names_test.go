package reportcard

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/report"
)

func TestSlug(t *testing.T) {
	for plan, want := range map[string]string{
		"none": "none", "crash=1": "crash", "expire@list=1": "expire-list",
		"wipe-server=2": "wipe-server-2", "cut=1,stall-requests=1": "cut-stall-requests",
		"kill-server:s2@hold=1": "kill-server-s2-hold",
	} {
		if got := slug(plan); got != want {
			t.Errorf("slug(%q) is %q, want %q", plan, got, want)
		}
	}
}

// One failure of each property and way is shrunk, and none that breaks exclusion in two ways.
func TestFirstOfEach(t *testing.T) {
	way := distinguish(func([]history.Event) []string { return []string{"D1"} })
	two := distinguish(func([]history.Event) []string { return []string{"D1", "D3"} })
	failure := func(p history.Property, kind string) report.DistinctFailure {
		signature := string(p) + ": reason"
		if kind != "" {
			signature += ": " + kind
		}
		return report.DistinctFailure{Property: p, Signature: signature}
	}
	of := func(f func(*history.Violation, []history.Event) string, p history.Property) string {
		return f(&history.Violation{Property: p}, nil)
	}
	exclusive, progress := history.ClientMutualExclusion, history.Progress
	got := firstOfEach(report.DistinctFailures{
		failure(exclusive, of(two, exclusive)), failure(exclusive, of(way, exclusive)),
		failure(exclusive, ""), failure(exclusive, of(way, exclusive)),
		failure(progress, of(way, progress)), failure(progress, ""),
	})
	var signatures []string
	for _, f := range got {
		signatures = append(signatures, f.Signature)
	}
	if len(got) != 3 {
		t.Fatalf("%q", signatures)
	}
	without, named := cutWay(got[0].Signature)
	if without != "client-mutual-exclusion: reason" || named != "D1" {
		t.Errorf("%q, %q", without, named)
	}
	if without, named := cutWay(got[2].Signature); without != "progress: reason" || named != "" {
		t.Errorf("%q, %q", without, named)
	}
}
