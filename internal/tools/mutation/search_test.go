package main

import "testing"

// The number of the schedule is the one that interlock check prints, and the schedules before it
// include those of earlier checks.
func TestPlace(t *testing.T) {
	for _, tc := range []struct {
		output  string
		earlier int
		want    string
	}{
		{"\nfound in schedule 0 (3 deviations)", 0, ", schedule 0, after 0 schedules"},
		{"\nfound in schedule 37 (3 deviations)", 2000, ", schedule 37, after 2037 schedules"},
		{"panic: out of range", 2000, ", after 2000 schedules of earlier checks"},
	} {
		if got := place(tc.output, tc.earlier); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.output, got, tc.want)
		}
	}
}
