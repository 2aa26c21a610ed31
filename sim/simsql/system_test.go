package simsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/sim/simsql"
)

// A stage is a database in a bubble, whose steps a test takes by name.
type stage struct {
	*testing.T
	ctx    context.Context
	system sim.System
	log    *history.Log
	start  time.Time
}

// perform runs a test of a database with the table t (k TEXT PRIMARY KEY, v INTEGER) and two
// processes with a connection each.
func perform(t *testing.T, test func(s *stage, a, b *sql.DB)) {
	performOn(t, "CREATE TABLE t (k TEXT PRIMARY KEY, v INTEGER)", test)
}

func performOn(t *testing.T, schema string, test func(s *stage, a, b *sql.DB)) {
	performOnService(t, simsql.Service{Schema: schema}, test)
}

func performOnService(t *testing.T, service simsql.Service, test func(s *stage, a, b *sql.DB)) {
	synctest.Test(t, func(t *testing.T) {
		// A transaction of a process that crashes ends with its context.
		ctx, cancel := context.WithCancel(context.Background())
		s := &stage{
			T: t, ctx: ctx, log: new(history.Log), start: time.Now(),
			system: service.New(),
		}
		s.system.Reset(sim.Config{Servers: 1, Log: s.log, Settle: synctest.Wait})
		first, second := s.system.Connect(), s.system.Connect()
		defer time.Sleep(time.Minute) // The pool of a crashed process closes after a while.
		defer first.TearDown()
		defer second.TearDown()
		defer cancel()
		test(s, pool(first), pool(second))
	})
}

// pool returns a pool of one connection.
func pool(c sim.Client) *sql.DB {
	db := c.Handle().(*simsql.Client).DB()
	db.SetMaxOpenConns(1)
	return db
}

// enabled returns the steps that can happen.
func (s *stage) enabled() []sim.EnabledStep {
	synctest.Wait()
	s.system.Collect()
	steps := s.system.AppendRepairs(s.system.AppendMessages(nil), false)
	for kind := range faults.Kinds {
		steps = s.system.AppendFaults(steps, kind)
	}
	return steps
}

// can reports whether a step can happen.
func (s *stage) can(name string) bool {
	return slices.ContainsFunc(s.enabled(), func(e sim.EnabledStep) bool {
		return e.String() == name
	})
}

// take takes steps.
func (s *stage) take(names ...string) {
	s.Helper()
	for _, name := range names {
		if !s.can(name) {
			s.Fatalf("the step %s is not enabled in %v", name, s.enabled())
		}
		step, err := sim.ParseStep(name)
		if err != nil {
			s.Fatal(err)
		}
		if step.Kind == sim.Fault {
			s.system.Inject(step, faults.Severity{Pause: time.Second, Drift: 50})
		} else {
			s.system.Perform(step)
		}
		synctest.Wait()
		s.system.Collect()
	}
}

// pass lets time pass.
func (s *stage) pass(d time.Duration) {
	time.Sleep(d)
	s.system.Advance(time.Since(s.start))
	synctest.Wait()
	s.system.Collect()
}

// A call is a call that a process makes.
type call struct {
	done bool
	text string // the result
}

// start lets a process make a call, up to where it waits.
func start(do func() (any, error)) *call {
	c := new(call)
	go func() {
		result, err := do()
		c.text = fmt.Sprint(result)
		if err != nil {
			c.text = err.Error()
		}
		c.done = true
	}()
	return c
}

// exec starts a statement, which must wait for its reply.
func exec(db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string, args ...any,
) *call {
	return start(func() (any, error) {
		r, err := db.ExecContext(context.Background(), query, args...)
		if err != nil {
			return nil, err
		}
		return r.RowsAffected()
	})
}

// value starts a query of one value.
func value(db *sql.DB, query string) *call {
	return start(func() (v any, err error) {
		return v, db.QueryRow(query).Scan(&v)
	})
}

// begin begins a transaction of process 1.
func (s *stage) begin(db *sql.DB) (tx *sql.Tx) {
	s.Helper()
	start(func() (any, error) {
		var err error
		tx, err = db.BeginTx(s.ctx, nil)
		return nil, err
	})
	s.take("serve c1", "deliver c1")
	return tx
}

func (s *stage) want(c *call, text string) {
	s.Helper()
	synctest.Wait()
	if !c.done || c.text != text {
		s.Fatalf("the call has returned: %v, %q, want %q", c.done, c.text, text)
	}
}

