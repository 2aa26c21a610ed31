package engine_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A condition with a waiting process needs a process for each further place of a semaphore.
func TestOffers(t *testing.T) {
	for _, test := range []struct {
		clients, places int
		condition       history.Sometimes
		want            bool
	}{
		{2, 0, check.Contention, true},
		{1, 0, check.Contention, false},
		{3, 3, check.Contention, false},
		{4, 3, check.Contention, true},
		{1, 3, check.LostCreate, true},
		{3, 0, check.AbandonedPlace, false},
	} {
		s := locktest.Planned(t, subjects.Textbook(), test.clients, 1, "lose-reply=1")
		s.Subject.Places = test.places
		if got := engine.Offers(&s, &test.condition); got != test.want {
			t.Errorf("%d clients, %d places, %s: %v", test.clients, test.places,
				test.condition.Name, got)
		}
	}
}
