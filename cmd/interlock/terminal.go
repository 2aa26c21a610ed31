package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/interlock-sim/interlock/history/explain"
)

// fitTerminal sets the width of a report to that of the terminal to which it is written, if that is
// one, and colors it unless the variable NO_COLOR is set.
func fitTerminal(report *explain.Report, w io.Writer) {
	file := terminalOf(w)
	if file == nil {
		return
	}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil {
		report.Timeline.Width = width
	}
	report.Timeline.Color = os.Getenv("NO_COLOR") == ""
}

// terminalOf returns the terminal to which w writes, or nil if it is none.
func terminalOf(w io.Writer) *os.File {
	if remembers, ok := w.(*errorWriter); ok {
		w = remembers.w
	}
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return file
}
