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

// service is the database with the table of the locks.
var service = simsql.Service{
	Schema: "CREATE TABLE locks (name TEXT PRIMARY KEY, owner TEXT, expires REAL, token INTEGER)",
}

// subject returns a lock with the given summary. Each claims what its users rely on.
func subject(name, summary string, open func(*process) scenarios.Locker) scenarios.Subject {
	return scenarios.Subject{
		Name: name, Summary: summary, Service: service,
		Claims: []history.Property{
			history.ClientMutualExclusion, history.Progress, history.OwnRelease,
			history.Quiescence,
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

// exec executes a statement.
func (p *process) exec(ctx context.Context, query string, args ...any) error {
	_, err := p.db.ExecContext(ctx, query, args...)
	return err
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
					return p.exec(ctx, "INSERT INTO locks (name) VALUES ('job')") == nil
				})
			}, func(ctx context.Context) error {
				return p.exec(ctx, "DELETE FROM locks WHERE name = 'job'")
			})
		})
}

// acquire inserts the row, or takes it over if it has expired by the database's clock, and returns
// the next token of the row.
const acquire = `INSERT INTO locks VALUES ('job', ?, unixepoch('subsec') + ?, 1)
	ON CONFLICT DO UPDATE SET owner = excluded.owner, expires = excluded.expires, token = token + 1
	WHERE expires <= unixepoch('subsec') RETURNING token`

// acquire reports whether the process has written the row, and the token.
func (p *process) acquire(ctx context.Context, owner string) (written bool, token int64) {
	err := p.db.QueryRowContext(ctx, acquire, owner, expiry.Seconds()).Scan(&token)
	return err == nil, token
}

// UniqueIndexExpire is [UniqueIndex] with an expiry: others take over a row that has expired by the
// database's clock. A holder that works for longer does not notice, and deletes the row of the next
// one.
func UniqueIndexExpire() scenarios.Subject {
	return subject("unique-index-expire", "broken: a row with a unique key and an expiry",
		func(p *process) scenarios.Locker {
			return scenarios.Mutex(func(ctx context.Context) error {
				return until(ctx, func() bool {
					written, _ := p.acquire(ctx, p.value())
					return written
				})
			}, func(ctx context.Context) error {
				return p.exec(ctx, "DELETE FROM locks WHERE name = 'job'")
			})
		})
}

// UniqueIndexOwner is [UniqueIndexExpire] with an owner, which the release compares. The holder
// stops when the expiry has passed, by its own clock, since it asked for the lock.
func UniqueIndexOwner() scenarios.Subject {
	return subject("unique-index-owner", "broken: a row with an expiry and an owner, and a holder "+
		"that stops in time",
		func(p *process) scenarios.Locker {
			return &lease{p, "DELETE FROM locks WHERE name = 'job' AND owner = ?"}
		})
}

// UniqueIndexFenced is [UniqueIndexOwner] with a fencing token that the resource checks, as in M.
// Kleppmann, How to do distributed locking, 2016. The row stays, because it counts the tokens: the
// release only lets it expire. The lock does not claim that one process at a time believes to hold
// it, but that the resource accepts no write of an older holder after one of a newer.
func UniqueIndexFenced() scenarios.Subject {
	s := subject("unique-index-fenced", "a row with an expiry, an owner and a fencing token: no "+
		"late write",
		func(p *process) scenarios.Locker {
			return &lease{p, "UPDATE locks SET expires = 0 WHERE name = 'job' AND owner = ?"}
		})
	s.Claims = []history.Property{
		history.Fencing, history.NoLostUpdate, history.Progress, history.Quiescence,
	}
	s.Guard = scenarios.TokenChecked
	return s
}

// A lease is a lock whose row has an expiry and an owner.
type lease struct {
	*process
	release string // the statement, with the owner as its argument
}

// Lock waits until it has written the row.
func (l *lease) Lock(ctx context.Context) (*scenarios.Hold, error) {
	owner, hold := l.value(), new(scenarios.Hold)
	err := until(ctx, func() bool {
		asked := time.Now()
		written, token := l.acquire(ctx, owner)
		if !written || time.Since(asked) >= expiry {
			l.exec(ctx, l.release, owner) // A lost reply may hide that the row was written.
			return false
		}
		hold.Token, hold.Done = token, l.valid(asked.Add(expiry))
		return true
	})
	hold.Unlock = func(ctx context.Context) error { return l.exec(ctx, l.release, owner) }
	return hold, err
}

// valid returns a channel that is closed when the validity of a lock ends by the process's clock.
func (l *lease) valid(until time.Time) <-chan struct{} {
	ctx, cancel := context.WithDeadline(l.Context(), until)
	context.AfterFunc(ctx, cancel)
	return ctx.Done()
}

// OpenTransaction is held by a transaction that has written a row and is still open, as after
// SELECT … FOR UPDATE: the database lets no other transaction write the row. The end of the
// transaction releases the lock. After a crash the database rolls back and releases it. It does so
// too when it loses the connection of a holder that still works.
func OpenTransaction() scenarios.Subject {
	s := subject("open-transaction", "broken: a transaction that has written a row is open while "+
		"the lock is held",
		func(p *process) scenarios.Locker {
			return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
				var tx *sql.Tx
				err := until(ctx, func() bool {
					var err error
					tx, err = p.lockRow(ctx)
					return err == nil
				})
				return &scenarios.Hold{
					Unlock: func(context.Context) error { return tx.Commit() },
				}, err
			})
		})
	s.Claims = []history.Property{
		history.ClientMutualExclusion, history.Progress, history.Quiescence,
	}
	return s
}

// lockRow begins a transaction that has written the row, which excludes others until it ends.
func (p *process) lockRow(ctx context.Context) (*sql.Tx, error) {
	// If the context of a transaction ends, package sql rolls it back in a goroutine of its own.
	tx, err := p.db.BeginTx(p.Context(), nil)
	if err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO locks (name) VALUES ('job') "+
		"ON CONFLICT DO UPDATE SET name = name")
	if err != nil {
		tx.Rollback()
		return nil, err
	}
	return tx, nil
}
