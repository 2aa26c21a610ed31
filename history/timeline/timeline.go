// Package timeline renders a history as text for terminals: one line for each event, with a lane
// for the ensemble and for each process.
package timeline

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
)

// The widths of a timeline, in columns.
const (
	DefaultWidth = 120
	MinimumWidth = 40
)

const (
	textMinimum = 34 // columns of text beside the lanes; with less room, lanes are left out
	laneMaximum = 12 // lanes
)

// A Timeline renders a history as text. Equal timelines are rendered to equal bytes.
type Timeline struct {
	Events     []history.Event      // the history
	Violations []*history.Violation // of the history, the most important first
	// Show holds the indexes of the events of the decisive part, in order; see [cause.Graph.Slice].
	Show  []int
	Cited []int     // the events of Show that Decisive shows in any case, however many there are
	Of    Primitive // what the processes coordinate by
	Width int       // in columns; see EffectiveWidth
	Color bool      // color the text with ANSI escape sequences
}

// EffectiveWidth returns Width, but at least MinimumWidth, or DefaultWidth if it is 0.
func (t *Timeline) EffectiveWidth() int {
	return max(cmp.Or(t.Width, DefaultWidth), MinimumWidth)
}

// Write writes the whole history. A violation whose event is not in the history comes last.
func (t *Timeline) Write(w io.Writer) error {
	all := make([]int, len(t.Events))
	for i := range all {
		all[i] = i
	}
	return t.write(w, all, false)
}

// Decisive writes the events in Show. If they are many, it leaves out most of those between the
// first and the last, and says so.
func (t *Timeline) Decisive(w io.Writer) error { return t.write(w, t.Show, true) }

// A row is a line of the timeline: an event, or a passage of time.
type row struct {
	event int           // the index; -1 for time alone
	from  int           // the first event of a run of ticks; for time alone, the event before
	ticks int           // the number of ticks of the run; 0 for an event
	times int           // how often the event has happened, more than once if it repeats
	until int           // its last time
	time  time.Duration // that passes
	left  int           // the number of events that are left out here; 0 for another row
}

// rows returns the rows for events. Consecutive ticks are one row, and so is time that passes
// between two events of a part of the history.
func (t *Timeline) rows(show []int) []row {
	var rows []row
	var now time.Duration
	for n, i := range show {
		e := &t.Events[i]
		passed := e.At - now
		now = e.At
		last := len(rows) - 1
		switch {
		case e.Kind == history.Tick && !t.violates(i):
			if last >= 0 && rows[last].ticks > 0 && n > 0 && show[n-1] == i-1 {
				rows[last].event, rows[last].time = i, rows[last].time+passed
				rows[last].ticks++
				continue
			}
			rows = append(rows, row{event: i, from: i, ticks: 1, time: passed})
			continue
		case passed >= shownPause && len(rows) > 0:
			rows = append(rows, row{event: -1, from: rows[last].event, time: passed})
		}
		rows = append(rows, row{event: i, from: i})
	}
	return rows
}

// shownPause is the shortest passage of time that has a line of its own.
const shownPause = 50 * time.Millisecond

func (t *Timeline) violates(event int) bool { return len(t.violationsAt(event)) > 0 }

// violationsAt returns the violations at the event.
func (t *Timeline) violationsAt(event int) []*history.Violation {
	var found []*history.Violation
	for _, v := range t.Violations {
		if v.Event == event {
			found = append(found, v)
		}
	}
	return found
}

// has reports whether the event of the violation is among the rows.
func has(rows []row, v *history.Violation) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return r.event >= 0 && r.event == v.Event })
}

// A sheet is a timeline while it is laid out.
type sheet struct {
	*Timeline
	teller
	out    *bufio.Writer
	rows   []row
	width  int
	number int   // columns of the number of an event
	clock  int   // columns of the time
	lanes  []int // the process of each lane, 0 for the ensemble; empty if there is no room
	lane   int   // columns of a lane
	states []state
	used   map[string]bool // the signs in the lanes
	left   int             // the number of events that are left out
	rowMax int             // the lines of a row; 0 if nothing is bounded
}

