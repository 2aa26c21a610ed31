package simsql_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim/simsql"
)

// A rowLock is an example of a user's lock: the process that has written the row has the lock for
// 10 seconds.
type rowLock struct {
	db    *sql.DB
	owner string
}

const take = `INSERT INTO locks VALUES ('job', ?, unixepoch() + 10) ON CONFLICT DO UPDATE
	SET owner = excluded.owner, expires = excluded.expires WHERE expires <= unixepoch()`

func (l *rowLock) Lock(ctx context.Context) error {
	for {
		result, err := l.db.ExecContext(ctx, take, l.owner)
		if err != nil {
			return err
		}
		if rows, _ := result.RowsAffected(); rows == 1 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (l *rowLock) Unlock(ctx context.Context) error {
	_, err := l.db.ExecContext(ctx, "DELETE FROM locks WHERE name = 'job' AND owner = ?", l.owner)
	return err
}

// rowLockScenario describes the lock and its claims.
func rowLockScenario() scenarios.Scenario {
	return scenarios.Scenario{
		Clients: 2, Cycles: 1, Faults: faults.Of(faults.Any, 1),
		Subject: scenarios.Subject{
			Name: "row-lock",
			Service: simsql.Service{
				Schema: "CREATE TABLE locks (name TEXT PRIMARY KEY, owner TEXT, expires INTEGER)",
			},
			Claims: history.ExpiringLock(),
			Open: func(p *scenarios.Process) (scenarios.Locker, error) {
				lock := &rowLock{p.Handle.(*simsql.Client).DB(), p.Name()}
				return scenarios.Mutex(lock.Lock, lock.Unlock), nil
			},
		},
	}
}

func TestRowLock(t *testing.T) { interlock.Check(t, rowLockScenario()) }

func FuzzRowLock(f *testing.F) { interlock.Fuzz(f, rowLockScenario()) }
