package main

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
)

// A violation points to the last request before it, to where a process waits for ever, or to the
// last request after it.
func TestSourceOf(t *testing.T) {
	at := func(process int32, line string) history.Event {
		e := history.Event{Process: process}
		if line != "" {
			e.Facts = &history.Facts{Line: line, Function: "f of " + line}
		}
		return e
	}
	events := []history.Event{
		at(1, ""), at(1, "a.go:1"), at(2, "b.go:2"), at(1, ""), at(1, "c.go:3"), at(2, "d.go:4"),
		at(3, ""),
	}
	events[6].Facts = &history.Facts{Waits: []history.Wait{{Process: 1, Line: "w.go:9"}}}
	for _, tc := range []struct {
		event    int
		property history.Property
		want     string
	}{
		{3, history.FIFO, "a.go:1"},
		{5, history.FIFO, "d.go:4"},
		{0, history.FIFO, "c.go:3"},
		{3, history.Progress, "w.go:9"},
		{5, history.Progress, "d.go:4"},
		{6, history.FIFO, ""},
		{7, history.FIFO, ""},
		{-1, history.FIFO, ""},
	} {
		line, function := sourceOf(events, &history.Violation{
			Event: tc.event, Property: tc.property,
		})
		if line != tc.want || line != "" && line != "w.go:9" && function != "f of "+line {
			t.Errorf("%s at event %d: %q in %q, want %q", tc.property, tc.event, line, function,
				tc.want)
		}
	}
}
