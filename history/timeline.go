package history

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// DecisiveLines is the default number of lines of [Timeline.Decisive].
const DecisiveLines = 24

const (
	// runes of a cell; a longer text is truncated, to keep the columns on the screen
	columnMax    = 52
	contextLines = 3 // events shown before a call that never returned
	minimumLines = 3 // one line, with a gap before it and one after it
)

// legend explains the signs of a timeline.
const legend = "Each line: number of the event, virtual time since the start, and the event " +
	"under " +
	"the one it happens to.\n!  a property is broken here   ✂  a fault lands   " +
	"→  a request leaves   ←  its reply arrives   …  shortened\n"

// A Timeline renders a history as text: one line for each event, one column for the ensemble and
// one for each process. Equal timelines are rendered to equal bytes.
type Timeline struct {
	Title      string       // the first line, if not empty
	Events     []Event      // the history
	Processes  int          // the number of processes with a column; 0 for all that the events name
	Violations []*Violation // of the history, the most important first
}

// Write writes the whole timeline after a legend. A violation whose event is not in the history
// comes last.
func (t *Timeline) Write(w io.Writer) error {
	rows := make([]row, len(t.Events))
	for i := range rows {
		rows[i].event = i
	}
	var head string
	if t.Title != "" {
		head = t.Title + "\n\n"
	}
	return t.write(w, head+legend+"\n", rows)
}

// Decisive writes, without title and legend, the few lines that explain the first violation. It
// writes at most the given number of lines of events and of "⋮", which stands for omitted events.
// Faults, the last messages of a process that waits forever, the heads of the columns and the
// violations come in addition. A number less than 1 means [DecisiveLines], and the minimum is 3.
//
// The lines end with the event of the violation, or with the history if there is no violation.
// Those for [Progress] begin shortly before the call that never returned and extend to the end of
// the history. Decisive omits requests and their replies first, then other events that are not
// events of a lock, then the oldest events. It never omits a fault.
func (t *Timeline) Decisive(w io.Writer, lines int) error {
	if lines < 1 {
		lines = DecisiveLines
	}
	return t.write(w, "", t.decisive(max(lines, minimumLines)))
}

// A row is a line of the table: an event, or a gap that stands for omitted events.
type row struct {
	event int // its index
	gap   int // the number of omitted events from that one on; 0 for an event
}

// decisive returns the rows that Decisive shows.
func (t *Timeline) decisive(lines int) []row {
	s := span{events: t.Events, end: len(t.Events), pinned: len(t.Events) - 1}
	if s.end == 0 {
		return nil
	}
	if len(t.Violations) > 0 && t.has(t.Violations[0]) {
		s.pinned = t.Violations[0].Event
		if t.Violations[0].Property == Progress {
			s.waitsForever = true
			s.from = max(0, s.pinned-contextLines)
		} else {
			s.end = s.pinned + 1
		}
	}
	for rank := rankTransport; ; rank++ {
		keep, all := s.latest(lines, rank)
		if all || rank == rankLock {
			return rowsOf(s.withLastMessages(s.withFaults(keep)))
		}
	}
}

// withFaults adds the faults, because they explain later events.
func (s *span) withFaults(keep []bool) []bool {
	for i := range keep {
		keep[i] = keep[i] || s.events[i].Kind == Fault
	}
	return keep
}

// withLastMessages adds the last request, reply and watch event of a process that waits forever,
// because they show what the process knew.
func (s *span) withLastMessages(keep []bool) []bool {
	if !s.waitsForever {
		return keep
	}
	for _, kind := range []Kind{Send, Reply, WatchEvent} {
		for i := len(keep) - 1; i > s.pinned; i-- {
			if s.events[i].Kind == kind && s.events[i].Process == s.events[s.pinned].Process {
				keep[i] = true
				break
			}
		}
	}
	return keep
}

// has reports whether the event of the violation is in the history.
func (t *Timeline) has(v *Violation) bool { return 0 <= v.Event && v.Event < len(t.Events) }

// The ranks of events, from the one that is omitted first.
const (
	rankTransport = iota // messages and replication
	rankOther
	rankLock // events of locks, nodes, sessions and faults
)

func rankOf(k Kind) int {
	switch k {
	case Send, Serve, Reply, WatchArmed, Tick, Logged, Applied:
		return rankTransport
	case LockCall, LockReturn, Enter, Leave, Lost, UnlockCall, ReenterCall, ReenterReturn, Exited,
		ResourceWrite,
		NodeCreated, NodeDeleted, WatchFired, WatchEvent,
		SessionExpired, SessionClosed, Leading, Fault, Resumed, Crashed, FairPhase:
		return rankLock
	}
	return rankOther
}

