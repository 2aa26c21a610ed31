package everylock

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
)

// cited matches the numbers of one or two events in a text.
var cited = regexp.MustCompile(`events? (\d+)(?: and (\d+))?`)

// CheckExplained checks that a report shows each event that its texts cite, and that the first text
// names each fault before the violation.
func CheckExplained(t *testing.T, report *explain.Report) {
	t.Helper()
	for _, why := range report.Whys {
		if strings.Contains(why.Text, "%!") || strings.Contains(why.Text, "  ") ||
			!strings.HasSuffix(why.Text, ".") {
			t.Errorf("%s: %q", why.Violation.Property, why.Text)
		}
		for _, match := range cited.FindAllStringSubmatch(why.Text, -1) {
			for _, number := range match[1:] {
				event, err := strconv.Atoi(number)
				if err == nil && !slices.Contains(report.Show, event) {
					t.Errorf("%s: event %d is not shown: %s", why.Violation.Property, event,
						why.Text)
				}
			}
		}
	}
	first := report.Whys[0]
	for i := range report.Timeline.Events[:first.Violation.Event] {
		if e := &report.Timeline.Events[i]; e.Kind == history.Fault &&
			!regexp.MustCompile(fmt.Sprintf(`event %d\b`, i)).MatchString(first.Text) {
			t.Errorf("%s: the text does not name %s, event %d: %s", first.Violation.Property,
				e.Name, i, first.Text)
		}
	}
	var text bytes.Buffer
	if err := report.Write(&text); err != nil {
		t.Error(err)
	}
	if err := report.Decisive(&text); err != nil {
		t.Error(err)
	}
}
