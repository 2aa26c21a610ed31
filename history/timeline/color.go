package timeline

import "github.com/interlock-sim/interlock/history"

// A style is the ANSI escape sequence that begins a colored text, or "".
type style string

const (
	plain  style = ""
	dim    style = "\x1b[2m"
	rail   style = "\x1b[36m"
	strong style = "\x1b[1m"
	fault  style = "\x1b[33m"
	alarm  style = "\x1b[1;31m"
)

const resetStyle = "\x1b[0m"

// paint colors a text.
func (t *Timeline) paint(s style, text string) string {
	if !t.Color || s == plain || text == "" {
		return text
	}
	return string(s) + text + resetStyle
}

// styleOf returns the style of an event that breaks nothing.
func styleOf(e *history.Event) style {
	switch {
	case e.Kind == history.Fault || e.Kind == history.Crashed:
		return fault
	case e.Kind == history.LockReturn && e.Err == "" || e.Kind == history.Enter ||
		e.Kind == history.ReenterReturn && e.Err == "":
		return strong
	}
	return plain
}
