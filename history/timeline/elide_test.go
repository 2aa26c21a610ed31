package timeline_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/timeline"
)

// livelock is a history in which a process creates and lists nodes without end.
func livelock(turns int) timeline.Timeline {
	var events []history.Event
	var children []history.Child
	for turn := range turns {
		path := fmt.Sprintf("/l/c1-%010d", turn)
		children = append(children, history.Child{Name: path[3:], Process: 1, Live: true})
		events = append(events, history.Event{
			Kind: history.NodeCreated, Process: 1, Path: path, Zxid: int64(turn),
		}, history.Event{
			Kind: history.Send, Process: 1, Request: int32(turn), Op: "children", Path: "/l",
		}, history.Event{
			Kind: history.Reply, Process: 1, Request: int32(turn), Op: "children", Path: "/l",
			Facts: &history.Facts{Children: slices.Clone(children)},
		})
	}
	show := make([]int, len(events))
	for i := range show {
		show[i] = i
	}
	return timeline.Timeline{Events: events, Show: show}
}

// The decisive part of a long history shows its beginning, its end, what is cited and the
// violations, and says how many events are left out. All of it is bounded. The whole history is
// not.
func TestElided(t *testing.T) {
	lines := livelock(200)
	lines.Cited = []int{150, 153}
	lines.Violations = []*history.Violation{{
		Property: history.NoLivelock, Event: 401, Detail: "without end",
	}}
	var text, whole bytes.Buffer
	lines.Decisive(&text) // A buffer takes everything.
	for _, want := range []string{
		"\n    0  ", "\n   59  ", "… events left out: 90\n", "\n  150  ",
		"… events left out: 2\n", "\n  153  ", "\n! 401  ", "… events left out: 158\n",
		"\n  560  ", "\n  599  ", " and 170 more\n",
		"\nshown  103 of 600 events; timeline.html and trace.jsonl of a counterexample have all\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not contain %q", want)
		}
	}
	if n := strings.Count(text.String(), "\n"); n > 300 || t.Failed() {
		t.Errorf("%d lines:\n%.9000s", n, text.String())
	}
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > timeline.DefaultWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	lines.Write(&whole)
	if strings.Contains(whole.String(), "left out") || !strings.Contains(whole.String(),
		"c1#199 = /l/c1-0000000199") {
		t.Error("the whole history is not written")
	}
}

// A history with few rows is shown as it is.
func TestShortHistoryIsNotElided(t *testing.T) {
	for turns, elided := range map[int]bool{33: false, 34: true} {
		lines := livelock(turns)
		var text bytes.Buffer
		lines.Decisive(&text)
		if strings.Contains(text.String(), "left out") != elided {
			t.Errorf("%d turns: want elided: %v\n%s", turns, elided, text.String())
		}
	}
}
