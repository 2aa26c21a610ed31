// Package referee has the tests of the referee on all services; see package referee of
// internal/testkit.
package referee_test

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-sim/interlock/cmd/bundled/goredis"
	"github.com/interlock-sim/interlock/internal/testkit/referee"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim/simredis"
	"github.com/interlock-sim/interlock/sim/simsql"
)

func init() {
	referee.Backends[referee.Redis] = referee.Backend{
		Service: simredis.Service{},
		Open: func(p *scenarios.Process, _ func(time.Time)) referee.Store {
			return &keys{p.Name(), goredis.Open(p.Handle.(*simredis.Client), 0)}
		},
	}
	referee.Backends[referee.SQL] = referee.Backend{
		Service: simsql.Service{Schema: sqlSchema},
		Open: func(p *scenarios.Process, expireAt func(time.Time)) referee.Store {
			return &rows{p.Name(), p.Handle.(*simsql.Client).DB(), expireAt}
		},
	}
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// keys are the store of Redis.
type keys struct {
	owner string
	redis *redis.Client
}

func (k *keys) Path(name string) string { return name }

func (k *keys) Use(ctx context.Context, op *referee.Op, path string) (made string, ok bool) {
	if path == "" {
		path = k.owner
	}
	life := seconds(op.Seconds)
	switch op.Do {
	case referee.Create, referee.Keep:
		ok, _ = k.redis.SetNX(ctx, path, k.owner, life).Result()
		return path, ok
	case referee.Delete:
		n, _ := k.redis.Del(ctx, path).Result()
		return "", n > 0
	case referee.Set:
		err := k.redis.SetArgs(ctx, path, "1", redis.SetArgs{Mode: "XX", KeepTTL: true}).Err()
		return "", err == nil
	case referee.Get, referee.Own:
		value, _ := k.redis.Get(ctx, path).Result()
		return "", value == map[referee.Verb]string{referee.Get: "1", referee.Own: k.owner}[op.Do]
	case referee.Exists:
		n, _ := k.redis.Exists(ctx, path).Result()
		return "", n > 0
	case referee.Renew:
		ok, _ = k.redis.PExpire(ctx, path, life).Result()
		return "", ok
	}
	panic(fmt.Sprintf("referee: Redis does not %q", op.Do))
}

// rows are the store of a database.
type rows struct {
	owner    string
	db       *sql.DB
	expireAt func(time.Time)
}

const sqlSchema = "CREATE TABLE locks (name TEXT PRIMARY KEY, owner TEXT, expires REAL, data TEXT)"

func (r *rows) Path(name string) string { return name }

const rowLives = " WHERE name = ? AND expires > unixepoch('subsec')"

func (r *rows) Use(ctx context.Context, op *referee.Op, path string) (made string, ok bool) {
	if path == "" {
		path = r.owner
	}
	switch op.Do {
	case referee.Create, referee.Keep:
		return path, r.changes(ctx, "INSERT INTO locks VALUES (?1, ?2, ?3, '') ON CONFLICT (name) "+
			"DO UPDATE SET owner = ?2, expires = ?3, data = '' "+
			"WHERE locks.expires <= unixepoch('subsec')", path, r.owner, r.expiry(op))
	case referee.Delete:
		return "", r.changes(ctx, "DELETE FROM locks WHERE name = ?", path)
	case referee.Set:
		return "", r.changes(ctx, "UPDATE locks SET data = '1'"+rowLives, path)
	case referee.Renew:
		return "", r.changes(ctx, "UPDATE locks SET expires = ?2 WHERE name = ?1", path,
			r.expiry(op))
	case referee.Get:
		return "", r.has(ctx, "data = '1' AND name = ?", path)
	case referee.Own:
		return "", r.has(ctx, "owner = ?2 AND name = ?1 AND expires > unixepoch('subsec')", path,
			r.owner)
	case referee.Exists:
		return "", r.has(ctx, "name = ? AND expires > unixepoch('subsec')", path)
	}
	panic(fmt.Sprintf("referee: a database does not %q", op.Do))
}

// expiry returns when what an operation stores expires, by the clock of the process.
func (r *rows) expiry(op *referee.Op) float64 {
	if op.Do == referee.Keep {
		return 1e15 // It is no instant.
	}
	at := time.Now().Add(seconds(op.Seconds))
	r.expireAt(at)
	return float64(at.UnixMicro()) / 1e6
}

func (r *rows) changes(ctx context.Context, statement string, arguments ...any) bool {
	result, err := r.db.ExecContext(ctx, statement, arguments...)
	if err != nil {
		return false
	}
	n, err := result.RowsAffected()
	return err == nil && n > 0
}

func (r *rows) has(ctx context.Context, condition string, arguments ...any) bool {
	n := 0
	row := r.db.QueryRowContext(ctx, "SELECT count(*) FROM locks WHERE "+condition, arguments...)
	return row.Scan(&n) == nil && n > 0
}
