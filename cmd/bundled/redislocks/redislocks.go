// Package redislocks provides the bundled locks on Redis: those of published descriptions, as they
// are described, and what repairs them. All use go-redis, unmodified, against package simredis.
package redislocks

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-sim/interlock/cmd/bundled/goredis"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim/simredis"
)

// All returns the locks on Redis.
func All() []scenarios.Subject {
	return []scenarios.Subject{
		SetNX(), SetNXExpire(), SetNXLease(), SetNXFenced(), SetNXRenew(), Redlock(), Redlock5(),
		RedlockFenced(), RedlockExtend(), RedlockSetOnExtend(),
	}
}

const (
	lockKey  = "lock"
	tokenKey = "lock:token"
	expiry   = 500 * time.Millisecond
	// EXPIRE counts in seconds only.
	wholeExpiry = time.Second
	retryDelay  = 150 * time.Millisecond // between two attempts at a lock that is taken
)

// subject returns a lock with the given summary. Each claims what its users rely on.
func subject(name, summary string, servers int, open func(*process) scenarios.Locker,
) scenarios.Subject {
	return scenarios.Subject{
		Name: name, Summary: summary, Service: simredis.Service{}, Servers: servers,
		Claims: []history.Property{
			history.ClientMutualExclusion, history.Progress, history.OwnRelease,
			history.Quiescence,
		},
		// The descriptions state no bound on pauses and clocks.
		Severity: faults.Severity{Pause: faults.PauseMax, Drift: faults.DriftMax},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			client, ok := p.Handle.(*simredis.Client)
			if !ok {
				return nil, errors.New("the service of the lock is not simredis")
			}
			return open(&process{Process: p, servers: client}), nil
		},
	}
}

// A process is a contender with its access to the servers.
type process struct {
	*scenarios.Process
	servers *simredis.Client
}

// value returns a value that no other attempt has.
func (p *process) value() string {
	var bytes [8]byte
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

// A validity is the time until which a process relies on its lock, by its own clock.
type validity struct {
	mu    sync.Mutex
	until time.Time
	timer *time.Timer
	done  chan struct{} // closed at the end
}

func newValidity(until time.Time) *validity {
	v := &validity{until: until, done: make(chan struct{})}
	v.timer = time.AfterFunc(time.Until(until), v.end)
	return v
}

func (v *validity) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !time.Now().Before(v.until) {
		close(v.done)
	}
}

// errTooLate is the error of an extension that succeeds after the validity time.
var errTooLate = errors.New("the validity time was over before the lock was extended")

// extend sets a later end, unless the validity is over.
func (v *validity) extend(until time.Time) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !time.Now().Before(v.until) {
		return errTooLate
	}
	v.until = until
	v.timer.Reset(time.Until(until))
	return nil
}

// SetNX is the lock of CyC2018's notes on distributed locks, section "Redis 的 SETNX 指令": the key
// exists while the lock is held. It has no expiry, so it outlives a holder that crashes.
func SetNX() scenarios.Subject {
	return subject("setnx", "broken: Redis SETNX without an expiry, and DEL", 1,
		func(p *process) scenarios.Locker {
			c := goredis.Open(p.servers, 0)
			return scenarios.Mutex(func(ctx context.Context) error {
				return until(ctx, func() bool { return c.SetNX(ctx, lockKey, 1, 0).Val() })
			}, func(ctx context.Context) error { return c.Del(ctx, lockKey).Err() })
		})
}

// SetNXExpire is the same with what the notes add against that: EXPIRE sets an expiry. A holder
// that works for longer than the expiry does not notice, and deletes the key of the next one.
func SetNXExpire() scenarios.Subject {
	return subject("setnx-expire", "broken: Redis SETNX, then EXPIRE, and DEL", 1,
		func(p *process) scenarios.Locker {
			c := goredis.Open(p.servers, 0)
			return scenarios.Mutex(func(ctx context.Context) error {
				err := until(ctx, func() bool { return c.SetNX(ctx, lockKey, 1, 0).Val() })
				if err != nil {
					return err
				}
				return c.Expire(ctx, lockKey, wholeExpiry).Err()
			}, func(ctx context.Context) error { return c.Del(ctx, lockKey).Err() })
		})
}