func (t *Timeline) write(w io.Writer, show []int, bounded bool) error {
	s := &sheet{
		Timeline: t, out: bufio.NewWriter(w), rows: t.rows(show),
		teller: teller{cause.New(t.Events), NewNames(t.Events), t.Of, make(map[string]bool)},
		width:  t.EffectiveWidth(), used: make(map[string]bool),
	}
	s.mergeRepeated()
	s.mergePaced()
	if bounded {
		s.elide()
	}
	s.measure()
	clear(s.named) // Only the rows that follow count.
	s.states = statesOf(t.Events, s.lanes)
	s.heads()
	for _, r := range s.rows {
		s.row(r)
	}
	for _, v := range t.Violations {
		if v == t.Violations[0] && Waits(t.Events, t.Violations) {
			s.stuck(v)
		}
		if !has(s.rows, v) {
			s.violation(v)
		}
	}
	s.legend(len(show))
	return s.out.Flush() // It returns the first error of the writer.
}

// mergeRepeated merges consecutive rows with the same text.
func (s *sheet) mergeRepeated() {
	merged := s.rows[:0]
	last := "" // the text of the last row that may be merged
	for _, r := range s.rows {
		text := ""
		if r.event >= 0 && r.ticks == 0 && !s.violates(r.event) {
			text = s.text(r.event)
		}
		if text != "" && text == last {
			m := &merged[len(merged)-1]
			m.times, m.until = max(m.times, 1)+1, r.event
			continue
		}
		last = text
		merged = append(merged, r)
	}
	s.rows = merged
}

// pacedMin is the number of rows that are one row if time passes between them.
const pacedMin = 8

// mergePaced merges rows with the same text between which only time passes, if they are many.
func (s *sheet) mergePaced() {
	merged := make([]row, 0, len(s.rows))
	for from := 0; from < len(s.rows); from++ {
		r := s.rows[from]
		to := from
		for to+2 < len(s.rows) && s.paced(s.rows[to:to+3]) {
			to += 2
		}
		if n := (to-from)/2 + 1; n >= pacedMin {
			r.times, r.until = n, s.rows[to].event
			from = to
		}
		merged = append(merged, r)
	}
	s.rows = merged
}

// paced reports whether three rows are an event, a passage of time, and the same event.
func (s *sheet) paced(rows []row) bool {
	first, pause, second := &rows[0], &rows[1], &rows[2]
	return first.isEvent() && pause.event < 0 && second.isEvent() &&
		!s.violates(first.event) && !s.violates(second.event) &&
		s.text(first.event) == s.text(second.event)
}

// isEvent reports whether the row is a single event.
func (r *row) isEvent() bool { return r.event >= 0 && r.ticks == 0 && r.times < 2 }

// text returns the text of an event.
func (s *sheet) text(event int) string {
	text := printable(s.sentence(event))
	if source := s.source(event); source != "" {
		text += " [" + source + "]"
	}
	return text
}

// measure sets the widths of the columns and chooses the lanes.
func (s *sheet) measure() {
	s.lane = 3
	if Waits(s.Events, s.Violations) {
		s.number = len("end")
	}
	lanes := map[int]bool{}
	for _, r := range s.rows {
		if r.event < 0 {
			continue
		}
		s.number = max(s.number, len(fmt.Sprint(r.event)))
		s.clock = max(s.clock, utf8.RuneCountInString(Clock(s.Events[r.event].At)))
		if lane := laneOf(&s.Events[r.event]); r.ticks == 0 && lane != noLane {
			lanes[lane] = true
			s.lane = max(s.lane, len(process(int32(lane)))+1)
		}
	}
	for lane := range lanes {
		s.lanes = append(s.lanes, lane)
	}
	slices.SortFunc(s.lanes, func(a, b int) int { // The threads of a process are side by side.
		one, first := history.ProcessOf(int32(a))
		other, second := history.ProcessOf(int32(b))
		return cmp.Or(cmp.Compare(one, other), cmp.Compare(first, second))
	})
	if len(s.lanes) > laneMaximum || s.width-s.margin() < textMinimum {
		s.lanes = nil
	}
}

// noLane is the lane of an event that concerns neither a process nor a server.
const noLane = -1

