package engine_test

import (
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/engine"
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
		s := engine.Scenario{Clients: test.clients}
		s.Subject.Limits.Places = test.places
		s.Faults.Of[faults.LoseReply] = 1
		if got := s.Offers(&test.condition); got != test.want {
			t.Errorf("%d clients, %d places, %s: %v", test.clients, test.places,
				test.condition.Name, got)
		}
	}
}
