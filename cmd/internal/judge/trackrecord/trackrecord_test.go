package trackrecord_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/judge/trackrecord"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// In the default campaign of interlock check, each broken lock of the museum violates its property,
// and the same lock without the defect violates none.
func TestMuseum(t *testing.T) {
	museum := subjects.Museum()
	if len(museum) < 45 {
		t.Errorf("the museum has %d defects", len(museum))
	}
	named := make(map[string]bool)
	for _, d := range long.Sample(museum, 8) {
		t.Run(d.Name, func(t *testing.T) {
			if !slices.Equal(d.Broken.Claims, d.Fixed.Claims) {
				t.Errorf("the broken lock claims %v, its twin %v", d.Broken.Claims, d.Fixed.Claims)
			}
			only := d // Small configurations can show another property first.
			only.Broken.Claims = []history.Property{d.Property}
			e, err := trackrecord.Measure(context.Background(), t, &only,
				trackrecord.Bounds{Seeds: 1, Schedules: 20_000, TwinSchedules: 200})
			if err != nil {
				t.Fatal(err)
			}
			if e.Missed() || len(e.Others) > 0 {
				t.Errorf("found by %d of %d campaigns, by %v too; twin: %q", e.Found, e.Seeds,
					e.Others, e.Twin.Violation)
			}
			if d.Source == "" || d.Summary == "" || named[d.Name] {
				t.Errorf("source %q, summary %q; the name is known: %v", d.Source, d.Summary,
					named[d.Name])
			}
			named[d.Name] = true
		})
	}
}

// A defect that no lock has, and a twin that has the defect, are reported.
func TestMeasureFires(t *testing.T) {
	broken := subjects.NoRecheck()
	for _, tc := range []struct {
		name   string
		defect subjects.Defect
		found  int
		others int  // properties besides that of the defect
		twin   bool // the twin is flagged
	}{
		{"a correct lock", subjects.Defect{
			Property: history.Progress, Broken: subjects.Textbook(), Fixed: subjects.Textbook(),
		}, 0, 0, false},
		{"another property", subjects.Defect{
			Property: history.Progress, Broken: broken, Fixed: subjects.Textbook(),
		}, 2, 1, false},
		{"a broken twin", subjects.Defect{
			Property: history.ServerMutualExclusion, Broken: broken, Fixed: broken,
		}, 2, 0, true},
	} {
		e, err := trackrecord.Measure(context.Background(), t, &tc.defect,
			trackrecord.Bounds{Seeds: 2, Schedules: 200, TwinSchedules: 200, Shrink: true})
		if err != nil {
			t.Fatal(err)
		}
		if e.Found != tc.found || len(e.Others) != tc.others ||
			(e.Twin.Violation != "") != tc.twin || e.Missed() != (tc.found == 0 || tc.twin) ||
			(e.Shrunk != nil) != (tc.found > 0) {
			t.Errorf("%s: %+v", tc.name, e)
		}
	}
}

func TestMeasureCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d := subjects.Museum()[0]
	bounds := trackrecord.Bounds{Seeds: 1, Schedules: 500}
	if e, err := trackrecord.Measure(ctx, t, &d, bounds); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", e, err)
	}
}
