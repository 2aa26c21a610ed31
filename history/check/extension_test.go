package check_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestExtension(t *testing.T) {
	late := on(history.Extended, 1)
	extended := late
	extended.Validity = time.Second
	refused := extended
	refused.Err = "taken"
	for name, test := range map[string]struct {
		events []history.Event
		want   int // the event that breaks the property, or -1
	}{
		"own lock": {[]history.Event{lockOK(1, 1, ""), extended}, -1},
		"lock of another": {
			[]history.Event{lockOK(1, 1, ""), lockOK(2, 1, ""), extended}, 2,
		},
		"another has unlocked": {
			[]history.Event{
				lockOK(1, 1, ""), lockOK(2, 1, ""), unlockCall(2, 1), unlockOK(2, 1), extended,
			}, 4,
		},
		"refused": {[]history.Event{lockOK(1, 1, ""), lockOK(2, 1, ""), refused}, -1},
		"reply after the validity time": {
			[]history.Event{lockOK(1, 1, ""), lockOK(2, 1, ""), late}, -1,
		},
		"told before": {[]history.Event{lockOK(1, 1, ""), on(history.Lost, 1), extended}, 2},
		"another's attempt fails": {
			[]history.Event{lockOK(1, 1, ""), lockFailed(2, 1), extended}, -1,
		},
		"another was granted it before": {
			[]history.Event{lockOK(2, 1, ""), lockOK(1, 1, ""), extended}, -1,
		},
		"granted again": {
			[]history.Event{lockOK(1, 1, ""), lockOK(2, 1, ""), lockOK(1, 2, ""), extended}, -1,
		},
		"after unlock": {
			[]history.Event{lockOK(1, 1, ""), unlockCall(1, 1), lockOK(2, 1, ""), extended}, -1,
		},
	} {
		got := -1
		if v := check.Extension(test.events); v != nil {
			got = v.Event
		}
		if got != test.want {
			t.Errorf("%s: broken at event %d, want %d", name, got, test.want)
		}
	}
}
