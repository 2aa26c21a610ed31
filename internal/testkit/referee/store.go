package referee

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim/simredis"
	"github.com/interlock-sim/interlock/sim/simsql"
	"github.com/interlock-sim/interlock/simzk/client"
)

// A store is what the program of a process uses. A path is "" if the process has created nothing.
type store interface {
	path(name string) string
	// use runs an operation. It returns the path of what it has created, and whether it succeeded.
	use(ctx context.Context, op *Op, path string) (made string, ok bool)
}

func newStore(l *Lock, p *scenarios.Process) store {
	switch l.Service {
	case Redis:
		return &keys{p.Name(), p.Handle.(*simredis.Client).Redis(0)}
	case SQL:
		return &rows{p.Name(), p.Handle.(*simsql.Client).DB(), &l.clock}
	}
	return &nodes{p, p.Client, &l.clock}
}

// nodes are the store of ZooKeeper.
type nodes struct {
	*scenarios.Process
	client client.Client
	clock  *clock
}

func (n *nodes) path(name string) string { return n.Directory + "/" + name }

func (n *nodes) use(ctx context.Context, op *Op, path string) (made string, ok bool) {
	c := n.client
	switch op.Do {
	case Create, Keep:
		flags := int32(0)
		if op.Do == Create {
			flags = zk.FlagEphemeral
		}
		if path == "" {
			path = n.path(fmt.Sprintf("n%d", n.Number))
		}
		return n.create(path, flags)
	case Sequence:
		return n.create(n.path("s-"), zk.FlagEphemeral|zk.FlagSequence)
	case Sync:
		_, err := c.Sync(n.Directory)
		return "", err == nil
	case Alone:
		children, _, err := c.Children(n.Directory)
		return "", err == nil && len(children) < 2
	case Connect:
		return "", n.connect(ctx)
	}
	if path == "" {
		return "", false
	}
	switch op.Do {
	case Delete:
		return "", c.Delete(path, -1) == nil
	case Set:
		_, err := c.Set(path, []byte("1"), -1)
		return "", err == nil
	case Get:
		data, _, err := c.Get(path)
		return "", err == nil && string(data) == "1"
	case Own:
		data, _, err := c.Get(path)
		return "", err == nil && string(data) == n.Name()
	case Exists:
		there, _, err := c.Exists(path)
		return "", err == nil && there
	case Swap:
		_, err := c.Multi(&zk.DeleteRequest{Path: path, Version: -1}, &zk.CreateRequest{
			Path: path, Data: []byte(n.Name()), Flags: zk.FlagEphemeral, Acl: worldACL,
		})
		return "", err == nil
	case Await:
		return "", n.await(ctx, path)
	}
	panic(fmt.Sprintf("referee: ZooKeeper does not %q", op.Do))
}

var worldACL = zk.WorldACL(zk.PermAll)

func (n *nodes) create(path string, flags int32) (made string, ok bool) {
	made, err := n.client.Create(path, []byte(n.Name()), flags, worldACL)
	return made, err == nil
}

// created returns the creation zxid of a node, or 0.
func (n *nodes) created(path string) int64 {
	if path == "" {
		return 0
	}
	_, stat, err := n.client.Exists(path)
	if err != nil || stat == nil {
		return 0
	}
	return stat.Czxid
}

func (n *nodes) await(ctx context.Context, path string) bool {
	there, _, events, err := n.client.ExistsW(path)
	if err != nil || !there {
		return false
	}
	select {
	case <-events:
		return true
	case <-ctx.Done():
		n.clock.fire()
		return false
	}
}

// connect opens a further client and waits until that has a session.
func (n *nodes) connect(ctx context.Context) bool {
	next, err := n.Connect()
	if err != nil {
		return false
	}
	n.client = next
	for {
		select {
		case e, open := <-next.Events():
			if !open || e.State == zk.StateHasSession {
				return open
			}
		case <-ctx.Done():
			return false
		}
	}
}