// count takes the steps of a query of process 2 for the number of rows.
func (s *stage) count(db *sql.DB, want string) {
	s.Helper()
	c := value(db, "SELECT count(*) FROM t")
	s.take("serve c2", "deliver c2")
	s.want(c, want)
}

func TestStatement(t *testing.T) {
	perform(t, func(s *stage, a, b *sql.DB) {
		insert := exec(a, "INSERT INTO t VALUES (?, ?)", "x", 1)
		if s.can("deliver c1") {
			t.Error("a reply is there before the statement is served")
		}
		s.take("serve c1")
		s.count(b, "1")
		s.take("deliver c1")
		s.want(insert, "1")
		again := exec(b, "INSERT INTO t VALUES ('x', 2)")
		s.take("serve c2", "deliver c2")
		s.want(again, "constraint failed: UNIQUE constraint failed: t.k (1555)")
		gone := exec(b, "DELETE FROM t")
		s.take("serve c2", "deliver c2")
		s.want(gone, "1")
		var rows []string
		for _, e := range s.log.Events() {
			if e.Kind.OfKey() {
				rows = append(rows, fmt.Sprintf("%v %s c%d %d", e.Kind, e.Path, e.Process, e.Zxid))
			}
		}
		want := []string{"key-set t/x c1 1", "key-deleted t/x c2 1"}
		if !slices.Equal(rows, want) {
			t.Errorf("changes %q, want %q", rows, want)
		}
	})
}

// A transaction has the database to itself until it ends.
func TestTransaction(t *testing.T) {
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		perform(t, func(s *stage, a, b *sql.DB) {
			tx := s.begin(a)
			insert := exec(tx, "INSERT INTO t VALUES ('x', 1)")
			key := s.system.Key()
			s.take("serve c1")
			if s.system.Key() == key {
				t.Error("the key does not cover the rows of an open transaction")
			}
			s.take("deliver c1")
			s.want(insert, "1")
			count := value(b, "SELECT count(*) FROM t")
			if s.can("serve c2") || !s.can("cut c2") {
				t.Error("a statement does not wait for the transaction of another session")
			}
			over := start(func() (any, error) {
				if end == "COMMIT" {
					return nil, tx.Commit()
				}
				return nil, tx.Rollback()
			})
			s.take("serve c1", "serve c2", "deliver c2", "deliver c1")
			s.want(over, "<nil>")
			s.want(count, map[string]string{"COMMIT": "1", "ROLLBACK": "0"}[end])
		})
	}
}

// The server rolls back a transaction when it notices that the connection is lost: after a time, or
// when the link works again. What is committed stays.
func TestConnectionLost(t *testing.T) {
	for _, test := range []struct{ fault, until string }{
		{"cut c1", ""}, {"cut c1", "heal c1"}, {"crash c1", ""}, {"restart-server s1", "at once"},
	} {
		perform(t, func(s *stage, a, b *sql.DB) {
			before := exec(a, "INSERT INTO t VALUES ('committed', 1)")
			s.take("serve c1", "deliver c1")
			s.want(before, "1")
			tx := s.begin(a)
			insert := exec(tx, "INSERT INTO t VALUES ('x', 1)")
			s.take("serve c1", test.fault)
			if !strings.HasPrefix(test.fault, "crash") {
				s.want(insert, simsql.ErrConnectionLost.Error())
			}
			c := value(b, "SELECT group_concat(k) FROM t")
			if test.until == "" {
				if at, ok := s.system.Deadline(); !ok || at != time.Second || s.can("serve c2") {
					t.Errorf("deadline %v, %v", at, ok)
				}
				s.pass(time.Second)
			} else if test.until != "at once" {
				s.take(test.until)
			}
			s.take("serve c2", "deliver c2")
			s.want(c, "committed")
		})
	}
}

// A commit can succeed although its reply is lost.
func TestLostReply(t *testing.T) {
	perform(t, func(s *stage, a, b *sql.DB) {
		tx := s.begin(a)
		insert := exec(tx, "INSERT INTO t VALUES ('x', 1)")
		s.take("serve c1", "deliver c1")
		s.want(insert, "1")
		commit := start(func() (any, error) { return nil, tx.Commit() })
		s.take("lose-reply c1")
		s.want(commit, simsql.ErrConnectionLost.Error())
		s.count(b, "1")
		refused := exec(a, "DELETE FROM t")
		s.want(refused, "dial tcp: connection refused")
		s.take("heal c1")
		again := exec(a, "DELETE FROM t")
		s.take("serve c1", "deliver c1")
		s.want(again, "1")
	})
}

