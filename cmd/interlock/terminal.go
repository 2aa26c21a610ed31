package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
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
	if folds, ok := w.(*folder); ok {
		w = folds.terminal
	}
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return file
}

// A folder folds lines that are longer than the width of a terminal. Its methods may be called
// concurrently.
type folder struct {
	terminal *os.File

	mu   sync.Mutex
	line []byte // the beginning of a line that has not ended
}

// folded returns a writer that folds lines if w is a terminal, or w itself. The function writes the
// rest of the last line.
func folded(w io.Writer) (_ io.Writer, end func()) {
	terminal := terminalOf(w)
	if terminal == nil {
		return w, func() {}
	}
	f := &folder{terminal: terminal}
	return f, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.terminal.Write(f.line)
		f.line = nil
	}
}

// Write implements io.Writer. It writes the lines that end in p. JSON stays as it is.
func (f *folder) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	width, _, err := term.GetSize(int(f.terminal.Fd()))
	if err != nil || width < timeline.MinimumWidth ||
		len(f.line) == 0 && bytes.HasPrefix(p, []byte("{")) {
		return f.terminal.Write(p)
	}
	f.line = append(f.line, p...)
	end := bytes.LastIndexByte(f.line, '\n') + 1
	var text strings.Builder
	for line := range strings.Lines(string(f.line[:end])) {
		text.WriteString(fold(line, width))
	}
	f.line = append(f.line[:0], f.line[end:]...)
	if _, err := f.terminal.WriteString(text.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// copied matches lines with a path or a command, which readers copy, and those of stack traces.
var copied = regexp.MustCompile(
	`^ *(replay|counterexample|run|or, without that directory,|cd|go|interlock) |^\t`)

// fold folds a line at blanks, and indents what follows more deeply. Escape sequences have no
// width, so a line with one, which is made for the terminal, stays as it is. So does a line that
// readers copy, and one with a word that does not fit.
func fold(line string, width int) string {
	text := strings.TrimLeft(line, " ")
	if utf8.RuneCountInString(line)-1 <= width || strings.ContainsRune(line, '\x1b') ||
		copied.MatchString(line) || longestWord(text) > width/2 {
		return line
	}
	indent := strings.Repeat(" ", min(len(line)-len(text), width/2))
	first, rest, _ := strings.Cut(timeline.Wrap(strings.TrimSpace(text), width-2, indent), "\n")
	var lines strings.Builder
	lines.WriteString(first + "\n")
	for follows := range strings.Lines(rest) {
		lines.WriteString("  " + follows)
	}
	return lines.String()
}

// longestWord returns the number of characters of the longest word.
func longestWord(text string) (longest int) {
	for word := range strings.FieldsSeq(text) {
		longest = max(longest, utf8.RuneCountInString(word))
	}
	return longest
}