// watchDeletion returns a channel that is closed when a watch on the node fires.
func (n *nodes) watchDeletion(path string) (<-chan struct{}, error) {
	there, _, events, err := n.client.ExistsW(path)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	if !there {
		close(done)
		return done, nil
	}
	go func() {
		select {
		case <-events:
			close(done)
		case <-n.Context().Done():
		}
	}()
	return done, nil
}

func (n *nodes) resource(path string) *scenarios.Resource {
	return &scenarios.Resource{
		Path: path,
		Read: func(context.Context) (int64, error) {
			_, stat, err := n.client.Get(path)
			if err != nil {
				return 0, err
			}
			return stat.Mzxid, nil
		},
		Write: func(context.Context) (int64, error) {
			stat, err := n.client.Set(path, []byte("1"), -1)
			if err != nil {
				return 0, err
			}
			return stat.Mzxid, nil
		},
	}
}

// keys are the store of Redis.
type keys struct {
	owner string
	redis *redis.Client
}

func (k *keys) path(name string) string { return name }

func (k *keys) use(ctx context.Context, op *Op, path string) (made string, ok bool) {
	if path == "" {
		path = k.owner
	}
	life := seconds(op.Seconds)
	switch op.Do {
	case Create, Keep:
		ok, _ = k.redis.SetNX(ctx, path, k.owner, life).Result()
		return path, ok
	case Delete:
		n, _ := k.redis.Del(ctx, path).Result()
		return "", n > 0
	case Set:
		err := k.redis.SetArgs(ctx, path, "1", redis.SetArgs{Mode: "XX", KeepTTL: true}).Err()
		return "", err == nil
	case Get, Own:
		value, _ := k.redis.Get(ctx, path).Result()
		return "", value == map[Verb]string{Get: "1", Own: k.owner}[op.Do]
	case Exists:
		n, _ := k.redis.Exists(ctx, path).Result()
		return "", n > 0
	case Renew:
		ok, _ = k.redis.PExpire(ctx, path, life).Result()
		return "", ok
	}
	panic(fmt.Sprintf("referee: Redis does not %q", op.Do))
}

// rows are the store of a database.
type rows struct {
	owner string
	db    *sql.DB
	clock *clock
}

const sqlSchema = "CREATE TABLE locks (name TEXT PRIMARY KEY, owner TEXT, expires REAL, data TEXT)"

func (r *rows) path(name string) string { return name }

const rowLives = " WHERE name = ? AND expires > unixepoch('subsec')"

func (r *rows) use(ctx context.Context, op *Op, path string) (made string, ok bool) {
	if path == "" {
		path = r.owner
	}
	switch op.Do {
	case Create, Keep:
		return path, r.changes(ctx, "INSERT INTO locks VALUES (?1, ?2, ?3, '') ON CONFLICT (name) "+
			"DO UPDATE SET owner = ?2, expires = ?3, data = '' "+
			"WHERE locks.expires <= unixepoch('subsec')", path, r.owner, r.expiry(op))
	case Delete:
		return "", r.changes(ctx, "DELETE FROM locks WHERE name = ?", path)
	case Set:
		return "", r.changes(ctx, "UPDATE locks SET data = '1'"+rowLives, path)
	case Renew:
		return "", r.changes(ctx, "UPDATE locks SET expires = ?2 WHERE name = ?1", path,
			r.expiry(op))
	case Get:
		return "", r.has(ctx, "data = '1' AND name = ?", path)
	case Own:
		return "", r.has(ctx, "owner = ?2 AND name = ?1 AND expires > unixepoch('subsec')", path,
			r.owner)
	case Exists:
		return "", r.has(ctx, "name = ? AND expires > unixepoch('subsec')", path)
	}
	panic(fmt.Sprintf("referee: a database does not %q", op.Do))
}

// expiry returns when what an operation stores expires, by the clock of the process.
func (r *rows) expiry(op *Op) float64 {
	if op.Do == Keep {
		return 1e15 // It is no instant.
	}
	at := time.Now().Add(seconds(op.Seconds))
	r.clock.expireAt(at)
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
