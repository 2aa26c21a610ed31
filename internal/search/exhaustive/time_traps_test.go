package exhaustive_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/sim/simredis"
	"github.com/interlock-sim/interlock/sim/simsql"
)

// A timeTrap is a small lock that panics if a schedule passes a window between two instants, over
// which the search once let time jump. Without the defect, it does all the same and does not panic.
type timeTrap struct {
	name    string
	service sim.Service // ZooKeeper if nil
	clients int
	plan    string
	claim   history.Property // mutual exclusion of clients if ""
	lock    func(ctx context.Context, p *scenarios.Process, rare func(bool)) (*scenarios.Hold, error)
}

var timeTraps = []timeTrap{
	// Two timers only change what a process waits for, while another one is in its critical section.
	{name: "what a process waits for", clients: 3, plan: "crash:c3=1", lock: waitsTwice},

	// Timers only set a variable, several in the second of one tick.
	{
		name: "timers within a second", clients: 2, plan: "crash:c2=1",
		lock: func(_ context.Context, p *scenarios.Process, rare func(bool)) (*scenarios.Hold, error) {
			if p.Number == 2 {
				p.Client.Exists(p.Directory)
				return nil, errTaken
			}
			fired := 0
			time.AfterFunc(1200*time.Millisecond, func() { fired++ })
			time.AfterFunc(1700*time.Millisecond, func() { fired++ })
			return &scenarios.Hold{Unlock: func(context.Context) error {
				rare(fired == 1)
				return nil
			}}, nil
		},
	},

	// The deadlines of contexts pass.
	{
		name: "deadlines", clients: 2, plan: "crash:c2=1",
		lock: func(ctx context.Context, p *scenarios.Process, rare func(bool)) (*scenarios.Hold, error) {
			if p.Number == 2 {
				p.Client.Exists(p.Directory)
				return nil, errTaken
			}
			short, endShort := context.WithTimeout(ctx, time.Second)
			long, endLong := context.WithTimeout(ctx, 2*time.Second)
			return &scenarios.Hold{Unlock: func(context.Context) error {
				rare(short.Err() != nil && long.Err() == nil)
				endShort()
				endLong()
				return nil
			}}, nil
		},
	},

	// A call with a time limit returns, and the next one begins.
	{
		name: "timed returns", clients: 3, plan: "crash:c3=1", claim: history.Promptness,
		lock: func(ctx context.Context, p *scenarios.Process, rare func(bool)) (*scenarios.Hold, error) {
			switch p.Number {
			case 2:
				_, err := p.Client.Create(p.Directory+"/x", nil, zk.FlagEphemeral,
					zk.WorldACL(zk.PermAll))
				return &scenarios.Hold{Unlock: func(context.Context) error {
					return p.Client.Delete(p.Directory+"/x", -1)
				}}, err
			case 3:
				p.Client.Exists(p.Directory)
				return nil, errTaken
			}
			there, _, events, err := p.Client.ExistsW(p.Directory + "/x")
			if err != nil || !there {
				return nil, errTaken
			}
			for attempt := 1; attempt <= 2; attempt++ {
				err = scenarios.Timed(ctx, time.Second, func() error {
					select {
					case <-events:
						return nil
					case <-time.After(time.Second):
						return errTaken
					}
				})
				rare(err == nil && attempt == 2)
				if err == nil {
					break
				}
			}
			return nil, errTaken
		},
	},

	// A process counts how often its client has tried in vain to connect.
	{
		name: "failed attempts to connect", clients: 1, plan: "cut:c1=1",
		lock: func(_ context.Context, p *scenarios.Process, rare func(bool)) (*scenarios.Hold, error) {
			failed, events := 0, p.Client.Events()
			go func() {
				for e := range events {
					if e.State == zk.StateConnecting {
						failed++
					}
				}
			}()
			_, _, err := p.Client.Exists(p.Directory)
			return &scenarios.Hold{Unlock: func(context.Context) error {
				rare(failed == 3)
				return nil
			}}, err
		},
	},

	// The timers of a holder whose key has expired only set a variable.
	{
		name: "timers of a holder without a key", service: simredis.Service{}, clients: 1,
		lock: onRedis(func(ctx context.Context, c *redis.Client, rare func(bool)) *scenarios.Hold {
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
		name: "timers during a request", service: simredis.Service{}, clients: 1,
		lock: onRedis(func(ctx context.Context, c *redis.Client, rare func(bool)) *scenarios.Hold {
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
		name: "the first of two keys", service: simredis.Service{}, clients: 1,
		lock: onRedis(func(ctx context.Context, c *redis.Client, rare func(bool)) *scenarios.Hold {
			rare(keysLeft(ctx, c, 3*time.Second, 8*time.Second) == 1)
			return &scenarios.Hold{Unlock: locktest.Free}
		}),
	},
	{
		name: "both of two keys", service: simredis.Service{}, clients: 1,
		lock: onRedis(func(ctx context.Context, c *redis.Client, rare func(bool)) *scenarios.Hold {
			rare(keysLeft(ctx, c, 3*time.Second, 8*time.Second) == 0)
			return &scenarios.Hold{Unlock: locktest.Free}
		}),
	},
	{
		name: "two keys within a second", service: simredis.Service{}, clients: 1,
		lock: onRedis(func(ctx context.Context, c *redis.Client, rare func(bool)) *scenarios.Hold {
			rare(keysLeft(ctx, c, 3200*time.Millisecond, 3700*time.Millisecond) == 1)
			return &scenarios.Hold{Unlock: locktest.Free}
		}),
	},

	// Of two rows, only the first has expired.
	{
		name: "the first of two rows", service: rows, clients: 1,
		lock: onRows("expires > unixepoch('subsec')"),
	},
	{
		name: "the first of two rows, strictly", service: rows, clients: 1,
		lock: onRows("expires >= unixepoch()"),
	},
}

// waitsTwice waits for the release of another process, first for one second and then for two.
func waitsTwice(_ context.Context, p *scenarios.Process, rare func(bool),
) (*scenarios.Hold, error) {
	node := p.Directory + "/x"
	switch p.Number {
	case 2:
		_, err := p.Client.Create(node, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		return &scenarios.Hold{Unlock: func(context.Context) error {
			return p.Client.Delete(node, -1)
		}}, err
	case 3:
		p.Client.Exists(node)
		return nil, errTaken
	}
	there, _, events, err := p.Client.ExistsW(node)
	if err != nil || !there {
		return nil, errTaken
	}
	select {
	case <-events:
		return nil, errTaken
	case <-time.After(1 * time.Second):
	}
	select {
	case <-events:
		rare(true)
	case <-time.After(2 * time.Second):
	}
	return nil, errTaken
}

func onRedis(lock func(ctx context.Context, c *redis.Client, rare func(bool)) *scenarios.Hold,
) func(context.Context, *scenarios.Process, func(bool)) (*scenarios.Hold, error) {
	return func(ctx context.Context, p *scenarios.Process, rare func(bool),
	) (*scenarios.Hold, error) {
		return lock(ctx, p.Handle.(*simredis.Client).Redis(0), rare), nil
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

func (tr *timeTrap) subject(defective bool) scenarios.Subject {
	claim := history.ClientMutualExclusion
	if tr.claim != "" {
		claim = tr.claim
	}
	rare := func(is bool) {
		if is && defective {
			panic("the rare schedule")
		}
	}
	return scenarios.Subject{
		Name: tr.name, Service: tr.service, Claims: []history.Property{claim},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
				return tr.lock(ctx, p, rare)
			}), nil
		},
	}
}

// Time stops wherever a timer of a process fires or data expire, in searches with cached reactions
// and with live processes.
func TestTimeStopsWhereItMatters(t *testing.T) {
	for i := range timeTraps {
		tr := &timeTraps[i]
		t.Run(tr.name, func(t *testing.T) {
			plan := tr.plan
			if plan == "" {
				plan = "none"
			}
			search := func(defective, live bool) *exhaustive.Search {
				e := byDefault(locktest.Planned(t, tr.subject(defective), tr.clients, 1, plan))
				e.NoReplayCache = live
				return e
			}
			for _, live := range []bool{false, true} {
				r := search(true, live).Run(t.Context(), t)
				if r.Failure == nil || r.Failure.Violations[0].Property != history.NoPanic {
					t.Errorf("live %v: no panic in %d schedules, complete %v", live, r.Schedules,
						r.Complete)
				}
			}
			r := search(false, false).Run(t.Context(), t)
			if !r.Complete || r.Failure != nil || r.Nondeterministic != nil {
				t.Errorf("without the defect: complete %v, failure %v, %v", r.Complete, r.Failure,
					r.Nondeterministic)
			}
		})
	}
}
