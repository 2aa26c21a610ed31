package simsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver of the reference
)

// Statements that are repeated have the replies that SQLite gives when it executes each of them.
func TestRepeatedStatements(t *testing.T) {
	statements := []struct {
		query string
		args  []any
	}{
		{"INSERT INTO t VALUES ('a', 1)", nil},
		{"INSERT INTO t VALUES ('a', ?)", []any{2}},
		{"INSERT INTO t VALUES (?, 2)", []any{"b"}},
		{"INSERT INTO t VALUES ('c', ?)", []any{1.0}},
		{"INSERT OR IGNORE INTO t VALUES ('c', 3)", nil},
		{"INSERT OR FAIL INTO t VALUES ('b', 1), ('a', 1)", nil},
		{"INSERT INTO t VALUES ('c', 1), ('a', 1)", nil},
		{"UPDATE t SET v = v + 1 WHERE k = 'a'", nil},
		{"UPDATE t SET v = 1 WHERE k = ?", []any{"a"}},
		{"DELETE FROM t WHERE k = ?", []any{"a"}},
		{"DELETE FROM t WHERE k = 'b'", nil},
		{"SELECT count(*) FROM t", nil},
		{"SELECT group_concat(k || v) FROM t", nil},
		{"SELECT 'a  b' || ?", []any{"x"}},
		{"SELECT 'a b' || ?", []any{"x"}},
		{"SELECT typeof(?)", []any{1}},
		{"SELECT typeof(?)", []any{1.0}},
		{"BEGIN", nil},
		{"COMMIT", nil},
		{"ROLLBACK", nil},
	}
	for seed := range uint64(20) {
		reference, err := sql.Open("sqlite", ":memory:")
		if err != nil {
			t.Fatal(err)
		}
		reference.SetMaxOpenConns(1)
		if _, err := reference.Exec("CREATE TABLE t (k TEXT PRIMARY KEY, v INTEGER)"); err != nil {
			t.Fatal(err)
		}
		random, open := rand.New(rand.NewPCG(seed, 0)), false
		perform(t, func(s *stage, a, _ *sql.DB) {
			for n := range 300 {
				q := statements[random.IntN(len(statements))]
				switch q.query {
				case "BEGIN":
					if open {
						continue
					}
					open = true
				case "COMMIT", "ROLLBACK":
					if !open {
						continue
					}
					open = false
				}
				c := start(func() (any, error) { return answer(a, q.query, q.args) })
				s.take("serve c1", "deliver c1")
				want, err := answer(reference, q.query, q.args)
				if err != nil {
					want = err.Error()
				}
				if !c.done || c.text != want {
					s.Fatalf("seed %d, statement %d, %s: %q, want %q", seed, n, q.query, c.text,
						want)
				}
			}
		})
		reference.Close()
	}
}

