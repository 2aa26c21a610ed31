// Package terminal shows a recorded schedule step by step in a terminal.
package terminal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/sim"
)

// A Model is the state of the display: a recorded path and a place on it.
type Model struct {
	ctx      context.Context
	explorer *explore.Explorer
	path     explore.Path // of the recording, to the end of its run
	taken    []explore.Taken
	broken   int // the number of steps after which a property is first broken, or -1
	skipped  int // recorded deviations that are not possible any more

	state  *explore.State
	err    error
	scroll int // how many of the last events are below the window
	width  int
	height int
}

var _ tea.Model = (*Model)(nil)

// The size of the display until the terminal has told its own.
const (
	defaultWidth  = 100
	defaultHeight = 30
)

// New returns a display at the start of a recorded schedule.
func New(ctx context.Context, explorer *explore.Explorer, recorded explore.Path) (*Model, error) {
	path, skipped, err := explorer.Load(ctx, recorded)
	if err != nil {
		return nil, err
	}
	m := &Model{
		ctx: ctx, explorer: explorer, path: path, skipped: len(skipped), broken: -1,
		width: defaultWidth, height: defaultHeight,
	}
	end, err := explorer.At(ctx, path)
	if err != nil {
		return nil, err
	}
	m.taken = end.Taken
	if len(end.Violations) > 0 {
		violated, err := explorer.FirstViolation(ctx, path)
		if err != nil {
			return nil, err
		}
		m.broken = violated.Length
	}
	m.jump(0)
	return m, m.err
}

// Init asks for nothing.
func (m *Model) Init() tea.Cmd { return nil }

// Update moves along the schedule.
func (m *Model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = message.Width, message.Height
	case tea.KeyPressMsg:
		return m, m.press(message.String())
	}
	return m, nil
}

// page is how many steps a long move goes.
const page = 10

// press handles a key.
func (m *Model) press(key string) tea.Cmd {
	at := m.state.Length
	switch key {
	case "q", "esc", "ctrl+c":
		return tea.Quit
	case "right", "l", "n", "space", "enter":
		m.jump(at + 1)
	case "left", "h", "p", "backspace":
		m.jump(at - 1)
	case "pgdown":
		m.jump(at + page)
	case "pgup":
		m.jump(at - page)
	case "home", "g":
		m.jump(0)
	case "end", "G":
		m.jump(m.path.Length)
	case "v":
		if m.broken >= 0 {
			m.jump(m.broken)
		}
	case "d":
		for _, d := range m.path.Deviations {
			if d.Index >= at {
				m.jump(d.Index + 1)
				break
			}
		}
	case "up", "k":
		m.scroll = min(m.scroll+1, max(0, len(m.state.Events)-1))
	case "down", "j":
		m.scroll = max(m.scroll-1, 0)
	}
	return nil
}

// jump goes to the state after so many steps.
func (m *Model) jump(length int) {
	length = max(0, min(length, m.path.Length))
	state, err := m.explorer.At(m.ctx, m.path.To(length))
	if m.err = err; err == nil {
		m.state, m.scroll = state, 0
	}
}

// View shows the state.
func (m *Model) View() tea.View {
	view := tea.NewView(m.render())
	view.AltScreen = true
	view.WindowTitle = "interlock replay"
	return view
}

// A style is the number of an ANSI style.
type style string

const (
	plain   style = ""
	bold    style = "1"
	dim     style = "2"
	alarm   style = "1;31"
	caution style = "33"
	good    style = "32"
)

// A line is a line of the display.
type line struct {
	text  string
	style style
}

// wideMinimum is the width from which on events and state are side by side.
const wideMinimum = 90

