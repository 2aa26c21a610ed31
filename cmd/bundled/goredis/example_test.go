package goredis_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim/simredis"
)

// A keyLock is an example of a user's lock: the process whose SET creates the key has the lock
// until the key expires.
type keyLock struct {
	client *redis.Client
	value  string // by which the lock knows its key
}

const expiry = time.Second

// unlock deletes the key unless it has expired and another process has set it.
var unlock = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then
	redis.call("DEL", KEYS[1])
end`)

func (l *keyLock) Lock(ctx context.Context) error {
	for {
		set, err := l.client.SetNX(ctx, "job", l.value, expiry).Result()
		if set || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(expiry / 4):
		}
	}
}

func (l *keyLock) Unlock(ctx context.Context) error {
	err := unlock.Run(ctx, l.client, []string{"job"}, l.value).Err()
	if err == redis.Nil {
		return nil
	}
	return err
}

func init() { logging.Disable() } // go-redis logs what faults do to connections.

// keyLockScenario describes the lock and its claims.
func keyLockScenario() scenarios.Scenario {
	return scenarios.Scenario{
		Clients: 2, Cycles: 1, Faults: faults.Of(faults.Any, 1),
		Subject: scenarios.Subject{
			Name: "key-lock", Service: simredis.Service{},
			Claims: history.ExpiringLock(),
			Open: func(p *scenarios.Process) (scenarios.Locker, error) {
				servers := p.Handle.(*simredis.Client)
				client := redis.NewClient(&redis.Options{
					Addr: simredis.Address(0), Dialer: servers.Dial,
					// Pauses of random length, and dials in the background, would make runs differ.
					MaxRetries: -1, DialerRetries: 1, PoolSize: 1000, MaxConcurrentDials: 100,
					Protocol: 2, DisableIdentity: true,
				})
				servers.CloseAtEnd(client)
				lock := &keyLock{client, p.Name()}
				return scenarios.Mutex(lock.Lock, lock.Unlock), nil
			},
		},
	}
}

func TestKeyLock(t *testing.T) { interlock.Check(t, keyLockScenario()) }

func FuzzKeyLock(f *testing.F) { interlock.Fuzz(f, keyLockScenario()) }