// A statement whose change the state key does not show is executed each time, and so are those that
// read what it has changed.
func TestUnseenChanges(t *testing.T) {
	const tableT = "CREATE TABLE t (k TEXT PRIMARY KEY, v INTEGER); "
	for name, test := range map[string]struct {
		schema     string
		statements []string
	}{
		"text of a date": {
			"CREATE TABLE t (at TIMESTAMP); INSERT INTO t VALUES ('2000-01-01 00:00:00')",
			repeated("UPDATE t SET at = '2000-01-01T00:00:00Z' WHERE at = '2000-01-01 00:00:00'"),
		},
		"type": {
			"CREATE TABLE t (v); INSERT INTO t VALUES (1)",
			append([]string{"SELECT typeof(v) FROM t"}, append(
				repeated("UPDATE t SET v = 1.0 WHERE typeof(v) = 'integer'"),
				"SELECT typeof(v) FROM t")...),
		},
		"number of a row": {
			tableT + "INSERT INTO t (rowid, k) VALUES (1, 'a'), (9, 'b')",
			append([]string{"SELECT min(rowid) FROM t"}, append(
				repeated("UPDATE t SET rowid = 2 WHERE rowid = 1"),
				"SELECT min(rowid) FROM t")...),
		},
		"statistics": {
			tableT + "INSERT INTO t VALUES ('a', 1)",
			[]string{
				"SELECT count(*) FROM sqlite_stat1", "ANALYZE", "SELECT count(*) FROM sqlite_stat1",
			},
		},
		"by a trigger, without a row": {
			"CREATE TABLE t (v); CREATE VIEW w AS SELECT v FROM t; INSERT INTO t VALUES (1); " +
				"CREATE TRIGGER r INSTEAD OF INSERT ON w BEGIN UPDATE t SET v = 1.0; " +
				"SELECT RAISE(IGNORE); END",
			append([]string{"SELECT typeof(v) FROM t"}, append(
				repeated("INSERT INTO w VALUES (1)"), "SELECT typeof(v) FROM t")...),
		},
		"by a statement that fails": {
			"CREATE TABLE t (v UNIQUE); INSERT INTO t VALUES (1), (2)",
			append([]string{"SELECT typeof(v) FROM t WHERE v = 1"}, append(
				repeated("UPDATE OR FAIL t SET v = CASE v WHEN 1 THEN 1.0 ELSE 1 END"),
				"SELECT typeof(v) FROM t WHERE v = 1")...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			reference, err := sql.Open("sqlite", ":memory:")
			if err != nil {
				t.Fatal(err)
			}
			defer reference.Close()
			reference.SetMaxOpenConns(1)
			if _, err := reference.Exec(test.schema); err != nil {
				t.Fatal(err)
			}
			performOn(t, test.schema, func(s *stage, a, _ *sql.DB) {
				for _, query := range test.statements {
					c := start(func() (any, error) { return answer(a, query, nil) })
					s.take("serve c1", "deliver c1")
					want, err := answer(reference, query, nil)
					if err != nil {
						want = err.Error()
					}
					if c.text != want {
						s.Errorf("%s: %q, want %q", query, c.text, want)
					}
				}
			})
		})
	}
}

func repeated(query string) []string { return []string{query, query, query} }

// A statement that writes no rows affects none, whatever was executed before, in this run or in
// another one.
func TestNoRowsAffected(t *testing.T) {
	perform(t, func(s *stage, a, _ *sql.DB) {
		for _, q := range []struct{ query, want string }{
			{"INSERT INTO t VALUES ('a', 1), ('b', 2)", "2"},
			{"CREATE TABLE IF NOT EXISTS t (k)", "0"},
			{"SELECT 1", "0"},
		} {
			c := exec(a, q.query)
			s.take("serve c1", "deliver c1")
			s.want(c, q.want)
		}
	})
}

// A process that changes the names of columns which it got changes no other reply.
func TestRepeatedColumns(t *testing.T) {
	perform(t, func(s *stage, a, _ *sql.DB) {
		for range 2 {
			c := start(func() (any, error) {
				rows, err := a.Query("SELECT k FROM t")
				if err != nil {
					return nil, err
				}
				defer rows.Close()
				names, err := rows.Columns()
				text := fmt.Sprint(names)
				names[0] = "changed"
				return text, err
			})
			s.take("serve c1", "deliver c1")
			s.want(c, "[k]")
		}
	})
}

// answer executes a statement and returns its result.
func answer(db *sql.DB, query string, args []any) (string, error) {
	if strings.HasPrefix(query, "SELECT") {
		var v any
		err := db.QueryRowContext(context.Background(), query, args...).Scan(&v)
		return fmt.Sprint(v), err
	}
	r, err := db.ExecContext(context.Background(), query, args...)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(query, "INSERT") && !strings.HasPrefix(query, "UPDATE") &&
		!strings.HasPrefix(query, "DELETE") {
		return "ok", nil
	}
	affected, err := r.RowsAffected()
	return fmt.Sprint(affected), err
}

// A statement that reads the clock is executed each time.
func TestRepeatedStatementReadsClock(t *testing.T) {
	perform(t, func(s *stage, a, _ *sql.DB) {
		for _, want := range []string{"946684800", "946684805"} {
			c := value(a, "SELECT unixepoch('now')")
			s.take("serve c1", "deliver c1")
			s.want(c, want)
			s.pass(5 * time.Second)
		}
	})
}
