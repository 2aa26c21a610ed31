package interlock_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/long"
)

var (
	// signatureCounts matches how often a search that kept going violated a signature.
	signatureCounts = regexp.MustCompile(
		`\n +(\S.*): by any cause in \d+ of 400 schedules, first in schedule \d+`)
	// notUsers matches a failure that is reported at a line of another file than the user's test.
	notUsers = regexp.MustCompile(`\n +(check|distinct|iter|isolate|shrink)\.go:\d+: `)
)

// With INTERLOCK_KEEP_GOING a test reports and records every distinct failure at the user's line,
// and then how often each signature occurred.
func TestCheckKeepsGoing(t *testing.T) {
	for _, strategy := range long.Sample([]string{"exhaustive", ""}, 1) {
		directory := t.TempDir()
		printed, passed := runChecked(t, directory, variantVariable+"=several failures",
			"INTERLOCK_KEEP_GOING=1", "INTERLOCK_SCHEDULES=400", "INTERLOCK_STRATEGY="+strategy)
		found, err := filepath.Glob(filepath.Join(directory, "testdata", "interlock", "*", "*"))
		shown, last, _ := strings.Cut(printed, " distinct failures by signature and cause in ")
		distinct, _ := strconv.Atoi(regexp.MustCompile(`\d+$`).FindString(shown))
		counts := signatureCounts.FindAllStringSubmatch(last, -1)
		if passed || err != nil || len(found) < 2 || len(found) > distinct ||
			!strings.HasPrefix(last, fmt.Sprintf("400 schedules, shown by %d counterexamples",
				len(found))) ||
			strings.Count(shown, "\n        replay INTERLOCK_REPLAY='") != len(found) ||
			len(counts) < 2 || len(counts) > distinct || signatureCounts.MatchString(shown) ||
			notUsers.MatchString(printed) {
			t.Errorf("strategy %q: passed %v, error %v, counterexamples %v:\n%s", strategy, passed,
				err, found, printed)
		}
		for n, count := range counts {
			if slices.ContainsFunc(counts[:n], func(one []string) bool { return one[1] == count[1] }) {
				t.Errorf("strategy %q: two counts of %s:\n%s", strategy, count[1], last)
			}
		}
	}
}