// A span is the part of a history to show, with one event that must be shown.
type span struct {
	events            []Event
	from, end, pinned int
	waitsForever      bool // the pinned event is a call that never returns
}

// latest selects the last events of the span with at least the given rank that fit in the lines
// together with the gaps between them. It returns which events up to the end of the span it has
// selected, and whether these are all of the rank.
func (s *span) latest(lines, rank int) (keep []bool, all bool) {
	keep = make([]bool, s.end)
	keep[s.pinned] = true
	used, next := 0, s.end
	for i := s.end - 1; i >= s.from; i-- {
		if i != s.pinned && rankOf(s.events[i].Kind) < rank {
			continue
		}
		used += 1 + gapLine(i+1, next)
		if i != s.pinned && used+s.reserve(i) > lines {
			return keep, false
		}
		keep[i] = true
		next = i
	}
	return keep, true
}

// reserve returns the number of lines needed before event i if only the pinned event is selected
// there.
func (s *span) reserve(i int) int {
	if i <= s.pinned {
		return gapLine(0, i)
	}
	return gapLine(0, s.pinned) + 1 + gapLine(s.pinned+1, i)
}

// gapLine returns the number of lines for omitting the events in [from, end).
func gapLine(from, end int) int { return min(end-from, 1) }

// rowsOf returns a row for each selected event, and a gap for each run of others. It shows a single
// event instead of a gap, which would take as many lines.
func rowsOf(keep []bool) []row {
	var rows []row
	for i := 0; i < len(keep); {
		gap := 0
		for i+gap < len(keep) && !keep[i+gap] {
			gap++
		}
		if gap == 1 {
			gap = 0
		}
		rows = append(rows, row{i, gap})
		i += max(gap, 1)
	}
	return rows
}

// write writes the rows as a table after the head.
func (t *Timeline) write(w io.Writer, head string, rows []row) error {
	table := newTable(t, rows)
	out := bufio.NewWriter(w)
	out.WriteString(head) // Flush returns the first error of a buffered writer.
	out.Write(table.heads())
	for i, r := range rows {
		if r.gap > 0 {
			fmt.Fprintf(out, "  ⋮ (%d events)\n", r.gap)
			continue
		}
		found := t.violationsAt(r.event)
		out.Write(table.line(i, r.event, len(found) > 0))
		for _, v := range found {
			out.Write(table.violation(v))
		}
	}
	for _, v := range t.Violations {
		if !t.has(v) {
			out.Write(table.violation(v))
		}
	}
	return out.Flush()
}

// violationsAt returns the violations at the event.
func (t *Timeline) violationsAt(event int) []*Violation {
	var found []*Violation
	for _, v := range t.Violations {
		if v.Event == event {
			found = append(found, v)
		}
	}
	return found
}

// A table holds the texts of its cells and the widths of its columns, in runes.
type table struct {
	events  []Event
	texts   []string // of each row; empty for a gap
	columns []int    // the width of each; the first is the ensemble's
	number  int      // the width of the number of an event
	clock   int      // the width of the time
}

func newTable(t *Timeline, rows []row) *table {
	b := &table{
		events: t.Events, texts: make([]string, len(rows)),
		columns: make([]int, 1+t.processes()),
	}
	for i := range b.columns {
		b.columns[i] = utf8.RuneCountInString(columnName(i))
	}
	for i, r := range rows {
		if r.gap > 0 {
			continue
		}
		e := &t.Events[r.event]
		c := b.column(e)
		b.texts[i] = truncate(cell(e, c), columnMax)
		b.columns[c] = max(b.columns[c], utf8.RuneCountInString(b.texts[i]))
		b.number = max(b.number, len(fmt.Sprint(r.event)))
		b.clock = max(b.clock, len(clock(e.At)))
	}
	return b
}

// processes returns the number of processes with a column.
func (t *Timeline) processes() int {
	if t.Processes > 0 {
		return t.Processes
	}
	var most int32
	for i := range t.Events {
		most = max(most, t.Events[i].Process)
	}
	return int(most)
}

func columnName(column int) string {
	if column == 0 {
		return "ensemble"
	}
	return fmt.Sprintf("c%d", column)
}

// column returns the column of an event. An event of a process without a column is in the column of
// the ensemble.
func (b *table) column(e *Event) int {
	if e.Kind >= Serve && e.Kind <= Leading || e.Process < 1 || int(e.Process) >= len(b.columns) {
		return 0
	}
	return int(e.Process)
}

