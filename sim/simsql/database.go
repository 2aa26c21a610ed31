package simsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"modernc.org/sqlite"

	"github.com/interlock-sim/interlock/internal/base/hash64"
)

// A database is the database server: SQLite with a clock. Every session uses the same connection to
// SQLite, because a transaction has the database to itself.
type database struct {
	*store

	owner  *conn         // whose transaction is open; nil if there is none
	notice time.Duration // when the server notices that the owner's connection is lost; 0: it works

	committed []row           // the rows outside the open transaction, sorted by name
	instants  []time.Duration // in these rows; see [instant]
	outside   uint64          // hash of what is stored outside the open transaction
	present   contents        // with the changes of the open transaction

	// repeated are the replies to statements that have changed nothing since what is stored last
	// changed: to polls in vain.
	repeated map[repeatedStatement]repeatedReply
	triggers bool // there may be some

	tested []string // the columns that the last statement, or its transaction, tests

	stalled bool // until it is healed

	// the clock: at the time since, it showed base; since then it runs at a rate in percent
	since, base time.Duration
	rate        int
	jumped      bool
}

// A row is a row of a table with a primary key.
type row struct {
	name    string // the table and the primary key
	value   string
	columns []string // the names in lower case; "" for the columns of the primary key
	cells   []driver.Value
	process int           // that owns it; 0 if none does. See [System.passes]
	set     int64         // the number of its last KeySet event, 0 if it has none yet
	until   time.Duration // when it expires by the server's clock; 0 if it does not
}

// A store is SQLite with a database in memory.
type store struct {
	sqlite sqliteConn
	clock  *clock
	schema string
	empty  []byte // the database of the schema, as it is when a run begins
	tables []table

	first      contents // of the empty database
	statements map[string]driver.Stmt
	parsed     map[string]*parsed
}

// contents are what is stored: the rows of all tables with a primary key, sorted by name, a hash of
// everything, and the instants in it.
type contents struct {
	tables   []table
	rows     []row
	key      uint64
	instants []time.Duration
}

// statementsMax is the maximum number of prepared or parsed statements. A lock has some of them.
const statementsMax = 1 << 8

// A sqliteConn is what SQLite's driver offers of a connection.
type sqliteConn interface {
	driver.Conn
	Serialize() ([]byte, error)
	Deserialize([]byte) error
}

// A table is a table with the positions of the columns of its primary key.
type table struct {
	name    string
	columns []int
	others  []string // the names of the columns in lower case; "" for those of the primary key
	rowid   string   // "rowid, " if the rows have numbers, which [result.LastInsertId] shows
}

// quoted returns the name of the table in SQL.
func (t *table) quoted() string { return `"` + strings.ReplaceAll(t.name, `"`, `""`) + `"` }

// spare are stores that no system uses any more. SQLite's memory is not Go's, and its functions are
// never freed.
var spare struct {
	sync.Mutex
	stores []*store
}

// newStore returns a store for a system. It becomes spare when the system is garbage.
func newStore(system *System, schema string) *store {
	s := takeSpare(schema)
	if s == nil {
		s = openStore(schema)
	}
	runtime.AddCleanup(system, func(s *store) {
		spare.Lock()
		defer spare.Unlock()
		spare.stores = append(spare.stores, s)
	}, s)
	return s
}

// takeSpare returns a spare store of the schema, or nil.
func takeSpare(schema string) *store {
	spare.Lock()
	defer spare.Unlock()
	i := slices.IndexFunc(spare.stores, func(s *store) bool { return s.schema == schema })
	if i < 0 {
		return nil
	}
	s := spare.stores[i]
	spare.stores = slices.Delete(spare.stores, i, i+1)
	_ = s.run("ROLLBACK") // It fails unless a transaction was left open.
	return s
}

func openStore(schema string) *store {
	s := &store{
		clock: new(clock), schema: schema, statements: make(map[string]driver.Stmt),
		parsed: make(map[string]*parsed),
	}
	d := new(sqlite.Driver)
	for name, function := range s.clock.functions() {
		must(d.RegisterScalarFunction(name, -1,
			func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
				return function(args)
			}))
	}
	c, err := d.Open(":memory:")
	must(err)
	s.sqlite = c.(sqliteConn)
	// Without a table there is nothing to serialize.
	must(s.run("CREATE TABLE anchor (id INTEGER PRIMARY KEY)"))
	if err := s.run(schema); err != nil {
		panic(fmt.Errorf("simsql: the schema: %w", err))
	}
	must(s.run("DROP TABLE anchor"))
	// An insertion here makes SQLite forget which row was inserted last, by any session.
	must(s.run("CREATE TEMP TABLE simsql_last (id INTEGER PRIMARY KEY)"))
	s.empty, err = s.sqlite.Serialize()
	must(err)
	s.readTables()
	s.first = s.contents()
	return s
}

