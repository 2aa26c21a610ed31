package bundled_test

import (
	"bytes"
	"context"
	"database/sql"
	"regexp"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-sim/interlock/cmd/bundled/goredis"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim/simredis"
	"github.com/interlock-sim/interlock/sim/simsql"
)

// The write of a process that harms another's hold is told and shown, also if the item stays that
// of its owner.
func TestForeignWrites(t *testing.T) {
	for name, test := range map[string]struct {
		lock  scenarios.Subject
		text  string // expressions
		shown []string
	}{
		"lease ended": {
			sqlLock(simsql.Service{Schema: leases}, func(ctx context.Context, db *sql.DB, name string) bool {
				if execute(ctx, db, insertLease+" ON CONFLICT DO NOTHING", name) == 1 {
					return true
				}
				execute(ctx, db, "UPDATE leases SET expires = unixepoch('subsec') WHERE name = 'job'")
				return execute(ctx, db, `UPDATE leases SET owner = ?, expires = unixepoch('subsec') + 9
					WHERE name = 'job' AND expires <= unixepoch('subsec')`, name) == 1
			}),
			`c1 did not notice that it had lost the lock: c2 changed its key "leases/job" \(event (\d+)\).*` +
				`c2 changed it by "UPDATE leases SET expires = unixepoch\('subsec'\) WHERE name = 'job'". ` +
				`Then c2 took it over \(event \d+\)`,
			[]string{`key "leases/job" of c1 changed at the server by c2's UPDATE leases SET expires = ` +
				`unixepoch\('subsec'\) WHERE name = 'job' \[foreign_write_test.go:\d+\]`},
		},
		"blind write": {
			sqlLock(simsql.Service{Schema: leases}, func(ctx context.Context, db *sql.DB, name string) bool {
				var n int
				live := "SELECT count(*) FROM leases WHERE expires > unixepoch('subsec')"
				return db.QueryRowContext(ctx, live).Scan(&n) == nil && n == 0 && execute(ctx, db, insertLease+
					" ON CONFLICT DO UPDATE SET owner = excluded.owner, expires = excluded.expires", name) == 1
			}),
			`c1 took the lock \(event \d+\) that it had lost before: c2 changed its key "leases/job" ` +
				`\(event \d+\).*c2 changed it by "INSERT INTO leases VALUES \('job', 'c2',`,
			[]string{`key "leases/job" of c1 changed at the server by c2's INSERT INTO leases`},
		},
		"row of a third": {
			sqlLock(simsql.Service{Schema: leases}, func(ctx context.Context, db *sql.DB, name string) bool {
				var owner string
				execute(ctx, db, "INSERT INTO leases VALUES ('job', '', 0) ON CONFLICT DO NOTHING")
				if db.QueryRowContext(ctx, "SELECT owner FROM leases").Scan(&owner) != nil || owner != "" {
					return false
				}
				return execute(ctx, db, "UPDATE leases SET owner = ? WHERE name = 'job'", name) == 1
			}),
			`c3 changed its key "leases/job" \(event \d+\).* c2 had set the key \(event \d+\). c3 changed it`,
			[]string{
				`key "leases/job" of c1 changed at the server by c2's UPDATE`,
				`key "leases/job" of c1 changed at the server by c3's UPDATE`,
			},
		},
		"owner emptied": {
			sqlLock(simsql.Service{Schema: leases, Owner: "owner"},
				func(ctx context.Context, db *sql.DB, name string) bool {
					execute(ctx, db, "INSERT INTO leases VALUES ('job', NULL, 0) ON CONFLICT DO NOTHING")
					if execute(ctx, db, "UPDATE leases SET owner = ? WHERE owner IS NULL", name) == 1 {
						return true
					}
					execute(ctx, db, "UPDATE leases SET owner = NULL")
					return false
				}),
			`c1 did not notice that it had lost the lock: c2 overwrote its key "leases/job" .*` +
				`c2 replaced it by "UPDATE leases SET owner = NULL"`,
			[]string{`key "leases/job" of c1 overwritten at the server by c2`},
		},
		"key deleted": {
			redisLock(func(ctx context.Context, c *redis.Client, name string) bool {
				if c.SetNX(ctx, "lock", name, 0).Val() {
					return true
				}
				return c.Get(ctx, "lock").Val() == "c1" && c.Del(ctx, "lock").Val() >= 0 &&
					c.SetNX(ctx, "lock", name, 0).Val()
			}, func(ctx context.Context, c *redis.Client) {}),
			`its key "lock" was deleted by c3 \(event \d+\).*c2 had set that key \(event \d+\).* ` +
				`The command "DEL lock" of c3 deleted the key and did not look at its value. Its GET lock ` +
				`before that had given c1 \(event \d+\), but the server had executed it before c2 set the key`,
			[]string{`key "lock" deleted at the server by c3`},
		},
		"list extended": {
			redisLock(func(ctx context.Context, c *redis.Client, name string) bool {
				return c.SetNX(ctx, "made", 1, 0).Val() || c.LPop(ctx, "free").Err() == nil
			}, func(ctx context.Context, c *redis.Client) {
				c.LPush(ctx, "free", "token")
				c.LPush(ctx, "free", "token")
			}),
			`c2 was granted the lock at event`,
			[]string{
				`key "free" set at the server by c1`,
				`key "free" changed at the server by c1's LPUSH free token \[foreign_write_test.go:\d+\]`,
				`key "free" of c1 changed at the server by c[23]'s LPOP free \[foreign_write_test.go:\d+\]`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) { checkForeignWrite(t, test.lock, test.text, test.shown) })
	}
}

