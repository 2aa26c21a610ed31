package engine

import (
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/history"
)

// Describe returns the violations of the run, with the decisive part of its timeline.
func (r *Result) Describe(scenario *Scenario) string {
	var text strings.Builder
	for _, v := range r.Violations {
		fmt.Fprintf(&text, "%s: %s\n", v.Signature(), v.Detail)
	}
	r.Timeline(scenario).Decisive(&text, history.DecisiveLines) // A strings.Builder does not fail.
	return text.String()
}

// Timeline returns the run as a timeline with the first violation at its head.
func (r *Result) Timeline(scenario *Scenario) *history.Timeline {
	return &history.Timeline{
		Title: scenario.String(), Events: r.Events,
		Processes: columns(r.Events, scenario.Clients), Violations: r.Violations,
	}
}

// columns returns the number of processes: the initial ones and those that replaced crashed ones.
func columns(events []history.Event, clients int) int {
	for i := range events {
		clients = max(clients, int(events[i].Process))
	}
	return clients
}
