package bundled_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-sim/interlock/cmd/bundled/goredis"
	"github.com/interlock-sim/interlock/cmd/bundled/redislocks"
	"github.com/interlock-sim/interlock/cmd/bundled/sqllocks"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/everylock"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/sim/simredis"
	"github.com/interlock-sim/interlock/sim/simsql"
)

// Where random schedules violate a lock on Redis or a database without a fault, an exhaustive
// search of the smallest scenario with the default idle ticks finds that too.
func TestExhaustiveFindsWhatRandomSchedulesDo(t *testing.T) {
	broken := 0
	for _, lock := range slices.Concat(redislocks.All(), sqllocks.All()) {
		s := locktest.Planned(t, lock, 2, 1, "none")
		runner, schedules := engine.NewRunner(t), long.Count(20, 60)/max(1, lock.Servers)
		fails := false
		for schedule := 0; schedule < schedules && !fails; schedule++ {
			fails = runner.Run(&s, strategy.NewRandom(1, schedule)).Fails(&s)
		}
		if !fails {
			continue
		}
		broken++
		if r := everylock.ByDefault(s).Run(context.Background(), t); r.Failure == nil {
			t.Errorf("%s: no violation in %d schedules", lock.Name, r.Schedules)
		}
	}
	if broken < 2 {
		t.Errorf("random schedules violate %d locks, want at least setnx-expire and "+
			"unique-index-expire", broken)
	}
}

// A lock that is correct without faults holds in all schedules. With an idle tick there are more of
// them.
func TestExpiryLeavesSearchesComplete(t *testing.T) {
	for _, tc := range long.Sample([]struct {
		lock  scenarios.Subject
		ticks int
	}{
		{sqllocks.UniqueIndexOwner(), 0},
		{redislocks.SetNXRenew(), 0},
		{redislocks.SetNXLease(), 0},
		{sqllocks.UniqueIndexFenced(), 1},
		{redislocks.SetNXLease(), 1},
	}, 2) {
		s := locktest.Planned(t, tc.lock, 2, 1, "none")
		e := exhaustive.Search{Scenario: s, IdleTicks: tc.ticks}
		r := e.Run(context.Background(), t)
		if !r.Complete || r.Failure != nil {
			t.Errorf("%s, %d idle ticks: complete %v, failure %v", tc.lock.Name, tc.ticks,
				r.Complete, r.Failure)
		}
		t.Logf("%s, %d idle ticks: %d schedules, %d states", tc.lock.Name, tc.ticks, r.Schedules,
			r.States)
	}
}

// An expiry of 10 s, ten times the longest tick, passes where a process is inside, whatever the
// service and however the lock writes the time. A lock whose data never expire is unharmed.
func TestExpiryPassesInCriticalSection(t *testing.T) {
	for name, lock := range map[string]scenarios.Subject{
		"key":            keyLock(false),
		"server's clock": rowLock("unixepoch() + 10", nil),
		"seconds":        rowLock("?", func(at time.Time) any { return at.Unix() }),
		"milliseconds":   rowLock("?", func(at time.Time) any { return at.UnixMilli() }),
		"nanoseconds":    rowLock("?", func(at time.Time) any { return at.UnixNano() }),
		"time":           rowLock("?", func(at time.Time) any { return at }),
		"RFC 3339":       rowLock("?", func(at time.Time) any { return at.Format(time.RFC3339Nano) }),
	} {
		e := exhaustive.Search{Scenario: locktest.Planned(t, lock, 2, 1, "none")}
		if r := e.Run(context.Background(), t); r.Failure == nil {
			t.Errorf("%s: no violation in %d schedules", name, r.Schedules)
		}
	}
	e := exhaustive.Search{Scenario: locktest.Planned(t, rowLock("1", nil), 2, 1, "none")}
	if r := e.Run(context.Background(), t); r.Failure != nil || !r.Complete {
		t.Errorf("without an expiry: complete %v, failure %v", r.Complete, r.Failure)
	}
}

// A holder that compares the key and then deletes it deletes that of the next holder if the key
// expires in between, while a message is in flight. Only an idle tick lets it, for as long as the
// expiry takes.
func TestIdleTickLetsKeyExpireInFlight(t *testing.T) {
	s := locktest.Planned(t, keyLock(true), 2, 1, "none")
	if r := everylock.ByDefault(s).Run(context.Background(), t); r.Failure == nil {
		t.Errorf("no violation in %d schedules", r.Schedules)
	}
	without := exhaustive.Search{Scenario: s, Schedules: long.Count(100, 0)}
	if r := without.Run(context.Background(), t); r.Failure != nil ||
		!r.Complete && r.Schedules != without.Schedules {
		t.Errorf("without idle ticks: complete %v, failure %v", r.Complete, r.Failure)
	}
}

// keyLock is a lock by a key that expires after 10 s. Its holder deletes the key, or first compares
// the value.
func keyLock(compares bool) scenarios.Subject {
	const name = "lock"
	return expiring(history.OwnRelease, simredis.Service{}, func(p *scenarios.Process) scenarios.Locker {
		c, value := goredis.Open(p.Handle.(*simredis.Client), 0), p.Name()
		return scenarios.Mutex(func(ctx context.Context) error {
			return retry(ctx, func() bool {
				return c.SetNX(ctx, name, value, 10*time.Second).Val()
			})
		}, func(ctx context.Context) error {
			if compares {
				switch found, err := c.Get(ctx, name).Result(); {
				case errors.Is(err, redis.Nil) || err == nil && found != value:
					return nil
				case err != nil:
					return err
				}
			}
			return c.Del(ctx, name).Err()
		})
	})
}

// rowLock is a lock by a row whose column expires is an SQL expression. Its argument, if it has
// one, is what the function makes of the time in 10 s.
func rowLock(expires string, argument func(time.Time) any) scenarios.Subject {
	service := simsql.Service{Schema: "CREATE TABLE locks (name TEXT PRIMARY KEY, expires)"}
	return expiring(history.ClientMutualExclusion, service, func(p *scenarios.Process) scenarios.Locker {
		db := p.Handle.(*simsql.Client).DB()
		at := func(after time.Duration) []any {
			if argument == nil {
				return nil
			}
			return []any{argument(time.Now().Add(after))}
		}
		return scenarios.Mutex(func(ctx context.Context) error {
			return retry(ctx, func() bool { return takeRow(ctx, db, expires, at) })
		}, func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, "DELETE FROM locks")
			return err
		})
	})
}

// takeRow deletes the row if it has expired, and reports whether it could insert one.
func takeRow(ctx context.Context, db *sql.DB, expires string,
	at func(time.Duration) []any,
) bool {
	now := "?"
	if at(0) == nil {
		now = "unixepoch()"
	}
	if _, err := db.ExecContext(ctx, "DELETE FROM locks WHERE expires > 1 AND expires < "+now,
		at(0)...); err != nil {
		return false
	}
	_, err := db.ExecContext(ctx, "INSERT INTO locks VALUES ('job', "+expires+")",
		at(10*time.Second)...)
	return err == nil
}

// retry calls the function until it returns true, every 6 s.
func retry(ctx context.Context, done func() bool) error {
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(6 * time.Second):
		}
	}
	return nil
}

// expiring returns a lock with one claim.
func expiring(claim history.Property, service sim.Service,
	open func(*scenarios.Process) scenarios.Locker,
) scenarios.Subject {
	return scenarios.Subject{
		Name: "expiring", Service: service, Claims: []history.Property{claim},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) { return open(p), nil },
	}
}