const (
	leases      = "CREATE TABLE leases (name TEXT PRIMARY KEY, owner TEXT, expires REAL)"
	insertLease = "INSERT INTO leases VALUES ('job', ?, unixepoch('subsec') + 9)"
)

// execute returns how many rows a statement has changed, or -1.
func execute(ctx context.Context, db *sql.DB, statement string, args ...any) int64 {
	result, err := db.ExecContext(ctx, statement, args...)
	if err != nil {
		return -1
	}
	n, _ := result.RowsAffected()
	return n
}

// sqlLock is a lock that nobody releases. A process has it when the function returns true.
func sqlLock(service simsql.Service, try func(context.Context, *sql.DB, string) bool) scenarios.Subject {
	return expiring(history.ClientMutualExclusion, service, func(p *scenarios.Process) scenarios.Locker {
		db := p.Handle.(*simsql.Client).DB()
		return scenarios.Mutex(func(ctx context.Context) error {
			return retry(ctx, func() bool { return try(ctx, db, p.Name()) })
		}, func(context.Context) error { return nil })
	})
}

func redisLock(try func(context.Context, *redis.Client, string) bool,
	release func(context.Context, *redis.Client),
) scenarios.Subject {
	return expiring(history.ClientMutualExclusion, simredis.Service{},
		func(p *scenarios.Process) scenarios.Locker {
			c := goredis.Open(p.Handle.(*simredis.Client), 0)
			return scenarios.Mutex(func(ctx context.Context) error {
				return retry(ctx, func() bool { return try(ctx, c, p.Name()) })
			}, func(ctx context.Context) error {
				release(ctx, c)
				return nil
			})
		})
}

// checkForeignWrite looks for a schedule whose report has a text and shows events.
func checkForeignWrite(t *testing.T, lock scenarios.Subject, text string, shown []string) {
	t.Helper()
	scenario := locktest.Planned(t, lock, 3, 1, "none")
	runner := engine.NewRunner(t)
	runner.GatherFacts(true)
	var last string
	for schedule := range 300 {
		result := runner.Run(&scenario, strategy.NewRandom(5, schedule))
		for _, v := range result.Violations {
			report := explain.NewReport("", timeline.Lock, result.Events, []*history.Violation{v})
			report.Timeline.Width = 1000
			var lines bytes.Buffer
			report.Decisive(&lines) // A buffer takes everything.
			last = report.Whys[0].Text + "\n" + lines.String()
			found := regexp.MustCompile(text).MatchString(report.Whys[0].Text)
			for _, line := range shown {
				found = found && regexp.MustCompile(line+"\\s").MatchString(lines.String())
			}
			if found {
				return
			}
		}
	}
	t.Errorf("no report has %q and %q; the last is\n%s", text, shown, last)
}