// render returns the display as text.
func (m *Model) render() string {
	head := m.head()
	foot := []line{{"q quit  → next  ← back  d next deviation  v violation  g start  G end  " +
		"↑↓ scroll events", dim}}
	if m.err != nil {
		foot = append([]line{{m.err.Error(), alarm}}, foot...)
	}
	room := max(4, m.height-len(head)-len(foot))
	var body []string
	if m.width >= wideMinimum {
		left := m.width*3/5 - 1
		right := m.width - left - 2
		events, state := m.events(room), limit(m.details(right), room)
		for i := range room {
			body = append(body, cell(events, i, left)+"  "+cell(state, i, right))
		}
	} else {
		state := limit(m.details(m.width), room*3/5)
		for i := range state {
			body = append(body, cell(state, i, m.width))
		}
		events := m.events(room - len(state))
		for i := range events {
			body = append(body, cell(events, i, m.width))
		}
	}
	var text strings.Builder
	for i := range head {
		text.WriteString(cell(head, i, m.width) + "\n")
	}
	text.WriteString(strings.Join(body, "\n") + "\n")
	for i := range foot {
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(cell(foot, i, m.width))
	}
	return text.String()
}

// head returns the first lines: what is replayed, where, and what comes next.
func (m *Model) head() []line {
	s := m.state
	lines := []line{
		{m.explorer.Scenario().Text, bold},
		{fmt.Sprintf("after %d of %d steps, %s", s.Length, m.path.Length, clock(s.At)), plain},
	}
	switch {
	case m.skipped == 1:
		lines[1].text += ", 1 recorded step is not possible any more"
	case m.skipped > 1:
		lines[1].text += fmt.Sprintf(", %d recorded steps are not possible any more", m.skipped)
	}
	switch {
	case s.Length < len(m.taken):
		next := m.taken[s.Length]
		text, style := fmt.Sprintf("next: step %d, %v", next.Index, next.Step), plain
		if next.Deviates {
			text, style = text+", a deviation from the default policy", caution
		}
		lines = append(lines, line{text, style})
	case s.Ended:
		lines = append(lines, line{"the run has ended", plain})
	}
	for _, v := range s.Violations {
		lines = append(lines, line{"VIOLATION " + v.Signature, alarm})
	}
	return append(lines, line{})
}

// events returns the last events that fit.
func (m *Model) events(room int) []line {
	if room < 2 {
		return nil
	}
	lines := []line{{"Events", bold}}
	all := m.state.Events
	to := max(0, len(all)-m.scroll)
	for _, e := range all[max(0, to-room+1):to] {
		text := fmt.Sprintf("%4d %9s  %s", e.Number, clock(e.At), e.Text)
		if e.Source != "" {
			text += " [" + e.Source + "]"
		}
		lines = append(lines, line{text, m.styleOf(&e)})
	}
	return lines
}

// styleOf returns the style of an event. Those of the last step are bold.
func (m *Model) styleOf(e *explore.Event) style {
	switch {
	case slices.ContainsFunc(m.state.Violations, func(v explore.Violation) bool {
		return v.Event == e.Number
	}):
		return alarm
	case e.Kind == history.Fault:
		return caution
	case e.Decision == m.state.Length-1:
		return bold
	}
	return plain
}

// details returns the explanation of the first violation, the state, and the enabled steps.
func (m *Model) details(width int) []line {
	s := m.state
	var lines []line
	if len(s.Violations) > 0 {
		lines = append(lines, line{"Why", bold}, line{"  " + s.Violations[0].Why, plain})
	}
	lines = append(lines, line{"Processes", bold})
	for _, p := range s.Processes {
		style := plain
		if p.Believes {
			style = good
		}
		lines = append(lines, line{"  " + history.ProcessName(p.Process) + " " + p.Text, style})
	}
	if len(s.Queue) > 0 {
		names := make([]string, len(s.Queue))
		for i := range s.Queue {
			names[i] = s.Queue[i].Name
		}
		lines = append(lines, line{"Queue", bold}, line{"  " + strings.Join(names, " · "), plain})
	}
	if !s.Ended {
		lines = append(lines, line{"Enabled steps", bold})
		lines = append(lines, m.enabled()...)
	}
	if s.System != nil {
		lines = append(lines, inspection(s)...)
	}
	return fold(lines, width)
}