// laneOf returns the process in whose lane an event is, 0 for the ensemble.
func laneOf(e *history.Event) int {
	switch {
	case e.Kind.InServer():
		return 0
	case e.Kind == history.Tick || e.Kind == history.FairPhase:
		return noLane
	}
	return int(e.Process)
}

// margin returns the number of columns to the left of the text.
func (s *sheet) margin() int { return 2 + s.number + 2 + s.clock + 2 + len(s.lanes)*s.lane }

// heads writes the names of the lanes.
func (s *sheet) heads() {
	if len(s.lanes) == 0 {
		return
	}
	line := strings.Repeat(" ", s.margin()-len(s.lanes)*s.lane)
	for _, lane := range s.lanes {
		name := ServiceName(s.Events)
		if lane > 0 {
			name = process(int32(lane))
		}
		line += fmt.Sprintf("%-*s", s.lane, name)
	}
	s.line(dim, line)
}

// ServiceName returns the name of the lane of the servers of a history: zk for ZooKeeper, or s.
func ServiceName(events []history.Event) string {
	if slices.ContainsFunc(events, func(e history.Event) bool {
		return e.Kind.AtServer()
	}) {
		return "s"
	}
	return "zk"
}

// row writes a row.
func (s *sheet) row(r row) {
	switch {
	case r.left > 0:
		s.cell(strings.Repeat(" ", s.margin()-len(s.lanes)*s.lane), r.from, noLane,
			fmt.Sprintf("… events left out: %d", r.left), dim)
		return
	case r.event < 0 || r.ticks > 0:
		s.pause(r)
		return
	}
	e := &s.Events[r.event]
	found := s.violationsAt(r.event)
	mark, style := " ", styleOf(e)
	if len(found) > 0 {
		mark, style = "!", alarm
	}
	left := fmt.Sprintf("%s %*d  %*s  ", mark, s.number, r.event, s.clock, Clock(e.At))
	text := s.text(r.event)
	if r.times > 1 {
		text += fmt.Sprintf(" (%d times, until event %d", r.times, r.until)
		if until := s.Events[r.until].At; until > e.At {
			text += " at " + Clock(until)
		}
		text += ")"
	}
	s.cell(left, r.event, laneOf(e), text, style)
	for _, v := range found {
		s.violation(v)
	}
}

// pause writes a row for the passage of time.
func (s *sheet) pause(r row) {
	passed := history.FormatSpan(r.time)
	if r.time >= time.Second {
		passed = history.FormatSpan(r.time.Round(time.Second / 10))
	}
	left := fmt.Sprintf("  %*s  %*s  ", s.number, "", s.clock, "")
	text := passed + " later"
	if r.ticks > 0 {
		left = fmt.Sprintf("  %*d  %*s  ", s.number, r.event, s.clock,
			Clock(s.Events[r.event].At))
		text = passed + " pass"
		if r.ticks > 1 {
			text = fmt.Sprintf("%s pass (events %d–%d)", passed, r.from, r.event)
		}
	}
	s.cell(left, max(r.event, r.from), noLane, text, dim)
}

// cell writes a row: what is to the left of the lanes, the lanes at an event with a mark in one of
// them, and the text, which continues on further lines. A negative event stands for the one before.
func (s *sheet) cell(left string, event, lane int, text string, style style) {
	room := s.width - s.margin()
	for n, part := range s.bounded(wrap(text, room)) {
		if n > 0 {
			left = strings.Repeat(" ", utf8.RuneCountInString(left))
		}
		rails := ""
		for l, of := range s.lanes {
			sign := s.states[l].at(event, n == 0 && of == lane, s.Events)
			s.used[sign] = true
			rails += fmt.Sprintf("%-*s", s.lane, sign)
		}
		s.out.WriteString(strings.TrimRight(s.paint(dim, left)+s.paint(rail, rails)+
			s.paint(style, part), " ") + "\n")
	}
}

// violation writes the lines that describe a violation.
func (s *sheet) violation(v *history.Violation) {
	detail := cmp.Or(v.Detail, v.Reason)
	if v.Property == history.NoPanic {
		detail = cmp.Or(v.Evidence.Message, detail) // The explanation names the calls.
	}
	indent := s.margin() - len(s.lanes)*s.lane
	if len(s.lanes) == 0 {
		indent = 2
	}
	lead := "└ "
	for text := range strings.SplitSeq(string(v.Property)+": "+s.names.In(detail), "\n") {
		for _, part := range wrap(printable(text), s.width-indent-2) {
			s.line(alarm, "!"+strings.Repeat(" ", indent-1)+lead+part)
			lead = "  "
		}
	}
}