// A comment hides no transaction.
func TestComment(t *testing.T) {
	perform(t, func(s *stage, a, b *sql.DB) {
		for _, query := range []string{
			"/* lock */ BEGIN IMMEDIATE", "-- row\nINSERT INTO t VALUES ('x', 1)",
		} {
			exec(a, query)
			s.take("serve c1", "deliver c1")
		}
		count := value(b, "SELECT count(*) FROM t")
		if s.can("serve c2") {
			t.Error("a statement does not wait for the transaction of another session")
		}
		exec(a, "/* undo */ ROLLBACK")
		s.take("serve c1", "deliver c1", "serve c2", "deliver c2")
		s.want(count, "0")
	})
}

// A transaction that cannot be committed is rolled back.
func TestFailedCommit(t *testing.T) {
	const (
		foreign = "PRAGMA foreign_keys = ON; CREATE TABLE p (k TEXT PRIMARY KEY); CREATE TABLE t " +
			"(k TEXT PRIMARY KEY, v TEXT REFERENCES p DEFERRABLE INITIALLY DEFERRED)"
		trigger = "CREATE TABLE t (k TEXT PRIMARY KEY, v INTEGER); CREATE TRIGGER r AFTER INSERT " +
			"ON t BEGIN SELECT RAISE(ROLLBACK, 'refused'); END"
	)
	for schema, want := range map[string]string{
		foreign: "constraint failed: FOREIGN KEY constraint failed (787)",
		trigger: "SQL logic error: cannot commit - no transaction is active (1)",
	} {
		performOn(t, schema, func(s *stage, a, b *sql.DB) {
			tx := s.begin(a)
			exec(tx, "INSERT INTO t VALUES ('x', 1)")
			s.take("serve c1", "deliver c1")
			commit := start(func() (any, error) { return nil, tx.Commit() })
			s.take("serve c1", "deliver c1")
			s.want(commit, want)
			s.count(b, "0")
		})
	}
}

// The key covers when the server has ended a connection, because the process can tell.
func TestKeyCoversTimeOfRestart(t *testing.T) {
	key := func(before, after time.Duration) (key uint64) {
		perform(t, func(s *stage, a, _ *sql.DB) {
			exec(a, "INSERT INTO t VALUES ('x', 1)")
			s.enabled()
			s.pass(before)
			s.take("restart-server s1")
			s.pass(after)
			key = s.system.Key()
		})
		return key
	}
	if key(time.Second, 2*time.Second) == key(2*time.Second, time.Second) {
		t.Error("the key does not cover when the server restarts")
	}
}

// The number of an inserted row is that of the session's own statement, and decided by the key.
func TestLastInsertID(t *testing.T) {
	last := func(queries ...string) (key uint64, id string) {
		perform(t, func(s *stage, a, b *sql.DB) {
			for _, query := range queries[:len(queries)-1] {
				exec(a, query)
				s.take("serve c1", "cut c1", "heal c1") // c1 learns nothing.
			}
			key = s.system.Key()
			c := start(func() (any, error) {
				r, err := b.Exec(queries[len(queries)-1])
				if err != nil {
					return nil, err
				}
				return r.LastInsertId()
			})
			s.take("serve c2", "deliver c2")
			id = c.text
		})
		return key, id
	}
	const (
		x, y, z = "INSERT INTO t VALUES ('x', 1)", "INSERT INTO t VALUES ('y', 1)",
			"INSERT INTO t VALUES ('z', 1)"
		remove = "DELETE FROM t WHERE k = 'y'"
	)
	first, one := last(x, remove, remove, z)
	second, two := last(y, x, remove, z)
	if one != "2" || two != "3" || first == second {
		t.Errorf("row %s with key %x, and %s with %x", one, first, two, second)
	}
	for _, query := range []string{
		remove, "UPDATE t SET v = 2", "INSERT OR IGNORE INTO t VALUES ('x', 2)",
		"INSERT INTO t VALUES ('x', 2) ON CONFLICT DO UPDATE SET v = 2",
	} {
		if _, id := last(y, x, query); id != "0" {
			t.Errorf("%s: the last inserted row is %s", query, id)
		}
	}
}

