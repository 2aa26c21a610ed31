// Package goredis opens clients of go-redis v9 on simulated Redis servers. A module with another
// version of go-redis has a function of its own instead, as docs/redis.md shows.
package goredis

import (
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/interlock-sim/interlock/sim/simredis"
)

// Options returns the options of a client of a server. They differ from go-redis's defaults only in
// what would make runs slow or nondeterministic: commands are not retried after a random pause,
// buffers are small, pipelines have no pool of their own, and a connection opens with a single
// command.
func Options(c *simredis.Client, server int) *redis.Options {
	return &redis.Options{
		Addr: simredis.Address(server), Dialer: c.Dial, Protocol: 2, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, PoolSize: poolSize, PipelinePoolSize: -1,
		MaxConcurrentDials: maxDials,
		ReadBufferSize:     bufferSize, WriteBufferSize: bufferSize,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
}

const bufferSize = 1 << 10

// poolSize is how many attempts to dial may fail before go-redis dials in the background, once a
// second. Whether a command at such a moment succeeds would be a race.
const poolSize = 1000

// maxDials is how many attempts to dial go-redis makes at once. A crashed process dials for ever,
// and its timers go on: without a lower limit its attempts could fill the pool, and a command that
// waits for the pool uses a timer of an earlier run, which ends the program.
const maxDials = 100

// silence switches off the log of go-redis, which reports the faults of runs.
var silence = sync.OnceFunc(logging.Disable)

// Open returns a client of a server with [Options]. The run closes it.
func Open(c *simredis.Client, server int) *redis.Client {
	silence()
	client := redis.NewClient(Options(c, server))
	c.CloseAtEnd(client)
	return client
}
