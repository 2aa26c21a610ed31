// Package sqllocks provides the bundled locks on a database: the one of a published description, as
// it is described, and what repairs it. All use database/sql, unmodified, against package simsql.
package sqllocks

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"io"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim/simsql"
)

// All returns the locks on a database.
func All() []scenarios.Subject {
	return []scenarios.Subject{
		UniqueIndex(), UniqueIndexExpire(), UniqueIndexOwner(), UniqueIndexFenced(),
		OpenTransaction(),
	}
}

const (
	expiry     = 500 * time.Millisecond
	retryDelay = 150 * time.Millisecond // between two attempts at a lock that is taken
)

// service is the database with the tables of the locks.
var service = simsql.Service{Schema: `
	CREATE TABLE locks (name TEXT PRIMARY KEY, owner TEXT, expires REAL);
	CREATE TABLE tokens (name TEXT PRIMARY KEY, token INTEGER NOT NULL);
	INSERT INTO tokens VALUES ('job', 0)`}

// subject returns a lock with the given summary. Each claims what its users rely on.
func subject(name, summary string, open func(*process) scenarios.Locker) scenarios.Subject {
	return scenarios.Subject{
		Name: name, Summary: summary, Service: service,
		Claims: []history.Property{
			history.ClientMutualExclusion, history.Progress, history.OwnRelease,
		},
		// The description states no bound on pauses and clocks.
		Severity: faults.Severity{Pause: faults.PauseMax, Drift: faults.DriftMax},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			client, ok := p.Handle.(*simsql.Client)
			if !ok {
				return nil, errors.New("the service of the lock is not simsql")
			}
			return open(&process{Process: p, db: client.DB()}), nil
		},
	}
}

// A process is a contender with its access to the database.
type process struct {
	*scenarios.Process
	db *sql.DB
}

// value returns a value that no other attempt has.
func (p *process) value() string {
	var bytes [4]byte
	io.ReadFull(p.Random, bytes[:]) // It never fails.
	return hex.EncodeToString(bytes[:])
}

// until calls the function, with pauses, until it returns true.
func until(ctx context.Context, done func() bool) error {
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryDelay):
		}
	}
	return nil
}

