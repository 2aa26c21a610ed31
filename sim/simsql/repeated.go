package simsql

import (
	"database/sql/driver"
	"strings"
)

// A repeatedStatement is all that decides the reply to a statement while what is stored stays the
// same, if the statement does not read the clock.
type repeatedStatement struct {
	query, args string
	reads       bool
	transaction bool // one is open
}

type repeatedReply struct {
	*reply
	changed bool // see [database.do]
}

// repeat executes a statement, or repeats its reply if nothing has been stored since the statement
// last changed nothing.
func (d *database) repeat(word string, q *request) (r *reply, changed bool) {
	args, ok := textOf(q.args)
	statement := repeatedStatement{q.query, args, q.reads, d.owner != nil}
	if ok {
		if last, found := d.repeated[statement]; found {
			return last.reply, last.changed
		}
	}
	before, read := d.present.key, d.clock.read
	d.clock.read = false
	r, changed = d.execute(word, q)
	switch {
	case d.present.key != before || d.mayHaveWritten(word, q, r):
		d.forget()
	case ok && !d.clock.read && !r.mutable():
		d.repeated[statement] = repeatedReply{r, changed}
	}
	d.clock.read = d.clock.read || read
	return r, changed
}

// mayHaveWritten reports whether a statement may have changed what is stored. The key of what is
// stored does not show all changes, as of a type, of the text of a date or of a row's number. A
// trigger can write although no row counts, and a statement that fails can keep what it wrote.
func (d *database) mayHaveWritten(word string, q *request, r *reply) bool {
	switch word {
	case "SELECT":
		return false
	case "INSERT", "UPDATE", "DELETE":
		none := r.err != nil || r.affected == 0 && len(r.rows) == 0
		return !none || d.triggers || strings.Contains(strings.ToUpper(q.query), "FAIL")
	}
	return true
}

// forget forgets all replies, because what is stored has changed.
func (d *database) forget() {
	if d.repeated == nil {
		d.repeated = make(map[repeatedStatement]repeatedReply)
	}
	clear(d.repeated)
}

// textOf returns a text that differs if the arguments do, and false if there is none.
func textOf(args []driver.NamedValue) (text string, ok bool) {
	if len(args) == 0 {
		return "", true
	}
	var b strings.Builder
	for i := range args {
		switch args[i].Value.(type) {
		case nil, int64, string, bool:
		default:
			return "", false
		}
		if args[i].Name != "" {
			return "", false
		}
		b.WriteString(literal(args[i].Value))
		b.WriteByte(',')
	}
	return b.String(), true
}

// mutable reports whether a reply has values that its receiver could change.
func (r *reply) mutable() bool {
	for _, row := range r.rows {
		for _, value := range row {
			if _, binary := value.([]byte); binary {
				return true
			}
		}
	}
	return false
}
