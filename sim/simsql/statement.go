package simsql

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"modernc.org/sqlite"

	"github.com/interlock-sim/interlock/internal/base/callsite"
	"github.com/interlock-sim/interlock/internal/base/hash64"
)

// A request is a statement on its way to the server, or executed there.
type request struct {
	query string
	args  []driver.NamedValue
	reads bool // the client asks for rows
	site  callsite.Site
}

// A reply is the result of a request.
type reply struct {
	columns            []string
	rows               [][]driver.Value
	affected, inserted int64
	done               bool // a transaction has begun or ended
	err                error
}

// A parsed statement is what the simulation knows of a statement's text.
type parsed struct {
	word  string   // the first, in capitals
	err   error    // not nil if the server refuses the statement
	tests []string // the columns that it tests, or reads: see [database.note]
}

// parse returns a statement parsed, which happens once.
func (s *store) parse(query string) *parsed {
	if p := s.parsed[query]; p != nil {
		return p
	}
	if len(s.parsed) >= statementsMax {
		clear(s.parsed)
	}
	text := withoutComment(query)
	p := &parsed{word: firstWord(text), tests: identifiers(query)}
	p.err = refusal(text, p.word)
	if p.word != "SELECT" {
		where := slices.Index(append(p.tests, "where"), "where")
		p.tests = p.tests[where:]
	}
	s.parsed[query] = p
	return p
}

// refusal returns why the server refuses a statement, or nil.
func refusal(text, word string) error {
	switch word {
	case "PRAGMA", "ATTACH", "DETACH", "VACUUM", "SAVEPOINT", "RELEASE", "EXPLAIN":
		return fmt.Errorf("simsql refuses %s", word)
	}
	upper := strings.Join(strings.Fields(strings.ToUpper(text)), " ")
	switch {
	case strings.Contains(strings.TrimRight(text, "; \n\t"), ";"):
		return errors.New("simsql takes one statement at a time, without a semicolon in it")
	case word == "ROLLBACK" && strings.Contains(upper, " TO "):
		return errors.New("simsql refuses ROLLBACK TO")
	case strings.Contains(upper, "OR ROLLBACK"):
		return errors.New("simsql refuses OR ROLLBACK")
	case word == "CREATE" && strings.HasPrefix(strings.ToUpper(withoutComment(text[len(word):])),
		"TEMP"):
		return errors.New("simsql refuses temporary tables")
	}
	return nil
}

// withoutComment returns SQL from its first word.
func withoutComment(text string) string {
	for {
		text = strings.TrimLeftFunc(text, func(r rune) bool {
			return unicode.IsSpace(r) || r == '\ufeff'
		})
		switch {
		case strings.HasPrefix(text, "--"):
			_, text, _ = strings.Cut(text, "\n")
		case strings.HasPrefix(text, "/*"):
			_, text, _ = strings.Cut(text[len("/*"):], "*/")
		default:
			return text
		}
	}
}

func firstWord(text string) string {
	text = withoutComment(text)
	if end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
		text = text[:end]
	}
	return strings.ToUpper(text)
}

// String returns the statement in one line with its arguments, for reports.
func (q *request) String() string {
	text, args := strings.Join(strings.Fields(q.query), " "), q.args
	var b strings.Builder
	quoted := false
	for i, r := range text {
		if r == '\'' {
			quoted = !quoted
		}
		numbered := i+1 < len(text) && unicode.IsDigit(rune(text[i+1]))
		if r == '?' && !quoted && !numbered && len(args) > 0 {
			b.WriteString(literal(args[0].Value))
			args = args[1:]
			continue
		}
		b.WriteRune(r)
	}
	for _, arg := range args {
		name := arg.Name
		if name == "" {
			name = fmt.Sprint("?", arg.Ordinal)
		}
		fmt.Fprintf(&b, ", %s=%s", name, literal(arg.Value))
	}
	return b.String()
}

// String returns the result in one line, for reports.
func (r *reply) String() string {
	switch {
	case r.err != nil:
		return "error " + messageOf(r.err)
	case r.columns != nil && len(r.rows) > 0:
		rows := make([]string, len(r.rows))
		for i := range r.rows {
			rows[i] = literals(r.rows[i])
		}
		return strings.Join(rows, "; ")
	case r.columns != nil:
		return "no row"
	case r.done:
		return "ok"
	case r.affected == 1:
		return "1 row"
	}
	return fmt.Sprint(r.affected, " rows")
}

// messageOf returns the message of an error without what SQLite's driver adds to it.
func messageOf(err error) string {
	text := err.Error()
	var failed *sqlite.Error
	if errors.As(err, &failed) {
		text = strings.TrimSuffix(text, fmt.Sprintf(" (%d)", failed.Code()))
		if _, cause, found := strings.Cut(text, ": "); found {
			text = cause
		}
	}
	return text
}

func literals(values []driver.Value) string {
	texts := make([]string, len(values))
	for i := range values {
		texts[i] = literal(values[i])
	}
	return strings.Join(texts, ", ")
}

// literal returns a value as SQL writes it.
func literal(value driver.Value) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case []byte:
		return fmt.Sprintf("x'%x'", v)
	}
	return fmt.Sprint(value)
}

// hash returns a hash of the reply.
func (r *reply) hash() uint64 {
	key := hash64.Fold(hashOf(strings.Join(r.columns, ",")), hashOf(r.String()))
	return hash64.Fold(hash64.Fold(key, uint64(r.affected)), uint64(r.inserted))
}
