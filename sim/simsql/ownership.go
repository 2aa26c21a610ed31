package simsql

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// clockPrecision is how far the time that SQL computes may differ from the server's clock.
const clockPrecision = time.Millisecond

// ownerless reports whether the column that [Service].Owner names shows that nobody owns a row.
func (s *System) ownerless(r *row) bool {
	c := r.column(s.owner)
	return c >= 0 && (r.cells[c] == nil || fmt.Sprint(r.cells[c]) == "")
}

// column returns the position of a column that is not of the primary key, or -1.
func (r *row) column(name string) int {
	if name == "" {
		return -1
	}
	return slices.Index(r.columns, strings.ToLower(name))
}

// passes reports whether a process owns a row from now on that it has changed. A row that has
// expired passes to the process that sets a later time. Any other row passes
//   - if Service.Owner names a column, to the process that changes it, unless the row has an owner
//     and a time that is not over;
//   - otherwise to the process whose statement or transaction tests a column that it changes. To
//     write more of a row that one names by its key is not to take it.
func (s *System) passes(before, now *row, process int) bool {
	switch {
	case process == before.process, before.process == 0:
		return true
	case s.expired(before) && !s.expired(now):
		return true
	}
	if c := now.column(s.owner); c >= 0 {
		return literal(now.cells[c]) != literal(before.cells[c]) &&
			(before.until == 0 || s.expired(before) || s.ownerless(before))
	}
	for i, name := range now.columns {
		if name != "" && i < len(before.cells) && s.database.tests(name) &&
			literal(now.cells[i]) != literal(before.cells[i]) {
			return true
		}
	}
	return false
}

// contests reports whether the owner of a row may lose it by what another process has changed: when
// it expires, or the column of the owner, which may be any with a text if Service.Owner names none.
func (s *System) contests(before, now *row) bool {
	if now.until < before.until {
		return true
	}
	owner := now.column(s.owner)
	for i := range now.cells {
		if i >= len(before.cells) || literal(now.cells[i]) == literal(before.cells[i]) {
			continue
		}
		_, isTime := instant(now.cells[i])
		_, was := before.cells[i].(string)
		_, is := now.cells[i].(string)
		if i == owner || owner < 0 && (was || is) && !isTime {
			return true
		}
	}
	return false
}

// lapsed reports whether a row was nobody's when a statement of another process deleted it: it has
// expired, its owner column is empty, or the statement or transaction tests the age of a row that
// has no time at which it expires.
func (s *System) lapsed(r *row) bool {
	if s.expired(r) || s.ownerless(r) {
		return true
	}
	for i, name := range r.columns {
		if _, ok := instant(r.cells[i]); ok && name != "" && s.database.tests(name) {
			return r.until == 0
		}
	}
	return false
}

// setExpiry notes when a row expires that was written now: at its latest instant in the future. If
// it has none any more, it has expired. The row before is nil if there was none.
func (s *System) setExpiry(now, before *row) {
	local := s.database.local(s.Now())
	now.until = 0
	for _, v := range now.cells {
		if at, ok := instant(v); ok && at > local+clockPrecision {
			now.until = max(now.until, at)
		}
	}
	if now.until == 0 && before != nil && before.until > 0 {
		now.until = max(1, min(before.until, local))
	}
}

// expired reports whether a row has expired by the server's clock.
func (s *System) expired(r *row) bool {
	return r.until != 0 && r.until <= s.database.local(s.Now())+clockPrecision
}

// note notes which columns a statement tests. In a transaction, those of its statements add up, and
// a column that it reads counts, because the process may test it.
func (d *database) note(p *parsed) {
	if d.owner == nil {
		d.tested = d.tested[:0]
	}
	d.tested = append(d.tested, p.tests...)
}

// tests reports whether the last statement, or the transaction that it ended, tests a column.
func (d *database) tests(column string) bool {
	return slices.Contains(d.tested, column) || slices.Contains(d.tested, "*")
}

// identifiers returns the words of SQL outside of strings in lower case, and "*" for each asterisk.
// A word that begins with a mark, as :owner, is a parameter.
func identifiers(query string) []string {
	var outside strings.Builder
	for i, part := range strings.Split(query, "'") {
		if i%2 == 0 {
			outside.WriteString(part + " ")
		}
	}
	text := strings.ReplaceAll(strings.ToLower(outside.String()), "*", " * ")
	return strings.FieldsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("*_:@$", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