// Who gives up waiting for a reply closes the connection. The server may still execute the
// statement, and then ends the session.
func TestAbandoned(t *testing.T) {
	perform(t, func(s *stage, a, b *sql.DB) {
		ctx, cancel := context.WithCancel(context.Background())
		begun := start(func() (any, error) { return a.BeginTx(ctx, nil) })
		s.take("stall-server s1")
		cancel()
		s.want(begun, context.Canceled.Error())
		s.take("heal s1", "serve c1")
		s.count(b, "0")
	})
}

func TestStalledLink(t *testing.T) {
	perform(t, func(s *stage, a, _ *sql.DB) {
		insert := exec(a, "INSERT INTO t VALUES ('x', 1)")
		s.take("stall-requests c1")
		if s.can("serve c1") {
			t.Error("a request passes a stalled link")
		}
		s.take("heal c1", "serve c1", "stall-replies c1")
		if s.can("deliver c1") {
			t.Error("a reply passes a stalled link")
		}
		s.take("heal c1", "pause c1")
		if s.can("deliver c1") {
			t.Error("a reply reaches a paused process")
		}
		s.pass(time.Second)
		s.take("deliver c1")
		s.want(insert, "1")
	})
}

// Statements read the server's clock.
func TestClock(t *testing.T) {
	perform(t, func(s *stage, a, _ *sql.DB) {
		now := func(want string) {
			t.Helper()
			c := value(a, "SELECT CURRENT_TIMESTAMP || ' ' || unixepoch() || ' ' || "+
				"unixepoch('now', 'subsec')")
			s.take("serve c1", "deliver c1")
			s.want(c, want)
		}
		if s.can("jump-clock s1") {
			t.Error("the clock jumps before a statement has read it")
		}
		now("2000-01-01 00:00:00 946684800 946684800.0")
		s.pass(1500 * time.Millisecond)
		now("2000-01-01 00:00:01 946684801 946684801.5")
		s.take("jump-clock s1", "fast-clock s1")
		s.pass(time.Second)
		now("2000-01-01 01:00:03 946688403 946688403.0")
	})
}

// An instant in a committed row is when data expire, in whatever form it is written, and so is one
// second later. Other values are none, such as counters and dates long before and after the run.
func TestExpiry(t *testing.T) {
	in2s := time.Date(2000, 1, 1, 0, 0, 2, 0, time.UTC)
	for _, tc := range []struct {
		values []any
		want   time.Duration // the first instant; 0 for no expiry
	}{
		{[]any{in2s}, 2 * time.Second},
		{[]any{in2s.Unix(), in2s.Add(time.Second).UnixMilli()}, 2 * time.Second},
		{[]any{in2s.UnixMicro()}, 2 * time.Second},
		{[]any{in2s.UnixNano()}, 2 * time.Second},
		{[]any{float64(in2s.UnixMilli()+500) / 1000}, 2500 * time.Millisecond},
		{[]any{in2s.Format(time.RFC3339)}, 2 * time.Second},
		{[]any{[]byte("2000-01-01 00:00:02.5")}, 2500 * time.Millisecond},
		{[]any{"2000-01-01T00:00:02"}, 2 * time.Second},
		{[]any{"2000-01-01 02:00:02+02:00"}, 2 * time.Second},
		{[]any{"2000-01-01 00:00"}, 0},
		{[]any{[]byte("946684802")}, 2 * time.Second},
		{[]any{in2s.Add(-time.Hour), in2s.Add(48 * time.Hour), 1, "2 rows", nil}, 0},
	} {
		perform(t, func(s *stage, a, _ *sql.DB) {
			for i, v := range tc.values {
				exec(a, "INSERT INTO t VALUES (?, ?)", i, v)
				s.take("serve c1", "deliver c1")
			}
			s.pass(time.Second) // It changes nothing.
			if last, next := s.system.Expiry(); last != 0 || next != tc.want {
				t.Errorf("%v: data expired at %v and will at %v; want %v", tc.values, last, next,
					tc.want)
			}
			if tc.want == 0 {
				return
			}
			s.pass(tc.want - time.Second)
			if last, next := s.system.Expiry(); last != tc.want || next != tc.want+time.Second {
				t.Errorf("%v: at %v, data expired at %v and will at %v", tc.values, tc.want, last,
					next)
			}
		})
	}
}

