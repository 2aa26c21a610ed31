package engine_test

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/conversion"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/strategy"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// Facts change neither the trace hash nor the state keys. Every request of the code under test has
// its source line, and every listing its children.
func TestFacts(t *testing.T) {
	for _, client := range []engine.ClientKind{engine.Model, engine.Real} {
		t.Run(client.String(), func(t *testing.T) {
			if client == engine.Real && real.RaceDetector {
				t.Skip("the real client is not deterministic under the race detector")
			}
			scenario := &engine.Scenario{
				Subject: conversion.Subject(subjects.Textbook()), Clients: 3, Cycles: 1,
				Client: client,
				Faults: faults.Default(),
			}
			runner := engine.NewRunner(t)
			for schedule := range 10 {
				plain := runner.Run(scenario, strategy.NewRandom(1, schedule))
				hash, keys := plain.TraceHash, append([]uint64(nil), plain.Keys...)
				for i := range plain.Events {
					if plain.Events[i].Facts != nil {
						t.Fatalf("event %d has facts, which nobody wants", i)
					}
				}
				runner.GatherFacts(true)
				result := runner.Run(scenario, strategy.NewRandom(1, schedule))
				runner.GatherFacts(false)
				if result.TraceHash != hash {
					t.Errorf("schedule %d: facts change the trace hash", schedule)
				}
				for i, key := range result.Keys {
					if i >= len(keys) || key != keys[i] {
						t.Fatalf("schedule %d: facts change state key %d", schedule, i)
					}
				}
				checkFacts(t, result.Events)
			}
		})
	}
}

func checkFacts(t *testing.T, events []history.Event) {
	t.Helper()
	for i := range events {
		switch e := &events[i]; {
		case e.Op == "connect" || e.Op == "set-watches":
		case e.Kind == history.Send:
			if e.Facts == nil || !strings.HasPrefix(e.Facts.Line, "subjects/recipe.go:") {
				t.Errorf("event %d, %s, has no line of the recipe: %+v", i, e.Op, e.Facts)
			}
		case e.Kind == history.Reply && e.Op == "children" && e.Err == "":
			if e.Facts == nil || e.Facts.Children == nil {
				t.Errorf("event %d, a listing, has no children", i)
				continue
			}
			for _, child := range e.Facts.Children {
				if child.Process == 0 {
					t.Errorf("event %d: nobody has created %s", i, child.Name)
				}
			}
		case e.Kind == history.Reply && strings.HasPrefix(e.Op, "exists") &&
			(e.Err == "" || e.Err == "no node"):
			if e.Facts == nil || e.Facts.Exists == nil || *e.Facts.Exists != (e.Err == "") {
				t.Errorf("event %d does not tell whether the node exists: %+v", i, e.Facts)
			}
		}
	}
}
