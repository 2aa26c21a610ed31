package report_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/internal/search/report"
)

func TestMarginSeconds(t *testing.T) {
	for margin, want := range map[time.Duration]string{
		0:                         "0.000",
		1:                         "0.000",
		-1:                        "-0.001",
		-499 * time.Microsecond:   "-0.001",
		-500 * time.Microsecond:   "-0.001",
		-1499 * time.Microsecond:  "-0.001",
		-1501 * time.Microsecond:  "-0.002",
		499 * time.Microsecond:    "0.000",
		62500 * time.Microsecond:  "0.062",
		2017 * time.Millisecond:   "2.017",
		-131 * time.Second:        "-131.000",
		1500001 * time.Nanosecond: "0.002",
	} {
		if got := report.MarginSeconds(margin); got != want {
			t.Errorf("%v: %s, want %s", margin, got, want)
		}
	}
}

// Only a negative margin has a sign, and it is never that of zero.
func TestSignOfMargins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		margin := time.Duration(rapid.Int64Range(-1e7, 1e7).Draw(t, "margin"))
		text := report.MarginSeconds(margin)
		if strings.HasPrefix(text, "-") != (margin < 0) || text == "-0.000" {
			t.Errorf("%v is %s", margin, text)
		}
	})
}
