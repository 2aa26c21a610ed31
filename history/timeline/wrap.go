package timeline

import (
	"strings"
	"unicode/utf8"
)

// Wrap writes a paragraph in lines of at most the given width, each after the indent. Words are
// never broken unless they are longer than a line.
func Wrap(text string, width int, indent string) string {
	var lines strings.Builder
	for _, line := range wrap(text, width-utf8.RuneCountInString(indent)) {
		lines.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
	return lines.String()
}

// wrap breaks a text into lines of at most the given width, at blanks where possible. It returns
// at least one line.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		for {
			joined := word
			if line != "" {
				joined = line + " " + word
			}
			if utf8.RuneCountInString(joined) <= width {
				line = joined
				break
			}
			if line != "" {
				lines = append(lines, strings.TrimRight(line, " "))
				line = ""
				continue
			}
			runes := []rune(word)
			lines = append(lines, string(runes[:width]))
			word = string(runes[width:])
		}
	}
	return append(lines, strings.TrimRight(line, " "))
}