// must panics on an error that no lock can cause.
func must(err error) {
	if err != nil {
		panic(fmt.Errorf("simsql: %w", err))
	}
}

// reset begins a run with empty tables.
func (d *database) reset() {
	if d.owner != nil {
		_ = d.run("ROLLBACK") // It fails if a trigger has ended the transaction.
	}
	must(d.sqlite.Deserialize(d.empty))
	*d.clock = clock{}
	*d = database{
		store: d.store, rate: trueClock, outside: d.first.key, present: d.first,
		repeated: d.repeated, triggers: strings.Contains(strings.ToUpper(d.schema), "TRIGGER"),
	}
	d.forget()
	d.tables = d.first.tables
	d.committed, d.instants = slices.Clone(d.first.rows), d.first.instants
	for i := range d.committed {
		d.committed[i].set = int64(i + 1)
	}
	d.present.rows = d.committed
}

// run executes SQL without arguments.
func (s *store) run(query string) error {
	_, err := s.exec(query, nil)
	return err
}

// exec executes SQL.
func (s *store) exec(query string, args []driver.NamedValue) (driver.Result, error) {
	statement, err := s.prepare(query)
	if err != nil {
		return nil, err
	}
	return statement.(driver.StmtExecContext).ExecContext(context.Background(), args)
}

// prepare returns a statement, which is prepared once.
func (s *store) prepare(query string) (driver.Stmt, error) {
	statement, known := s.statements[query]
	if known {
		return statement, nil
	}
	statement, err := s.sqlite.Prepare(query)
	if err != nil {
		return nil, err
	}
	if len(s.statements) >= statementsMax {
		for _, old := range s.statements {
			must(old.Close())
		}
		clear(s.statements)
	}
	s.statements[query] = statement
	return statement, nil
}

// query returns all rows of a query.
func (s *store) query(query string, args []driver.NamedValue) (reply, error) {
	statement, err := s.prepare(query)
	if err != nil {
		return reply{}, err
	}
	rows, err := statement.(driver.StmtQueryContext).QueryContext(context.Background(), args)
	if err != nil {
		return reply{}, err
	}
	defer rows.Close()
	r := reply{columns: rows.Columns()}
	for {
		values := make([]driver.Value, len(r.columns))
		if err := rows.Next(values); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return r, err
		}
		r.rows = append(r.rows, values)
	}
}

// readTables notes which tables there are, and their primary keys.
func (s *store) readTables() {
	s.tables = nil
	names, err := s.query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name", nil)
	must(err)
	for _, name := range names.rows {
		t := table{name: name[0].(string)}
		info, err := s.query("SELECT pk, name FROM pragma_table_info("+literal(t.name)+")", nil)
		must(err)
		for column := range info.rows {
			other := strings.ToLower(info.rows[column][1].(string))
			if info.rows[column][0].(int64) > 0 {
				t.columns, other = append(t.columns, column), ""
			}
			t.others = append(t.others, other)
		}
		if _, err := s.query("SELECT rowid FROM "+t.quoted()+" LIMIT 0", nil); err == nil {
			t.rowid = "rowid, "
		}
		s.tables = append(s.tables, t)
	}
}

