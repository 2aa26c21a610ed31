package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestOwnRelease(t *testing.T) {
	key := func(kind history.Kind, process, server int32) history.Event {
		return history.Event{Kind: kind, Process: process, Server: server, Path: "lock"}
	}
	for name, test := range map[string]struct {
		events []history.Event
		want   int // the event that breaks the property, or -1
	}{
		"own key": {
			[]history.Event{key(history.KeySet, 1, 0), key(history.KeyDeleted, 1, 0)}, -1,
		},
		"foreign key": {
			[]history.Event{key(history.KeySet, 1, 0), key(history.KeyDeleted, 2, 0)}, 1,
		},
		"key set by another after its expiry": {
			[]history.Event{
				key(history.KeySet, 1, 0), key(history.KeyExpired, 0, 0),
				key(history.KeySet, 2, 0), key(history.KeyDeleted, 1, 0),
			}, 3,
		},
		"key overwritten by another": {
			[]history.Event{
				key(history.KeySet, 1, 0), key(history.KeySet, 2, 0), key(history.KeyDeleted, 1, 0),
			}, 2,
		},
		"key of another server": {
			[]history.Event{
				key(history.KeySet, 1, 1), key(history.KeySet, 2, 2), key(history.KeyDeleted, 2, 2),
				key(history.KeyDeleted, 1, 1),
			}, -1,
		},
		"key lost to a fault": {
			[]history.Event{
				key(history.KeySet, 1, 0), key(history.KeyLost, 0, 0), key(history.KeySet, 2, 0),
				key(history.KeyDeleted, 2, 0),
			}, -1,
		},
	} {
		got := -1
		if v := check.OwnRelease(test.events); v != nil {
			got = v.Event
		}
		if got != test.want {
			t.Errorf("%s: broken at event %d, want %d", name, got, test.want)
		}
	}
}