// release deletes the key if it has the value; see the documentation of SET in Redis.
var release = redis.NewScript(
	`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

// SetNXLease is the lock of Redis's documentation of SET, section "Patterns": the key has an expiry
// from the start and a value of its own, which the release compares. The holder stops when the
// expiry has passed since it asked for the lock.
func SetNXLease() scenarios.Subject {
	s := subject("setnx-lease", "broken: Redis SET NX PX, compare and DEL, and a holder that "+
		"stops in time", 1,
		func(p *process) scenarios.Locker {
			return &lease{process: p, redis: goredis.Open(p.servers, 0)}
		})
	s.Claims = append(s.Claims, history.Validity)
	return s
}

// SetNXRenew is [SetNXLease] with a holder that renews the key by PEXPIRE, and stops when the
// expiry has passed since it asked for the last renewal. PEXPIRE does not compare the value, so it
// renews the key of the next holder as well, and reports success.
//
// Source: Redis's documentation of PEXPIRE; redislock, redsync and Redisson compare the value in a
// script instead.
func SetNXRenew() scenarios.Subject {
	s := subject("setnx-renew", "broken: Redis SET NX PX, and PEXPIRE by a holder that does not "+
		"compare the value", 1,
		func(p *process) scenarios.Locker {
			return &lease{process: p, redis: goredis.Open(p.servers, 0), renew: true}
		})
	s.Claims = append(s.Claims, history.Validity, history.Extension)
	return s
}

// A lease is the lock of [SetNXLease], with or without a token and renewal.
type lease struct {
	*process
	redis *redis.Client
	token bool
	renew bool
}

// Lock waits until it has set the key.
func (l *lease) Lock(ctx context.Context) (*scenarios.Hold, error) {
	value, hold := l.value(), new(scenarios.Hold)
	err := until(ctx, func() bool {
		asked := time.Now()
		set, token := l.try(ctx, value)
		if !set || time.Since(asked) >= expiry {
			l.unlock(ctx, value) // A lost reply may hide that the key was set.
			return false
		}
		hold.Token, hold.Until = token, asked.Add(expiry)
		return true
	})
	if err != nil {
		return nil, err
	}
	valid := newValidity(hold.Until)
	hold.Done = valid.done
	if l.renew {
		hold.Extend = func(ctx context.Context) (time.Time, error) { return l.extend(ctx, valid) }
	}
	hold.Unlock = func(ctx context.Context) error { return l.unlock(ctx, value) }
	return hold, nil
}

// try sets the key if it does not exist.
func (l *lease) try(ctx context.Context, value string) (set bool, token int64) {
	if !l.token {
		return l.redis.SetNX(ctx, lockKey, value, expiry).Val(), 0
	}
	token, err := acquire.Run(ctx, l.redis, []string{lockKey, tokenKey}, value,
		expiry.Milliseconds()).Int64()
	return err == nil && token > 0, token
}

// errGone is the error of an extension that finds no key.
var errGone = errors.New("the key does not exist")

// extend sets the expiry of the key, whichever client set the key, and the end of the validity.
func (l *lease) extend(ctx context.Context, valid *validity) (time.Time, error) {
	until := time.Now().Add(expiry)
	switch ok, err := l.redis.PExpire(ctx, lockKey, expiry).Result(); {
	case err != nil:
		return time.Time{}, err
	case !ok:
		return time.Time{}, errGone
	}
	return until, valid.extend(until)
}

func (l *lease) unlock(ctx context.Context, value string) error {
	return release.Run(ctx, l.redis, []string{lockKey}, value).Err()
}

// acquire sets the key if it does not exist, and returns the next token.
var acquire = redis.NewScript(
	`if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then ` +
		`return redis.call("INCR", KEYS[2]) end return 0`)

// SetNXFenced is [SetNXLease] with a fencing token that the resource checks, as in M. Kleppmann,
// How to do distributed locking, 2016. Nothing repairs a counter that a server has lost.
func SetNXFenced() scenarios.Subject {
	s := subject("setnx-fenced", "Redis SET NX PX with a fencing token from INCR: no late write "+
		"while the server keeps its data", 1,
		func(p *process) scenarios.Locker {
			return &lease{process: p, redis: goredis.Open(p.servers, 0), token: true}
		})
	return fenced(s)
}

// fenced makes the resource check the tokens of a lock. The lock does not claim that one process at
// a time believes to hold it, but that the resource accepts no write of an older holder after one
// of a newer.
func fenced(s scenarios.Subject) scenarios.Subject {
	s.Claims = []history.Property{
		history.Fencing, history.NoLostUpdate, history.Progress, history.OwnRelease,
		history.Quiescence,
	}
	s.Guard = scenarios.TokenChecked
	return s
}