// Waits reports whether the first violation is that a process waits for ever.
func Waits(events []history.Event, violations []*history.Violation) bool {
	if len(violations) == 0 || violations[0].Property != history.Progress {
		return false
	}
	event := violations[0].Event
	return event < 0 || event >= len(events) || events[event].Kind != history.UnlockReturn
}

// stuck writes a row for a process that waits at the end of the history.
func (s *sheet) stuck(v *history.Violation) {
	last := len(s.Events) - 1
	if v.Event < 0 || v.Event > last {
		return
	}
	p, end := s.Events[v.Event].Process, s.Events[last].At
	shown := s.Events[v.Event].At
	for _, r := range s.rows {
		if r.event >= 0 {
			shown = s.Events[r.event].At
		}
	}
	if end-shown >= shownPause {
		s.pause(row{event: -1, from: last, time: end - shown})
	}
	left := fmt.Sprintf("! %*s  %*s  ", s.number, "end", s.clock, "")
	s.cell(left, last, int(p), process(p)+" STILL WAITS", alarm)
}

// line writes a line without trailing blanks.
func (s *sheet) line(style style, text string) {
	s.out.WriteString(s.paint(style, strings.TrimRight(text, " ")) + "\n")
}

// legend explains the names and the signs that the rows use.
func (s *sheet) legend(shown int) {
	s.out.WriteByte('\n')
	var names []string
	for _, p := range s.names.order {
		if s.named[p] || slices.ContainsFunc(s.Violations, func(v *history.Violation) bool {
			return strings.Contains(v.Detail, p)
		}) {
			names = append(names, s.names.short[p]+" = "+printable(p))
		}
	}
	if more := len(names) - namesMax; s.rowMax > 0 && more > 0 {
		names = append(names[:namesMax], fmt.Sprintf("and %d more", more))
	}
	for n, name := range names {
		lead := "nodes  "
		if n > 0 {
			lead = "       "
		}
		for m, part := range wrap(name, s.width-len(lead)-2) {
			if m > 0 {
				lead = "         "
			}
			s.line(dim, lead+part)
		}
	}
	if len(s.lanes) > 0 {
		s.signs()
	}
	switch {
	case shown == 0 && len(s.Events) > 0:
		s.line(dim, fmt.Sprintf("shown  none of %d events: none shows how it came about",
			len(s.Events)))
	case shown-s.left < len(s.Events):
		all := ""
		if s.left > 0 {
			all = "; timeline.html and trace.jsonl of a counterexample have all"
		}
		s.line(dim, fmt.Sprintf("shown  %d of %d events%s", shown-s.left, len(s.Events), all))
	}
}

// signs explains the signs of the lanes, the rarer ones only if they are used.
func (s *sheet) signs() {
	line := "lanes "
	for _, sign := range []string{
		signConnected + " connected", signDisconnected + " not connected",
		signHolds + s.of.In(" has the lock, as far as it knows"),
		signHoldsAlone + s.of.In(" has it, not connected"),
		"(blank) finished or crashed", signEvent + " event", signFault + " fault", "! violation",
	} {
		if strings.HasPrefix(sign, signHoldsAlone) && !s.used[signHoldsAlone] ||
			strings.HasPrefix(sign, "(blank)") && !s.used[signEnded] {
			continue
		}
		if utf8.RuneCountInString(line+"  "+sign) > s.width {
			s.line(dim, line)
			line = "      "
		}
		line += " " + sign + "  "
	}
	s.line(dim, line)
}

// Clock renders virtual time in seconds, and with hours from an hour on. The resolution is a
// millisecond; the order of the lines is the order of the events.
func Clock(at time.Duration) string {
	if at >= time.Hour {
		return at.Truncate(time.Second).String()
	}
	return fmt.Sprintf("%d.%03ds", at/time.Second, at%time.Second/time.Millisecond)
}
