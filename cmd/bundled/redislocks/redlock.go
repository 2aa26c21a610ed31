package redislocks

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	pool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/interlock-sim/interlock/cmd/bundled/goredis"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// Redlock is RedLock over three servers, as CyC2018's notes describe it in section "Redis 的 RedLock
// 算法", by go-redsync/redsync v4. The holder stops at Mutex.Until. Its pauses between attempts and
// its values are not random, so that runs repeat.
func Redlock() scenarios.Subject {
	return redlock("redlock", "broken: RedLock of go-redsync/redsync v4 over three servers", 3,
		variant{})
}

// Redlock5 is [Redlock] over five servers.
func Redlock5() scenarios.Subject {
	return redlock("redlock-5", "broken: RedLock of go-redsync/redsync v4 over five servers", 5,
		variant{})
}

// RedlockExtend is [Redlock] with a holder that extends the lock by Mutex.ExtendContext, and stops
// when that fails or comes too late.
func RedlockExtend() scenarios.Subject {
	return redlock("redlock-extend", "broken: RedLock of redsync, and a holder that extends it", 3,
		variant{extend: true})
}

// RedlockSetOnExtend is [RedlockExtend] with redsync's option WithSetNXOnExtend: the extension sets
// keys that do not exist, for "if your redises restart often". It cannot know whether another
// process has had the lock meanwhile.
func RedlockSetOnExtend() scenarios.Subject {
	return redlock("redlock-set-on-extend", "broken: RedLock of redsync, extended with "+
		"WithSetNXOnExtend", 3,
		variant{extend: true, options: []redsync.Option{redsync.WithSetNXOnExtend()}})
}

// RedlockFenced is [Redlock] with a fencing token that the resource checks. RedLock has no number
// that rises with each grant. Here a holder reads a counter on all servers and raises it above the
// highest value on a majority, as in the two phases of Paxos and of ABD registers; the highest of
// one INCR on each server would not rise from one majority to the next. Two holders never get the
// same token, and one that starts later gets a higher one. Nothing repairs counters that servers
// have lost.
//
// Source: H. Attiya, A. Bar-Noy and D. Dolev, Sharing memory robustly in message-passing systems,
// JACM 1995.
func RedlockFenced() scenarios.Subject {
	return fenced(redlock("redlock-fenced", "RedLock of redsync with a fencing token from a "+
		"counter on a majority: no late write while servers keep their data", 3,
		variant{token: true}))
}

// A variant says how a lock differs from [Redlock].
type variant struct {
	token, extend bool
	options       []redsync.Option
}

func redlock(name, summary string, servers int, v variant) scenarios.Subject {
	s := subject(name, summary, servers, func(p *process) scenarios.Locker {
		l := &majorityLock{process: p, variant: v}
		pools := make([]redsyncredis.Pool, p.servers.Servers())
		for i := range pools {
			l.redis = append(l.redis, goredis.Open(p.servers, i))
			pools[i] = pool.NewPool(l.redis[i])
		}
		options := append([]redsync.Option{
			redsync.WithExpiry(expiry), redsync.WithRetryDelay(retryDelay),
			redsync.WithGenValueFunc(func() (string, error) { return p.value(), nil }),
		}, v.options...)
		l.mutex = redsync.New(pools...).NewMutex(lockKey, options...)
		return l
	})
	s.Claims = append(s.Claims, history.Validity)
	if v.extend {
		s.Claims = append(s.Claims, history.Extension)
	}
	// redsync ends the validity time sooner by a drift factor of 0.01.
	s.Severity.Drift = 1
	return s
}

// A majorityLock is the lock of [Redlock] and its variants.
type majorityLock struct {
	*process
	variant
	mutex *redsync.Mutex
	redis []*redis.Client // by server
}

// Lock waits until it has set the key on a majority.
func (l *majorityLock) Lock(ctx context.Context) (*scenarios.Hold, error) {
	hold := &scenarios.Hold{Unlock: l.unlock}
	err := until(ctx, func() bool {
		if l.mutex.LockContext(ctx) != nil {
			return false
		}
		if !l.token {
			return true
		}
		var ok bool
		hold.Token, ok = l.nextToken(ctx)
		if ok && time.Now().Before(l.mutex.Until()) {
			return true
		}
		l.mutex.UnlockContext(ctx) // The keys expire where it fails.
		return false
	})
	if err != nil {
		return nil, err
	}
	hold.Until = l.mutex.Until()
	valid := newValidity(hold.Until)
	hold.Done = valid.done
	if l.extend {
		hold.Extend = func(ctx context.Context) (time.Time, error) {
			if ok, _ := l.mutex.ExtendContext(ctx); !ok {
				return time.Time{}, errors.New("redsync did not extend a majority of the keys")
			}
			return l.mutex.Until(), valid.extend(l.mutex.Until())
		}
	}
	return hold, nil
}

func (l *majorityLock) unlock(ctx context.Context) error {
	if ok, _ := l.mutex.UnlockContext(ctx); !ok {
		// The error of redsync depends on which server's failure it learns first.
		return errors.New("redsync did not unlock a majority of the servers")
	}
	return nil
}

// raise sets a number unless it is as high already, and reports whether it has set it.
var raise = redis.NewScript(
	`if tonumber(redis.call("GET", KEYS[1]) or 0) >= tonumber(ARGV[1]) then return 0 end ` +
		`redis.call("SET", KEYS[1], ARGV[1]) return 1`)

// nextToken returns a token that is higher than all that were returned before. It fails if another
// process takes the same number, or if a majority does not answer.
func (l *majorityLock) nextToken(ctx context.Context) (token int64, ok bool) {
	read := 0
	for _, server := range l.redis {
		switch n, err := server.Get(ctx, tokenKey).Int64(); {
		case errors.Is(err, redis.Nil):
			read++
		case err == nil:
			token = max(token, n)
			read++
		}
	}
	token++
	raised := 0
	for _, server := range l.redis {
		set, err := raise.Run(ctx, server, []string{tokenKey}, token).Bool()
		if err == nil && set {
			raised++
		}
	}
	quorum := len(l.redis)/2 + 1
	return token, read >= quorum && raised >= quorum
}