// enabled returns the enabled steps: the one that the recording takes first, faults last.
func (m *Model) enabled() []line {
	next := sim.Step{}
	if m.state.Length < len(m.taken) {
		next = m.taken[m.state.Length].Step
	}
	var lines, faults []line
	for _, c := range m.state.Enabled {
		mark, style := "  ", plain
		if c.Step == next {
			mark, style = "▶ ", good
		}
		text := mark + c.Step.String()
		if c.Default {
			text += " (default)"
		}
		l := line{text + "  " + c.Text, style}
		switch {
		case c.Step == next:
			lines = append([]line{l}, lines...)
		case c.Fault:
			faults = append(faults, line{l.text, dim})
		default:
			lines = append(lines, l)
		}
	}
	return append(lines, faults...)
}

// inspection returns the state of the service.
func inspection(s *explore.State) []line {
	i, names := s.System, s.Names
	lines := []line{{"Znodes", bold}}
	for _, n := range i.Nodes {
		text := "  " + cmp.Or(names[n.Path], n.Path)
		if n.Process > 0 {
			text += " of " + history.ProcessName(n.Process)
		}
		if n.Data != "" {
			text += " " + strconv.Quote(n.Data)
		}
		lines = append(lines, line{text, plain})
	}
	lines = append(lines, line{"Sessions", bold})
	for _, s := range i.Sessions {
		at := "not connected"
		if s.Server > 0 {
			at = fmt.Sprintf("at s%d", s.Server)
		}
		lines = append(lines, line{fmt.Sprintf("  c%d %s, %s, until %s",
			s.Process, s.ID, at, clock(s.Expires)), plain})
	}
	if len(i.Watches) > 0 {
		lines = append(lines, line{"Watches", bold})
	}
	for _, w := range i.Watches {
		what := ""
		if w.Children {
			what = "children of "
		}
		lines = append(lines, line{fmt.Sprintf("  %d of c%d on %s%s", w.Number, w.Process, what,
			cmp.Or(names[w.Path], w.Path)), plain})
	}
	if len(i.Servers) > 1 {
		lines = append(lines, line{"Servers", bold})
		for _, s := range i.Servers {
			state := "follows"
			switch {
			case !s.Up:
				state = "down"
			case s.Leader:
				state = "leads"
			}
			if s.Partitioned {
				state += ", partitioned"
			}
			lines = append(lines, line{fmt.Sprintf("  s%d %s, has applied %s", s.Number, state,
				s.Applied), plain})
		}
	}
	return lines
}

// limit returns the first lines, and says how many are left out.
func limit(lines []line, room int) []line {
	if len(lines) <= room {
		return lines
	}
	left := len(lines) - room + 1
	return append(lines[:room-1:room-1], line{fmt.Sprintf("  … %d more lines", left), dim})
}

// cell returns a line, padded and cut to the width, or blanks if there is no such line.
func cell(lines []line, i, width int) string {
	if i >= len(lines) {
		return strings.Repeat(" ", max(0, width))
	}
	runes := []rune(lines[i].text)
	if len(runes) > width {
		runes = append(runes[:max(0, width-1)], '…')
	}
	text := string(runes) + strings.Repeat(" ", max(0, width-len(runes)))
	if lines[i].style == plain {
		return text
	}
	return "\x1b[" + string(lines[i].style) + "m" + text + "\x1b[m"
}

// fold breaks lines that are longer than the width. Their other parts are indented.
func fold(lines []line, width int) []line {
	var folded []line
	for _, l := range lines {
		words := strings.SplitAfter(l.text, " ")
		part, filled := "", false
		for _, word := range words {
			if filled && utf8.RuneCountInString(part)+utf8.RuneCountInString(word) > width {
				folded = append(folded, line{part, l.style})
				part, filled = "    ", false
			}
			part += word
			filled = filled || word != " "
		}
		folded = append(folded, line{part, l.style})
	}
	return folded
}

// clock renders virtual time in seconds.
func clock(at time.Duration) string { return fmt.Sprintf("%.3fs", at.Seconds()) }