// heads returns the line with the names of the columns.
func (b *table) heads() []byte {
	line := fmt.Appendf(nil, "%*s", b.margin(), "")
	for c, width := range b.columns {
		line = fmt.Appendf(line, " │ %-*s", width, columnName(c))
	}
	return endLine(line)
}

// line returns the line of an event.
func (b *table) line(row, event int, violates bool) []byte {
	mark := ' '
	if violates {
		mark = '!'
	}
	e := &b.events[event]
	line := fmt.Appendf(nil, "%c %*d  %*s", mark, b.number, event, b.clock, clock(e.At))
	for c, width := range b.columns {
		text := ""
		if c == b.column(e) {
			text = b.texts[row]
		}
		line = fmt.Appendf(line, " │ %-*s", width, text)
	}
	return endLine(line)
}

// violation returns the lines that describe a violation, which are never truncated.
func (b *table) violation(v *Violation) []byte {
	detail := v.Detail
	if detail == "" {
		detail = v.Reason
	}
	var lines []byte
	lead := "└ " + string(v.Property) + ": "
	for text := range strings.SplitSeq(detail, "\n") {
		lines = fmt.Appendf(lines, "!%*s %s%s\n", b.margin()-1, "", lead, printable(text))
		lead = "  "
	}
	return lines
}

// margin returns the width of the mark, the number and the time.
func (b *table) margin() int { return 2 + b.number + 2 + b.clock }

// endLine ends a line without trailing blanks.
func endLine(line []byte) []byte { return append(bytes.TrimRight(line, " "), '\n') }

// clock renders virtual time in seconds, and with hours from an hour on. The resolution is a
// millisecond; the order of the lines is the order of the events.
func clock(at time.Duration) string {
	if at >= time.Hour {
		return "+" + at.Truncate(time.Millisecond).String()
	}
	return fmt.Sprintf("+%d.%03ds", at/time.Second, at%time.Second/time.Millisecond)
}

// truncate shortens a text to at most the given number of runes.
func truncate(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// cell returns the text of an event. Outside the column of its process the text begins with the
// name of the process.
func cell(e *Event, column int) string {
	text := printable(phrase(e))
	if column == 0 && e.Process > 0 {
		return columnName(int(e.Process)) + ": " + text
	}
	return text
}

// printable replaces characters that would break the table or control the terminal, because a
// history may have been read from a file.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, text)
}

// phrase describes an event in a few words. The cases are the groups in which the kinds are
// declared.
func phrase(e *Event) string {
	switch {
	case e.Kind <= Finished:
		return lockPhrase(e)
	case e.Kind >= ReenterCall:
		return insidePhrase(e)
	case e.Kind <= SessionState:
		return clientPhrase(e)
	case e.Kind <= Leading:
		return ensemblePhrase(e)
	}
	return harnessPhrase(e)
}

// lockPhrase describes an event between a process and its lock.
func lockPhrase(e *Event) string {
	switch e.Kind {
	case LockCall:
		if e.Attempt > 1 {
			return fmt.Sprintf("asks for the lock, attempt %d", e.Attempt)
		}
		return "asks for the lock"
	case LockReturn:
		if e.Err != "" {
			return "gets no lock: " + e.Err
		}
		return strings.TrimRight("HAS THE LOCK "+nodeName(e.Path), " ")
	case Enter:
		return "ENTERS"
	case Leave:
		return "leaves"
	case Lost:
		return "is told: lost"
	case UnlockCall:
		return "gives it back"
	case UnlockReturn:
		if e.Err != "" {
			return "cannot give it back: " + e.Err
		}
		return "has given it back"
	case Finished:
		return "is finished"
	}
	return e.Kind.String()
}

// insidePhrase describes an event of a holder.
func insidePhrase(e *Event) string {
	switch {
	case e.Kind == ReenterCall:
		return "asks once more"
	case e.Kind == ReenterReturn && e.Err != "":
		return "is refused once more: " + e.Err
	case e.Kind == ReenterReturn:
		return "has it once more"
	case e.Kind == Exited:
		return "gives one back" + failure(e)
	case e.Kind == ResourceRead:
		return fmt.Sprintf("reads version %d", e.Zxid) + failure(e)
	case e.Kind == ResourceWrite && e.Err != "":
		return "write refused: " + e.Err
	case e.Kind == ResourceWrite && e.Zxid != 0:
		return fmt.Sprintf("WRITES version %d", e.Zxid)
	case e.Kind == ResourceWrite:
		return "has written"
	}
	return e.Kind.String()
}

