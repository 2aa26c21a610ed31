package scenarios_test

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		clients, cycles int
		want            string
	}{
		{0, 1, "clients must be from 1 to 100, not 0"},
		{-3, 1, "clients must be from 1 to 100, not -3"},
		{101, 1, "clients must be from 1 to 100, not 101"},
		{1, 0, "cycles must be from 1 to 100, not 0"},
		{1, 101, "cycles must be from 1 to 100, not 101"},
	} {
		if err := (&scenarios.Scenario{
			Subject: subjects.Mutex(), Clients: tc.clients, Cycles: tc.cycles,
		}).Validate(); err == nil ||
			err.Error() != tc.want {
			t.Errorf("%d clients, %d cycles: %v, want %q", tc.clients, tc.cycles, err, tc.want)
		}
	}
	if err := new(scenarios.Scenario).Validate(); err == nil {
		t.Error("a scenario without a lock is valid")
	}
}

// Validate rejects an invalid scenario before anything runs, and says what would be valid.
func TestValidateSubject(t *testing.T) {
	for name, tc := range map[string]struct {
		invalidate func(*scenarios.Scenario)
		want       string
	}{
		"no claim": {
			func(s *scenarios.Scenario) { s.Subject.Claims = nil },
			"the lock mutex claims no property",
		},
		"no property": {
			func(s *scenarios.Scenario) {
				s.Subject.Claims = []history.Property{"servedexclusion"}
			},
			`claims an unknown property "servedexclusion"; known are server-mutual-exclusion, `,
		},
		"no name": {
			func(s *scenarios.Scenario) { s.Subject.Name = "" },
			`the name of the lock, "", must not be empty`,
		},
		"negative sequence": {
			func(s *scenarios.Scenario) { s.Subject.Sequence = -5 },
			"cannot have the number -5",
		},
		"several shared places": {
			func(s *scenarios.Scenario) {
				s.Subject.Places = 2
				s.Subject.Shared = func(int, int) bool { return true }
			},
			"the lock mutex has 2 places: set Subject.Places to at least 1",
		},
		"places among the limits": {
			func(s *scenarios.Scenario) { s.Subject.Limits.Places = 3 },
			"set Subject.Places",
		},
		"a resource of several holders": {
			func(s *scenarios.Scenario) { s.Subject.Places = 2 },
			"the lock mutex has 2 places, so that its holders may write a resource in any order",
		},
		"updates of several holders": {
			func(s *scenarios.Scenario) {
				s.Subject.Places, s.Subject.Guard = 2, scenarios.NoResource
			},
			"and cannot claim fencing",
		},
		"no such guard": {
			func(s *scenarios.Scenario) { s.Subject.Guard = 9 },
			"an unknown guard 9",
		},
		"a condition without a function": {
			func(s *scenarios.Scenario) {
				s.Subject.Sometimes = []history.Sometimes{{Name: "x"}}
			},
			`the sometimes condition "x"`,
		},
		"no such client": {func(s *scenarios.Scenario) { s.Client = 9 }, "there is no client 9"},
		"the model": {
			func(s *scenarios.Scenario) { s.Subject.Real = true },
			"Client: scenarios.Real in the scenario",
		},
	} {
		s := &scenarios.Scenario{Subject: subjects.Mutex(), Clients: 2, Cycles: 1}
		tc.invalidate(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
