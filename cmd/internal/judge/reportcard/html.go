package reportcard

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/internal/search/report"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/show/page"
)

var (
	//go:embed card.gohtml
	body string
	//go:embed card.css
	style string
)

// WriteHTML writes the card as a self-contained web page in the given directory: links to
// recordings are relative to that.
func WriteHTML(w io.Writer, card *Card, directory string) error {
	parsed, err := Template(card, directory, func(recording string) string { return recording })
	if err != nil {
		return err
	}
	return WritePage(w, "Report card", parsed, card)
}

// Template returns the template of a page in the given directory. Its template "locks" shows the
// verdicts on the locks and what they rest on, for pages that show more than a card. The function
// returns the path of a recording that the card names.
func Template(card *Card, directory string, pathOf func(recording string) string) (
	*template.Template, error,
) {
	return template.New("card").Funcs(template.FuncMap{
		"path":     pathOf,
		"relative": func(file string) string { return relative(directory, file) },
		"statement": func(p history.Property) string {
			i := slices.IndexFunc(card.Properties, func(known Property) bool {
				return known.Name == p
			})
			return card.Properties[i].Statement
		},
		"class": func(v report.Verdict) string { return strings.ReplaceAll(string(v), " ", "-") },
		"add":   func(a, b int) int { return a + b },
	}).Parse(body)
}

// WritePage writes a web page in the style of the card: the template, executed with the data.
func WritePage(w io.Writer, title string, t *template.Template, data any) error {
	var text strings.Builder
	if err := t.Execute(&text, data); err != nil {
		return err
	}
	return page.WriteStatic(w, title+" · Interlock", style, text.String())
}

// First reports whether the lock is the first of its group.
func (c *Card) First(index int) bool {
	return index == 0 || c.Locks[index].Group != c.Locks[index-1].Group
}

// Kept returns the cells of properties that hold, the last of them only within the contract.
func (l *Lock) Kept() []*Cell {
	return slices.Concat(l.Of(report.Holds), l.Of(report.OutOfContract))
}

// Exhaustive returns the last complete exhaustive search of the lock, or nil.
func (l *Lock) Exhaustive() *Searched {
	for i := range slices.Backward(l.Searches) {
		if l.Searches[i].Exhaustive && l.Searches[i].Complete {
			return &l.Searches[i]
		}
	}
	return nil
}

// Broken returns the cells of violated properties.
func (l *Lock) Broken() []*Cell { return l.Of(report.Violated) }

// Untested returns the cells of properties that the lock claims, and that are neither known to hold
// nor violated.
func (l *Lock) Untested() []*Cell {
	return slices.Concat(l.Of(report.NotExercised), l.Of(report.Unknown), l.Of(report.NotSearched))
}

// Refuted returns the cells of properties that the lock does not claim and that were violated.
func (l *Lock) Refuted() []*Cell {
	unrefuted := func(c *Cell) bool { return c.Refuted == nil }
	return slices.DeleteFunc(l.Of(report.NotClaimed), unrefuted)
}

// Meaning describes the cell for those who do not see its symbol.
func (c *Cell) Meaning() string {
	switch {
	case c.Refuted != nil:
		return "not claimed, does not hold"
	case c.Reach != "":
		return "holds, exhaustively " + string(c.Reach)
	}
	return string(c.Verdict)
}
