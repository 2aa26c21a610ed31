package bundled_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-sim/interlock/cmd/bundled/goredis"
	"github.com/interlock-sim/interlock/internal/testkit/everylock"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim/simredis"
	"github.com/interlock-sim/interlock/sim/simsql"
)

var timeTraps = []everylock.TimeTrap{
	// The timers of a holder whose key has expired only set a variable.
	{
		Name: "timers of a holder without a key", Service: simredis.Service{}, Clients: 1,
		Lock: onRedis(func(ctx context.Context, c *redis.Client, rare func(bool)) *scenarios.Hold {
			c.SetNX(ctx, "lock", "mine", 2*time.Second)
			late := 0
			time.AfterFunc(4*time.Second, func() { late = 1 })
			time.AfterFunc(7*time.Second, func() { late = 2 })
			return &scenarios.Hold{Unlock: func(context.Context) error {
				rare(late == 1)
				return nil
			}}
		}),
	},

	// A timer fires while a request is in flight.
	{
		Name: "timers during a request", Service: simredis.Service{}, Clients: 1,
		Lock: onRedis(func(ctx context.Context, c *redis.Client, rare func(bool)) *scenarios.Hold {
			fired := 0
			time.AfterFunc(300*time.Millisecond, func() { fired++ })
			time.AfterFunc(600*time.Millisecond, func() { fired++ })
			c.SetNX(ctx, "lock", "mine", 10*time.Second)
			rare(fired == 1)
			return &scenarios.Hold{Unlock: locktest.Free}
		}),
	},

	// Of two keys, only the first has expired, or each of them, before one request is served.
	{
		Name: "the first of two keys", Service: simredis.Service{}, Clients: 1,
		Lock: onRedis(func(ctx context.Context, c *redis.Client, rare func(bool)) *scenarios.Hold {
			rare(keysLeft(ctx, c, 3*time.Second, 8*time.Second) == 1)
			return &scenarios.Hold{Unlock: locktest.Free}
		}),
	},
	{
		Name: "both of two keys", Service: simredis.Service{}, Clients: 1,
		Lock: onRedis(func(ctx context.Context, c *redis.Client, rare func(bool)) *scenarios.Hold {
			rare(keysLeft(ctx, c, 3*time.Second, 8*time.Second) == 0)
			return &scenarios.Hold{Unlock: locktest.Free}
		}),
	},
	{
		Name: "two keys within a second", Service: simredis.Service{}, Clients: 1,
		Lock: onRedis(func(ctx context.Context, c *redis.Client, rare func(bool)) *scenarios.Hold {
			rare(keysLeft(ctx, c, 3200*time.Millisecond, 3700*time.Millisecond) == 1)
			return &scenarios.Hold{Unlock: locktest.Free}
		}),
	},

	// Of two rows, only the first has expired.
	{
		Name: "the first of two rows", Service: rows, Clients: 1,
		Lock: onRows("expires > unixepoch('subsec')"),
	},
	{
		Name: "the first of two rows, strictly", Service: rows, Clients: 1,
		Lock: onRows("expires >= unixepoch()"),
	},
}

func onRedis(lock func(ctx context.Context, c *redis.Client, rare func(bool)) *scenarios.Hold,
) func(context.Context, *scenarios.Process, func(bool)) (*scenarios.Hold, error) {
	return func(ctx context.Context, p *scenarios.Process, rare func(bool),
	) (*scenarios.Hold, error) {
		return lock(ctx, goredis.Open(p.Handle.(*simredis.Client), 0), rare), nil
	}
}

// keysLeft sets two keys, and returns how many of them one command finds.
func keysLeft(ctx context.Context, c *redis.Client, first, second time.Duration) int64 {
	c.Set(ctx, "b", "1", second)
	c.Set(ctx, "a", "1", first)
	left, err := c.Exists(ctx, "a", "b").Result()
	if err != nil {
		return -1
	}
	return left
}

var rows = simsql.Service{Schema: "CREATE TABLE locks (name TEXT PRIMARY KEY, expires REAL)"}

// onRows inserts rows that expire after 3 s and 8 s, and then finds one of them.
func onRows(lives string,
) func(context.Context, *scenarios.Process, func(bool)) (*scenarios.Hold, error) {
	return func(ctx context.Context, p *scenarios.Process, rare func(bool),
	) (*scenarios.Hold, error) {
		db, left := p.Handle.(*simsql.Client).DB(), 0
		db.ExecContext(ctx, "INSERT INTO locks VALUES ('b', unixepoch('subsec') + 8)")
		db.ExecContext(ctx, "INSERT INTO locks VALUES ('a', unixepoch('subsec') + 3)")
		err := db.QueryRowContext(ctx, "SELECT count(*) FROM locks WHERE "+lives).Scan(&left)
		rare(err == nil && left == 1)
		return &scenarios.Hold{Unlock: locktest.Free}, nil
	}
}

// Time stops wherever a timer of a process fires or data expire.
func TestTimeStopsWhereItMatters(t *testing.T) { everylock.TimeTraps(t, timeTraps) }