// exec executes a statement and reports whether it changed a row.
func (p *process) exec(ctx context.Context, query string, args ...any) (bool, error) {
	result, err := p.db.ExecContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// UniqueIndex is the lock of CyC2018's notes on distributed locks, section "数据库的唯一索引": to
// lock is to insert a row, which the unique index allows once, and to unlock is to delete it. The
// row has no expiry, so it outlives a holder that crashes. An attempt that fails is tried again by
// its caller, as the notes say.
func UniqueIndex() scenarios.Subject {
	return subject("unique-index", "broken: a row with a unique key, without an expiry",
		func(p *process) scenarios.Locker {
			return scenarios.Mutex(func(ctx context.Context) error {
				return until(ctx, func() bool {
					_, err := p.exec(ctx, "INSERT INTO locks (name) VALUES ('job')")
					return err == nil
				})
			}, func(ctx context.Context) error {
				_, err := p.exec(ctx, "DELETE FROM locks WHERE name = 'job'")
				return err
			})
		})
}

// acquire inserts the row, or takes it over if it has expired by the database's clock.
const acquire = `INSERT INTO locks VALUES ('job', ?, unixepoch('subsec') + ?)
	ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires = excluded.expires
	WHERE expires <= unixepoch('subsec')`

// UniqueIndexExpire is [UniqueIndex] with an expiry: others take over a row that has expired by the
// database's clock. A holder that works for longer does not notice, and deletes the row of the next
// one.
func UniqueIndexExpire() scenarios.Subject {
	return subject("unique-index-expire", "broken: a row with a unique key and an expiry",
		func(p *process) scenarios.Locker {
			return scenarios.Mutex(func(ctx context.Context) error {
				return until(ctx, func() bool {
					changed, err := p.exec(ctx, acquire, p.value(), expiry.Seconds())
					return changed && err == nil
				})
			}, func(ctx context.Context) error {
				_, err := p.exec(ctx, "DELETE FROM locks WHERE name = 'job'")
				return err
			})
		})
}

// UniqueIndexOwner is [UniqueIndexExpire] with an owner, which the release compares. The holder
// stops when the expiry has passed, by its own clock, since it asked for the lock.
func UniqueIndexOwner() scenarios.Subject {
	return subject("unique-index-owner", "broken: a row with an expiry and an owner, and a holder "+
		"that stops in time",
		func(p *process) scenarios.Locker { return &lease{process: p} })
}

// UniqueIndexFenced is [UniqueIndexOwner] with a fencing token that the resource checks, as in M.
// Kleppmann, How to do distributed locking, 2016. It does not claim that one process at a time
// believes to hold the lock, but that the resource accepts no write of an older holder after one of
// a newer.
func UniqueIndexFenced() scenarios.Subject {
	s := subject("unique-index-fenced", "a row with an expiry and an owner, and a fencing token: "+
		"no late write",
		func(p *process) scenarios.Locker { return &lease{process: p, token: true} })
	s.Claims = []history.Property{
		history.Fencing, history.NoLostUpdate, history.Progress, history.OwnRelease,
	}
	s.Guard = scenarios.TokenChecked
	return s
}

// A lease is the lock of [UniqueIndexOwner], with or without a token.
type lease struct {
	*process
	token bool
}

// Lock waits until it has written the row.
func (l *lease) Lock(ctx context.Context) (*scenarios.Hold, error) {
	owner, hold := l.value(), new(scenarios.Hold)
	err := until(ctx, func() bool {
		asked := time.Now()
		written, token := l.try(ctx, owner)
		if !written || time.Since(asked) >= expiry {
			l.unlock(ctx, owner) // A lost reply may hide that the row was written.
			return false
		}
		hold.Token, hold.Done = token, l.valid(asked.Add(expiry))
		return true
	})
	hold.Unlock = func(ctx context.Context) error { return l.unlock(ctx, owner) }
	return hold, err
}

// valid returns a channel that is closed when the validity of a lock ends by the process's clock.
func (l *lease) valid(until time.Time) <-chan struct{} {
	ctx, cancel := context.WithDeadline(l.Context(), until)
	context.AfterFunc(ctx, cancel)
	return ctx.Done()
}

// try writes the row if it may, and returns the next token. Both happen in one transaction.
func (l *lease) try(ctx context.Context, owner string) (written bool, token int64) {
	if !l.token {
		written, err := l.exec(ctx, acquire, owner, expiry.Seconds())
		return written && err == nil, 0
	}
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return false, 0
	}
	defer tx.Rollback() // It does nothing after a commit.
	result, err := tx.ExecContext(ctx, acquire, owner, expiry.Seconds())
	if err != nil {
		return false, 0
	}
	if n, _ := result.RowsAffected(); n == 0 {
		return false, 0
	}
	err = tx.QueryRowContext(ctx,
		"UPDATE tokens SET token = token + 1 WHERE name = 'job' RETURNING token").Scan(&token)
	return err == nil && tx.Commit() == nil, token
}

func (l *lease) unlock(ctx context.Context, owner string) error {
	_, err := l.exec(ctx, "DELETE FROM locks WHERE name = 'job' AND owner = ?", owner)
	return err
}

// OpenTransaction is held by a transaction that has locked a row, as SELECT … FOR UPDATE does, and
// released by its end. After a crash the database rolls back and releases it. It does so too when
// it loses the connection of a holder that still works.
func OpenTransaction() scenarios.Subject {
	s := subject("open-transaction", "broken: a transaction that is open while the lock is held",
		func(p *process) scenarios.Locker {
			return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
				var tx *sql.Tx
				err := until(ctx, func() bool {
					var err error
					tx, err = p.db.BeginTx(ctx, nil)
					return err == nil
				})
				return &scenarios.Hold{
					Unlock: func(context.Context) error { return tx.Commit() },
				}, err
			})
		})
	s.Claims = []history.Property{history.ClientMutualExclusion, history.Progress}
	return s
}
