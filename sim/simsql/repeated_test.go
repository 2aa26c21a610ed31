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
