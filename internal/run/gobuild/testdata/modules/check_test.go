package main

import (
	"testing"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

func TestLock(t *testing.T) {
	interlock.Check(t, scenarios.Scenario{Subject: subjects.Textbook(), Clients: 2, Cycles: 1})
}
