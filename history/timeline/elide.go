package timeline

import "slices"

// The bounds of the decisive part of a history: a livelock repeats a turn thousands of times.
const (
	rowsFirst = 60  // rows at the beginning
	rowsLast  = 40  // rows at the end
	linesMax  = 240 // lines of rows, unless each has few
	rowLines  = 3   // lines that a row may have in any case
	namesMax  = 30  // names in the legend
)

// elide leaves out rows between the first and the last ones, if they are many, except those of
// cited events and of violations. It bounds the lines of the others.
func (s *sheet) elide() {
	var kept []row
	left, before := 0, 0 // the events since a row that is kept, and its last event
	for n, r := range s.rows {
		if n >= rowsFirst && n < len(s.rows)-rowsLast && !s.cites(&r) {
			if r.event >= 0 {
				left += max(1, r.times, r.ticks)
			}
			continue
		}
		if left > 0 {
			kept = append(kept, row{event: -1, from: before, left: left})
			s.left += left
		}
		kept, left, before = append(kept, r), 0, max(r.from, r.until, r.event)
	}
	s.rows, s.rowMax = kept, max(rowLines, linesMax/max(1, len(kept)))
}

// cites reports whether a row shows a cited event or a violation.
func (s *sheet) cites(r *row) bool {
	return r.event >= 0 && (s.violates(r.event) || slices.ContainsFunc(s.Cited, func(i int) bool {
		return min(r.from, r.event) <= i && i <= max(r.until, r.event)
	}))
}

// bounded returns the lines of a row that are shown.
func (s *sheet) bounded(parts []string) []string {
	if s.rowMax == 0 || len(parts) <= s.rowMax {
		return parts
	}
	return append(parts[:s.rowMax-1], "…")
}
