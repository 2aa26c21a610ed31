package reportcard

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/interlock-sim/interlock/internal/search/report"

	"github.com/interlock-sim/interlock/history"
)

// WriteMarkdown writes the card as Markdown: a table of symbols. The links are relative to the
// directory, in which the file is.
func WriteMarkdown(w io.Writer, card *Card, directory string) error {
	var text strings.Builder
	text.WriteString(markdownHead)
	if card.Partial {
		text.WriteString("\n**Partial: not all searches have run to their end.**\n")
	}
	columns, kept := card.columns()
	text.WriteString("\n|lock|schedules|")
	for _, p := range columns {
		fmt.Fprintf(&text, "%s|", p)
	}
	fmt.Fprintf(&text, "\n|---|--:|%s\n", strings.Repeat(":-:|", len(columns)))
	for _, l := range card.Locks {
		fmt.Fprintf(&text, "|%s|%s|", l.Name, l.size())
		for _, p := range columns {
			fmt.Fprintf(&text, "%s|", l.Cell(p).link(directory))
		}
		text.WriteByte('\n')
	}
	if scopes := card.exhaustive(); len(scopes) > 0 {
		text.WriteString("\n**✓∀** is said of\n\n")
		for _, scope := range scopes {
			fmt.Fprintf(&text, "- %s\n", scope)
		}
	}
	if len(kept) > 0 {
		fmt.Fprintf(&text, "\nAll of them keep %s as far as it applies to them.\n", joined(kept))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

const markdownHead = `<!-- Written by interlock report-card; make report-card updates it. -->
# Report card

What each lock keeps of what it [claims](properties.md), under the schedules and faults of
` + "`interlock report-card`" + `;
[report-card.html](report-card.html) has the details of each cell. A resource that checks tokens is
protected by *fencing* and *no-lost-update*; without *progress* a lock can stay taken for ever.

- **✓** holds in all schedules that were run, **✓∀** also in all schedules of a smaller scenario,
  listed below the table
- **✓\*** holds within the lock's [contract](faults.md#severity): it was violated, but only after a
  longer pause, a jump or a drift of a clock, or the end of a session by others
- **✗** is violated; the number counts the different ways found; ` + "`interlock replay FILE`" + `
  shows the first, which is linked
- **·** is not claimed, **○** is not claimed and does not hold
- **–** is claimed, and no run of the lock tests it (*reentrancy*: see ` + "`reentrant`" + `)
- **?** is claimed, and undecided: a checker reached its limit, or the search did not run
`

// columns returns the properties of the table. It leaves out those that every lock is judged by and
// none violates.
func (c *Card) columns() (columns, kept []history.Property) {
	for _, p := range c.Properties {
		violated := false
		for _, l := range c.Locks {
			violated = violated || l.Cell(p.Name).Verdict == report.Violated
		}
		if p.EveryLock && !violated {
			kept = append(kept, p.Name)
		} else {
			columns = append(columns, p.Name)
		}
	}
	return columns, kept
}

// exhaustive returns the locks and scopes of complete exhaustive searches.
func (c *Card) exhaustive() (scopes []string) {
	for _, l := range c.Locks {
		if s := l.Exhaustive(); s != nil {
			scopes = append(scopes, l.Name+": "+s.Scope)
		}
	}
	return scopes
}

// size returns the number of random schedules.
func (l *Lock) size() string {
	sum := 0
	for i := range l.Searches {
		if !l.Searches[i].Exhaustive {
			sum += l.Searches[i].Schedules
		}
	}
	return fmt.Sprint(sum)
}

// link returns the symbol of the cell, which links to its first counterexample if it has one.
func (c *Cell) link(directory string) string {
	if len(c.Counterexamples) == 0 {
		return c.Symbol()
	}
	return fmt.Sprintf("[%s](%s)", c.Symbol(),
		relative(directory, c.Counterexamples[0].Recording))
}

// Symbol returns the verdict in one or two characters.
func (c *Cell) Symbol() string {
	switch {
	case c.Verdict == report.Violated:
		return fmt.Sprintf("✗%d", len(c.Counterexamples))
	case c.Verdict == report.Holds && c.Reach != "":
		return "✓∀"
	case c.Verdict == report.Holds:
		return "✓"
	case c.Verdict == report.OutOfContract:
		return "✓*"
	case c.Verdict == report.Unknown, c.Verdict == report.NotSearched:
		return "?"
	case c.Verdict != report.NotClaimed:
		return "–"
	case c.Refuted != nil:
		return "○"
	}
	return "·"
}

// relative returns the path of a file for a link in a file of the directory.
func relative(directory, file string) string {
	if path, err := filepath.Rel(directory, file); err == nil {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(file)
}

func joined(names []history.Property) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = "`" + string(name) + "`"
	}
	last := len(texts) - 1
	if last == 0 {
		return texts[0]
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}