// contents returns what is stored.
func (s *store) contents() contents {
	found := contents{tables: s.tables}
	for _, t := range s.tables {
		found.key = hash64.Fold(found.key, hashOf(t.name))
		all, err := s.query("SELECT "+t.rowid+"* FROM "+t.quoted(), nil)
		must(err)
		last := int64(0) // The next row gets a higher number.
		for _, values := range all.rows {
			if t.rowid != "" {
				number, _ := values[0].(int64)
				last, values = max(last, number), values[1:]
			}
			for _, v := range values {
				if at, ok := instant(v); ok {
					found.instants = append(found.instants, at)
				}
			}
			value := literals(values)
			found.key = hash64.Fold(found.key, hashOf(value))
			if len(t.columns) == 0 {
				continue
			}
			var primary []string
			for _, column := range t.columns {
				primary = append(primary, fmt.Sprint(values[column]))
			}
			found.rows = append(found.rows, row{
				name: t.name + "/" + strings.Join(primary, ","), value: value, columns: t.others,
				cells: values,
			})
		}
		found.key = hash64.Fold(found.key, uint64(last))
	}
	slices.SortFunc(found.rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	return found
}

// answers reports whether the server handles requests.
func (d *database) answers() bool { return !d.stalled }

// expiry returns when the server's clock last showed an instant in a row, or one second after it,
// and when it will next; 0 for never.
func (d *database) expiry(now time.Duration) (last, next time.Duration) {
	rate := time.Duration(d.rate)
	for _, at := range d.instants {
		for _, shows := range []time.Duration{at, at + time.Second} {
			switch left := shows - d.local(now); {
			case left <= 0:
				last = max(last, now+left*trueClock/rate)
			case next == 0 || left < next:
				next = left
			}
		}
	}
	if next > 0 {
		next = now + (next*trueClock+rate-1)/rate
	}
	return last, next
}

// do executes a request and returns the reply. It reports whether the rows outside of transactions
// may have changed.
func (d *database) do(now time.Duration, c *conn, q *request) (r *reply, changed bool) {
	p := d.parse(q.query)
	if p.err != nil {
		return &reply{err: p.err}, false
	}
	d.clock.now = d.local(now)
	d.note(p)
	switch p.word {
	case "BEGIN":
		if d.owner == c {
			return &reply{err: errors.New("a transaction is open already")}, false
		}
		must(d.run("BEGIN"))
		d.owner = c
		return &reply{done: true}, false
	case "COMMIT", "END", "ROLLBACK":
		if d.owner != c {
			return &reply{err: errors.New("no transaction is open")}, false
		}
		changed, err := d.end(p.word != "ROLLBACK")
		return &reply{done: err == nil, err: err}, changed
	}
	return d.repeat(p.word, q)
}

// execute executes a statement that neither begins nor ends a transaction. It returns the reply,
// and reports whether the rows outside of transactions may have changed.
func (d *database) execute(word string, q *request) (r *reply, changed bool) {
	r = new(reply)
	before := d.present.key
	if q.reads {
		*r, r.err = d.query(q.query, q.args)
	} else {
		r.err = d.executeWithoutRows(word, q, r)
	}
	if word == "SELECT" {
		return r, false
	}
	// A query can write, as INSERT … RETURNING, and one that fails too, as INSERT OR FAIL.
	return r, d.written(word) && (r.err == nil || d.present.key != before)
}

func (d *database) executeWithoutRows(word string, q *request, r *reply) error {
	inserts := word == "INSERT" || word == "REPLACE" || word == "WITH"
	if inserts {
		must(d.run("REPLACE INTO temp.simsql_last VALUES (0)"))
	}
	result, err := d.exec(q.query, q.args)
	if err != nil {
		return err
	}
	// After any other statement SQLite repeats an older number.
	if inserts || word == "UPDATE" || word == "DELETE" {
		r.affected, _ = result.RowsAffected()
	}
	if inserts {
		r.inserted, _ = result.LastInsertId()
	}
	return nil
}

// written notes that a statement may have changed what is stored. It returns false inside of a
// transaction.
func (d *database) written(word string) bool {
	if word == "CREATE" || word == "ALTER" || word == "DROP" {
		d.readTables()
		d.triggers = true
	}
	d.present = d.contents()
	if d.owner != nil {
		return false
	}
	d.outside = d.present.key
	return true
}

// end ends the open transaction and reports whether the rows outside may have changed. A
// transaction that cannot be committed is rolled back.
func (d *database) end(commit bool) (changed bool, err error) {
	d.owner, d.notice = nil, 0
	if commit {
		err = d.run("COMMIT")
	}
	if !commit || err != nil {
		_ = d.run("ROLLBACK") // It fails if a trigger has ended the transaction.
		d.readTables()
		d.present = d.contents()
		d.forget()
	}
	changed = d.present.key != d.outside
	d.outside = d.present.key
	return changed, err
}

// key returns a hash of the server's state.
func (d *database) key(now time.Duration) uint64 {
	key := hash64.Fold(uint64(d.local(now)-now), uint64(d.rate)<<8|hash64.Bit(d.stalled)|
		hash64.Bit(d.jumped)<<1|hash64.Bit(d.clock.read)<<2)
	key = hash64.Fold(hash64.Fold(key, d.outside), d.present.key)
	if d.owner != nil {
		key = hash64.Fold(key, uint64(d.owner.client.Process())<<32|uint64(d.owner.number))
		if d.notice != 0 {
			key = hash64.Fold(key, uint64(d.notice-now))
		}
		for _, column := range d.tested {
			key = hash64.Fold(key, hashOf(column))
		}
	}
	for i := range d.committed {
		r := &d.committed[i]
		key = hash64.Fold(hash64.Fold(key, uint64(r.process)), uint64(r.until))
	}
	return key
}

func hashOf(text string) uint64 { return xxhash.Sum64String(text) }