// clientPhrase describes a message between a process and the ensemble.
func clientPhrase(e *Event) string {
	switch e.Kind {
	case Send:
		return fmt.Sprintf("%s → %s", e.Op, nodeName(e.Path))
	case Reply:
		return fmt.Sprintf("%s ← %s", e.Op, nodeName(e.Path)) + failure(e)
	case WatchEvent:
		return fmt.Sprintf("watch %d: %s %s", e.Watch, nodeName(e.Path), e.Name)
	case SessionState:
		return "session: " + e.Name
	}
	return e.Kind.String()
}

// ensemblePhrase describes an event in the ensemble.
func ensemblePhrase(e *Event) string {
	node := nodeName(e.Path)
	switch e.Kind {
	case Serve:
		return fmt.Sprintf("serves %s %s", e.Op, node) + failure(e)
	case NodeCreated:
		return fmt.Sprintf("%s created, zxid %s", node, zxidName(e.Zxid))
	case NodeDeleted:
		return fmt.Sprintf("%s deleted, zxid %s", node, zxidName(e.Zxid))
	case NodeChanged:
		return fmt.Sprintf("%s changed, zxid %s", node, zxidName(e.Zxid))
	case WatchArmed:
		return fmt.Sprintf("watch %d set: %s, %s", e.Watch, node, e.Name)
	case WatchFired:
		return fmt.Sprintf("watch %d fires: %s %s", e.Watch, node, e.Name)
	case WatchGone:
		return fmt.Sprintf("watch %d is gone: %s", e.Watch, node)
	case SessionOpened:
		return fmt.Sprintf("session %#x opens", e.Session)
	case SessionExpired:
		return fmt.Sprintf("session %#x expires", e.Session)
	case SessionClosed:
		return fmt.Sprintf("session %#x closes", e.Session)
	case Logged:
		return fmt.Sprintf("s%d logs zxid %s", e.Server, zxidName(e.Zxid))
	case Leading:
		return fmt.Sprintf("s%d LEADS from zxid %s on", e.Server, zxidName(e.Zxid))
	case Applied:
		return fmt.Sprintf("s%d applies zxid %s", e.Server, zxidName(e.Zxid))
	}
	return e.Kind.String()
}

// zxidName renders a zxid. After an election it is the epoch of the leader and a counter.
func zxidName(zxid int64) string {
	if epoch := zxid >> 32; epoch > 0 {
		return fmt.Sprintf("%d:%d", epoch, zxid&(1<<32-1))
	}
	return fmt.Sprint(zxid)
}

// harnessPhrase describes an event of the harness.
func harnessPhrase(e *Event) string {
	switch e.Kind {
	case Fault:
		target := ""
		switch {
		case e.Server != 0 && e.Peer != 0:
			target = fmt.Sprintf(" s%d-s%d", e.Server, e.Peer)
		case e.Server != 0:
			target = fmt.Sprintf(" s%d", e.Server)
		case e.Peer != 0:
			target = fmt.Sprintf(" s%d", e.Peer)
		}
		if e.Op != "" {
			return fmt.Sprintf("✂ %s%s, phase %s", e.Name, target, e.Op)
		}
		return "✂ " + e.Name + target
	case Healed:
		switch {
		case e.Server != 0 && e.Peer != 0:
			return fmt.Sprintf("s%d reaches s%d again", e.Server, e.Peer)
		case e.Server != 0:
			return fmt.Sprintf("s%d works again", e.Server)
		case e.Peer != 0:
			return fmt.Sprintf("the link to s%d works again", e.Peer)
		}
		return "the link works again"
	case Resumed:
		return "goes on"
	case Crashed:
		return "CRASHES"
	case Tick:
		return "time passes"
	case FairPhase:
		return "no more faults, fair from here on"
	}
	return e.Kind.String()
}

// failure returns the suffix that describes the error of an event, or "".
func failure(e *Event) string {
	if e.Err == "" {
		return ""
	}
	return ": " + e.Err
}

// guid matches the unique part of a node's name, with or without dashes.
var guid = regexp.MustCompile(`(?i)[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}`)

// nodeName returns the last element of a path, with a GUID shortened to a prefix.
func nodeName(path string) string {
	last := path[strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/')+1:]
	return guid.ReplaceAllStringFunc(last, func(id string) string { return id[:4] + "…" })
}
