package bundled_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-sim/interlock/cmd/bundled/goredis"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim/simredis"
)

// leaseUntil returns a lock by a key that expires, with the given further step of Lock and Unlock.
func leaseUntil(more, unlock func(context.Context, *redis.Client, string) error) scenarios.Subject {
	lock := expiring(history.Progress, simredis.Service{},
		func(p *scenarios.Process) scenarios.Locker {
			c, value := goredis.Open(p.Handle.(*simredis.Client), 0), p.Name()
			return scenarios.Mutex(func(ctx context.Context) error {
				if err := retry(ctx, func() bool {
					return c.SetNX(ctx, "lock", value, 2*time.Second).Val()
				}); err != nil || more == nil {
					return err
				}
				return more(ctx, c, value)
			}, func(ctx context.Context) error { return unlock(ctx, c, value) })
		})
	lock.Claims = append(lock.Claims, history.Quiescence)
	return lock
}

// compareThen returns an unlock by a script that compares the value.
func compareThen(command string) func(context.Context, *redis.Client, string) error {
	script := redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call(` +
		command + `) end return 0`)
	return func(ctx context.Context, c *redis.Client, value string) error {
		return script.Run(ctx, c, []string{"lock"}, value).Err()
	}
}

// A lease whose Unlock succeeds but leaves the key to its expiry breaks progress, in random
// schedules and in an exhaustive search. A lease whose Unlock sets the expiry, or whose key others
// write too, breaks nothing.
func TestUnlockThatLeavesKey(t *testing.T) {
	type step = func(context.Context, *redis.Client, string) error
	remove := compareThen(`"DEL", KEYS[1]`)
	token := func(ctx context.Context, c *redis.Client, _ string) error {
		return c.Incr(ctx, "token").Err()
	}
	nothing := func(context.Context, *redis.Client, string) error { return nil }
	for name, test := range map[string]struct {
		lock, unlock step
		fails        bool
	}{
		"nothing":               {nil, nothing, true},
		"nothing, with a token": {token, nothing, true},
		"another value": {nil, func(ctx context.Context, c *redis.Client, v string) error {
			return remove(ctx, c, v+"x")
		}, true},
		"another key": {nil, func(ctx context.Context, c *redis.Client, _ string) error {
			return c.Del(ctx, "locks").Err()
		}, true},
		"deletes":               {nil, remove, false},
		"deletes, with a token": {token, remove, false},
		"holds it for a minimum, the same as before": {
			nil, compareThen(`"PEXPIRE", KEYS[1], "2000"`), false,
		},
		"rewrites it for a minimum": {
			nil, compareThen(`"SET", KEYS[1], ARGV[1], "PX", "2000"`), false,
		},
		"deletes in the background": {nil, func(ctx context.Context, c *redis.Client, v string) error {
			go remove(context.WithoutCancel(ctx), c, v)
			return nil
		}, false},
		"joins the key": {func(ctx context.Context, c *redis.Client, _ string) error {
			return c.HIncrBy(ctx, "users", "n", 1).Err()
		}, func(ctx context.Context, c *redis.Client, _ string) error {
			return c.HIncrBy(ctx, "users", "n", -1).Err()
		}, false},
	} {
		s, runner := locktest.Planned(t, leaseUntil(test.lock, test.unlock), 2, 1, "none"),
			engine.NewRunner(t)
		broken, schedules := -1, long.Count(100, 2000)
		for i := 0; i < schedules && broken < 0; i++ {
			if runner.Run(&s, strategy.NewRandom(1, i)).Fails(&s) {
				broken = i
			}
		}
		e := exhaustive.Search{Scenario: s, IdleTicks: 0, Schedules: long.Count(200, 0)}
		r := e.Run(context.Background(), t)
		if (broken >= 0) != test.fails || (r.Failure != nil) != test.fails {
			t.Errorf("%s: random schedule %d, failure %v in %d of all; want %v", name, broken,
				r.Failure, r.Schedules, test.fails)
		}
		if test.fails && r.Failure != nil && !strings.HasSuffix(r.Failure.Violations[0].Detail,
			`'s Unlock returned without an error, and its key "lock" was free only when it expired`) {
			t.Errorf("%s: %v", name, r.Failure)
		}
		t.Logf("%s: random schedule %d; %d of all, complete %v", name, broken, r.Schedules,
			r.Complete)
	}
}
