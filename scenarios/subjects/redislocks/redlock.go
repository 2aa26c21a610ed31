package redislocks

import (
	"context"
	"errors"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/interlock-sim/interlock/scenarios"
)

// Redlock is RedLock over three servers, as CyC2018's notes describe it in section "Redis 的 RedLock
// 算法", by go-redsync/redsync v4. The holder stops at Mutex.Until. Its pauses between attempts and
// its values are not random, so that runs repeat.
func Redlock() scenarios.Subject { return redlock("redlock", 3) }

// Redlock5 is [Redlock] over five servers.
func Redlock5() scenarios.Subject { return redlock("redlock-5", 5) }

func redlock(name string, servers int) scenarios.Subject {
	summary := "broken: RedLock of go-redsync/redsync v4 over three servers"
	if servers == 5 {
		summary = "broken: RedLock of go-redsync/redsync v4 over five servers"
	}
	return subject(name, summary, servers, func(p *process) scenarios.Locker {
		pools := make([]redsyncredis.Pool, p.servers.Servers())
		for i := range pools {
			pools[i] = goredis.NewPool(p.servers.Redis(i))
		}
		mutex := redsync.New(pools...).NewMutex(lockKey, redsync.WithExpiry(expiry),
			redsync.WithRetryDelay(retryDelay), redsync.WithGenValueFunc(func() (string, error) {
				return p.value(), nil
			}))
		return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
			err := until(ctx, func() bool { return mutex.LockContext(ctx) == nil })
			if err != nil {
				return nil, err
			}
			return &scenarios.Hold{
				Done: p.valid(mutex.Until()),
				Unlock: func(ctx context.Context) error {
					if ok, _ := mutex.UnlockContext(ctx); !ok {
						// The error of redsync depends on which server's failure it learns first.
						return errors.New("redsync did not unlock a majority of the servers")
					}
					return nil
				},
			}, nil
		})
	})
}
