package long_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/long"
)

func TestSample(t *testing.T) {
	for _, tc := range []struct {
		variable string
		few      int
		want     []int
	}{
		{"", 2, []int{1, 3}},
		{"", 3, []int{1, 2, 4}},
		{"", 9, []int{1, 2, 3, 4, 5}},
		{"1", 2, []int{1, 2, 3, 4, 5}},
	} {
		t.Setenv(long.Variable, tc.variable)
		if got := long.Sample([]int{1, 2, 3, 4, 5}, tc.few); !slices.Equal(got, tc.want) {
			t.Errorf("%q, %d: %v, want %v", tc.variable, tc.few, got, tc.want)
		}
	}
}

func TestOnly(t *testing.T) {
	for variable, want := range map[string]bool{"": true, "1": false} {
		t.Setenv(long.Variable, variable)
		skipped := true
		t.Run("inner", func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			long.Only(t)
		})
		if skipped != want || long.Count(1, 2) == 1 != want {
			t.Errorf("%q: skipped %v, count %d", variable, skipped, long.Count(1, 2))
		}
	}
}