// The server's clock decides when data expire, and what is not committed never does.
func TestExpiryByServersClock(t *testing.T) {
	perform(t, func(s *stage, a, b *sql.DB) {
		tx := s.begin(a)
		c := exec(tx, "INSERT INTO t VALUES ('x', unixepoch() + 10)")
		s.take("serve c1", "deliver c1")
		s.want(c, "1")
		want := func(when string, wantNext time.Duration) {
			t.Helper()
			if last, next := s.system.Expiry(); last != 0 || next != wantNext {
				t.Errorf("%s, data expired at %v and will at %v; want %v", when, last, next,
					wantNext)
			}
		}
		want("before the transaction ends", 0)
		done := start(func() (any, error) { return nil, tx.Commit() })
		s.take("serve c1", "deliver c1")
		s.want(done, "<nil>")
		want("after that", 10*time.Second)
		s.take("fast-clock s1")
		want("with a fast clock", 6666666667*time.Nanosecond) // by half too fast
		s.take("jump-clock s1")
		want("after the clock has jumped", 0)
		c = exec(b, "DELETE FROM t")
		s.take("serve c2", "deliver c2")
		s.want(c, "1")
		want("without a row", 0)
	})
}

// What would make runs differ, or is no statement of a session, is refused.
func TestRefused(t *testing.T) {
	perform(t, func(s *stage, a, _ *sql.DB) {
		for _, query := range []string{
			"SELECT random()", "SELECT datetime('now')", "PRAGMA user_version", "SAVEPOINT s",
			"SELECT 1; SELECT 2", "INSERT OR ROLLBACK INTO t VALUES ('x', 1)",
			"CREATE TEMP TABLE u (v)", "ROLLBACK TO s", "COMMIT", "SELECT unixepoch('2000-01-01')",
			"SELECT last_insert_rowid()",
			"-- a name\nPRAGMA user_version", "/* a */ -- b\n SAVEPOINT s",
			"CREATE /* a */ --\n TEMP TABLE u (v)", "INSERT OR  ROLLBACK INTO t VALUES ('x', 1)",
		} {
			c := exec(a, query)
			s.take("serve c1", "deliver c1")
			if !strings.Contains(c.text, "simsql ") && query != "COMMIT" ||
				query == "COMMIT" && c.text != "no transaction is open" {
				t.Errorf("%s: %q, want an error", query, c.text)
			}
		}
		if _, err := a.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true}); err == nil {
			t.Error("a read-only transaction has begun")
		}
		if _, err := a.Driver().Open(""); err == nil || errors.Is(err, driver.ErrBadConn) {
			t.Errorf("opened by name: %v", err)
		}
	})
}

// Reports show a statement with its arguments. A caller may change its bytes after the call.
func TestArguments(t *testing.T) {
	perform(t, func(s *stage, a, b *sql.DB) {
		shown := func(c *call, text, want, gives string) {
			t.Helper()
			s.take("serve c1", "deliver c1")
			s.want(c, text)
			last := s.log.Events()[len(s.log.Events())-1]
			if last.Op != want || last.Name != gives {
				t.Errorf("%q gives %q, want %q, %q", last.Op, last.Name, want, gives)
			}
		}
		shown(exec(a, "INSERT INTO t\n\tVALUES (?, ?)", "it's ?", time.Now()), "1",
			"INSERT INTO t VALUES ('it''s ?', '2000-01-01 00:00:00')", "1 row")
		shown(exec(a, "UPDATE t SET v = @v WHERE k <> '?'", sql.Named("v", nil)), "1",
			"UPDATE t SET v = @v WHERE k <> '?', v=NULL", "1 row")
		shown(value(a, "SELECT v IS NULL FROM t"), "1", "SELECT v IS NULL FROM t", "1")
		shown(exec(a, "DELETE FROM t"), "1", "DELETE FROM t", "1 row")
		bytes := []byte("x")
		insert := exec(a, "INSERT INTO t VALUES (?, 1)", bytes)
		s.enabled()
		bytes[0] = 'y'
		s.take("serve c1", "deliver c1")
		s.want(insert, "1")
		c := value(b, "SELECT CAST(k AS TEXT) FROM t")
		s.take("serve c2", "deliver c2")
		s.want(c, "x")
	})
}

// A prepared statement costs no request of its own.
func TestPrepared(t *testing.T) {
	perform(t, func(s *stage, a, b *sql.DB) {
		statement, err := a.Prepare("INSERT INTO t VALUES (?, ?)")
		if err != nil {
			t.Fatal(err)
		}
		c := start(func() (any, error) {
			r, err := statement.Exec("x", 1)
			if err != nil {
				return nil, err
			}
			return r.LastInsertId()
		})
		s.take("serve c1", "deliver c1")
		s.want(c, "1")
		s.count(b, "1")
	})
}
